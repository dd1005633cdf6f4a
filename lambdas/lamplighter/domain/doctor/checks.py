"""Every check of the doctor, in the order of its answer. docs/doctor.py describes them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lamplighter.domain.doctor import (
    account,
    cluster,
    deployed_lab,
    instance_capacity,
    karpenter,
    node_pools,
    pools,
    reservations,
    unguarded,
    zones,
)
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import DoctorLine, Judgement
from lamplighter.lab.model import Lab

Judge: TypeAlias = Callable[[Facts, Lab, datetime], Iterator[Judgement]]


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check. It may have a line for each pool."""

    name: str
    judge: Judge


CHECKS = (
    DoctorCheck("credentials", account.credentials),
    DoctorCheck("region", account.region),
    DoctorCheck("account-plan", account.plan),
    DoctorCheck("bootstrap", account.bootstrap),
    DoctorCheck("quota-g-vt", instance_capacity.quota_g_and_vt),
    DoctorCheck("quota-p", instance_capacity.quota_p),
    DoctorCheck("quota-disks", instance_capacity.quota_disks),
    DoctorCheck("concurrency", account.concurrency),
    DoctorCheck("zones", zones.zones),
    DoctorCheck("offering", instance_capacity.offering),
    DoctorCheck("cluster", cluster.cluster),
    DoctorCheck("authentication", cluster.authentication),
    DoctorCheck("endpoint", cluster.endpoint),
    DoctorCheck("minimum", pools.minimum),
    DoctorCheck("claim", pools.claim),
    DoctorCheck("unguarded", unguarded.unguarded),
    DoctorCheck("autoscalers", cluster.autoscalers),
    DoctorCheck("trail", account.trail),
    DoctorCheck("slack", deployed_lab.slack),
    DoctorCheck("kubernetes-version", cluster.kubernetes_version),
    DoctorCheck("operator", cluster.operator),
    DoctorCheck("image", pools.image),
    DoctorCheck("price", pools.price),
    DoctorCheck("runtime", deployed_lab.runtime),
    DoctorCheck("last-window", deployed_lab.last_window),
)
OF_SPOT = (
    DoctorCheck("quota-g-vt-spot", instance_capacity.quota_g_and_vt_spot),
    DoctorCheck("quota-p-spot", instance_capacity.quota_p_spot),
    DoctorCheck("spot-role", instance_capacity.spot_role),
)
"""Checks of a lab with a pool of Spot Instances."""
OF_NODE_POOLS = (
    DoctorCheck("karpenter", karpenter.running),
    DoctorCheck("karpenter-version", karpenter.version),
    DoctorCheck("karpenter-queue", karpenter.queue),
    DoctorCheck("auto-mode", cluster.auto_mode),
    DoctorCheck("launching-role", karpenter.launching),
    DoctorCheck("node-pool", node_pools.node_pool),
    DoctorCheck("node-access", node_pools.access),
    DoctorCheck("launch-bar", node_pools.launch_bar),
)
"""Checks of a lab with a pool of Karpenter or of EKS Auto Mode."""

OF_RESERVATIONS = (DoctorCheck("reservation", reservations.reservation),)
"""Checks of a lab with a pool that is bought from a reservation."""


def examine(facts: Facts, lab: Lab, now: datetime) -> list[DoctorLine]:
    """The lines of every check: one, or one a pool."""
    return [
        DoctorLine(check.name, judgement.outcome, judgement.said, judgement.advice)
        for check in (
            *CHECKS,
            *(OF_RESERVATIONS if any(pool.reservation for pool in lab.pools.values()) else ()),
            *(OF_SPOT if lab.spot_pools else ()),
            *(OF_NODE_POOLS if lab.pools_with("node pool") else ()),
        )
        for judgement in check.judge(facts, lab, now)
    ]
