"""The doctor's check of nodes that no pool of the lab has: whether any of them may have a GPU.

The guard closes nodes of pools only. A GPU node of another group costs money without a lease, and nobody closes it.
"""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.data import instance_types
from lamplighter.domain.doctor.facts import Facts, OtherNodes
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason


def unguarded(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Every group of the cluster whose nodes may have a GPU is a pool."""
    if isinstance(facts.others, Unread):
        yield unknown(facts.others)
        return
    found = [(others, _gpus(others)) for others in facts.others]
    with_gpus = [(others, types) for others, types in found if types]
    for others, types in with_gpus:
        yield _unguarded(lab, others, types)
    if not with_gpus:
        yield well(reason("doctor.unguarded-none", cluster=lab.cluster_name))


def _gpus(others: OtherNodes) -> tuple[str, ...]:
    return tuple(name for name in others.types if instance_types.may_have_gpu(name))


def _unguarded(lab: Lab, others: OtherNodes, types: tuple[str, ...]) -> Judgement:
    cluster, name, nodes = lab.cluster_name, others.name, others.ordered
    if others.managed:
        return unwell(
            reason("doctor.unguarded.managed", group=name, types=types, nodes=nodes),
            reason("doctor.unguarded.managed.advice", cluster=cluster, group=name),
        )
    return unwell(
        reason("doctor.unguarded.own", group=name, types=types, nodes=nodes),
        reason("doctor.unguarded.own.advice"),
    )
