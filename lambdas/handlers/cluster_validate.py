"""Step Validate: proves by running pods that the GPUs of every ready node work.

Creates each check's pod once, waits, judges what it printed, and leaves no pod behind on any way out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from handlers.cluster_run import Run
from lamplighter import clock
from lamplighter.adapters.kubernetes import nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain import checks, instant, verdict
from lamplighter.domain.checks import Check
from lamplighter.domain.gpus import GpuType, gpu_type
from lamplighter.domain.nodes import NodeFacts, PodFacts
from lamplighter.domain.verdict import Outcome, Verdict
from lamplighter.errors import TryLater
from lamplighter.lab import Lab

PATIENCE = timedelta(seconds=checks.PATIENCE_SECONDS)


@dataclass(frozen=True)
class Judged:
    """One check's verdict on one node."""

    check: str
    node: str
    verdict: Verdict

    def to_json(self) -> dict[str, object]:
        return {"check": self.check, "node": self.node} | self.verdict.to_json()


def validate(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The verdicts of all checks on all nodes. Raises TryLater while one still runs and has time left."""
    lease = run.lease or run.pool
    if over := run.over():
        clean_up(connection, lease)
        return {"verdict": Outcome.NOT_PROVEN, "verdicts": [], "over": True, "reason": over}
    ready = {str(each.get("name")) for each in run.found("AwaitGpus", "nodes")}
    here = [node for node in nodes.pool_nodes(connection, lab.nodegroup_name(run.pool)) if node.name in ready]
    judged = [_missing(each.get("name"), each.get("why")) for each in run.found("AwaitGpus", "not_ready")]
    judged += [_missing(name, "the node is gone") for name in ready - {node.name for node in here}]
    running: dict[str, PodFacts] = {
        pod.name: pod for pod in pods.labelled(connection, f"{checks.LEASE_LABEL}={lease}", checks.NAMESPACE)
    }
    waiting: list[str] = []
    for node in here:
        kind = gpu_type(node.instance_type or lab.pools[run.pool].instance_type)
        if kind is None:
            judged.append(_missing(node.name, f"the instance type {node.instance_type} is not known"))
            continue
        judged.append(_allocatable(node, kind))
        for check in checks.POD_CHECKS:
            found = running.get(checks.pod_name(check, lease, node.name))
            if found is None:
                pods.create(connection, checks.pod(check, lease, node, kind, instant.written(clock.now())))
                waiting.append(f"{check.name} on {node.name} has just been asked for")
            elif not found.finished and not _late(found):
                waiting.append(f"{check.name} on {node.name}: {found.waiting or found.phase}")
            else:
                judged.append(Judged(check.name, node.name, _judge(connection, check, found, node, kind)))
    if waiting:
        raise TryLater("; ".join(waiting))
    clean_up(connection, lease)
    return {"verdict": _together(judged), "verdicts": [each.to_json() for each in judged]}


def clean_up(connection: Connection, lease: str) -> None:
    """No check pod of this lease is left."""
    for pod in pods.labelled(connection, f"{checks.LEASE_LABEL}={lease}", checks.NAMESPACE):
        pods.delete(connection, pod.namespace, pod.name)


def _late(pod: PodFacts) -> bool:
    asked = pod.annotations.get(checks.ASKED_ANNOTATION)
    return asked is None or clock.now() > instant.read(asked) + PATIENCE


def _judge(connection: Connection, check: Check, pod: PodFacts, node: NodeFacts, kind: GpuType) -> Verdict:
    if not pod.finished:
        minutes = int(PATIENCE.total_seconds() / 60)
        return verdict.not_proven(
            f"{check.name} did not end within {minutes} minutes: {pod.waiting or pod.phase}"
        )
    if pod.exit_code is None:
        return verdict.not_proven(f"{check.name} never ran: {pod.waiting or pod.phase}")
    printed = pods.log(connection, pod)
    if printed is None:
        return verdict.not_proven(f"what {check.name} printed on {node.name} cannot be read")
    return check.judge(printed, pod.exit_code, check.gpus(node, kind), kind)


def _allocatable(node: NodeFacts, kind: GpuType) -> Judged:
    replicas = int(node.labels.get("nvidia.com/gpu.replicas", "1"))
    wanted, found = kind.count * replicas, node.gpus
    measured = {"allocatable": found, "expected": wanted}
    text = f"{found} of {wanted} GPUs can be allocated"
    decided = verdict.passed(text, measured) if found == wanted else verdict.failed(text, measured)
    return Judged("allocatable", node.name, decided)


def _missing(name: object, why: object) -> Judged:
    return Judged("ready", str(name), verdict.not_proven(str(why)))


def _together(judged: Iterable[Judged]) -> Outcome:
    """Failed where anything failed; passed where there is something and all of it passed."""
    outcomes = {each.verdict.outcome for each in judged}
    if Outcome.FAILED in outcomes:
        return Outcome.FAILED
    return Outcome.PASSED if outcomes == {Outcome.PASSED} else Outcome.NOT_PROVEN
