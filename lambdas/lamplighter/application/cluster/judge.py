"""Judges the checks of a ladder: the output of each ended check, and what Kubernetes says of each node.

It reads logs and events. The step knows which checks there were and how they ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from lamplighter import clock
from lamplighter.adapters.kubernetes import pods
from lamplighter.adapters.kubernetes.connection import Connection, Forbidden
from lamplighter.application.cluster.run import Run
from lamplighter.domain.checks import node as checks_node
from lamplighter.domain.checks.gpu_proof import BANDWIDTH
from lamplighter.domain.checks.ladder_progress import CheckEnding
from lamplighter.domain.checks.placement import GpuNode, NotJudged, fetches
from lamplighter.domain.checks.straggler import stragglers
from lamplighter.domain.checks.time_limit import pull_of, ran_for
from lamplighter.domain.checks.verdicts import verdict
from lamplighter.domain.checks.verdicts.verdict import Verdict
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Sentences, reason

INDEX = "batch.kubernetes.io/job-completion-index"
#: The device plugin's pods by a label, and the container that prints: the operator's, and the chart's.
#: A pod may have another container that watches the node's labels; the chart's feature discovery has the same labels.
PLUGINS = (
    ("app", "nvidia-device-plugin-daemonset", "nvidia-device-plugin"),
    ("app.kubernetes.io/name", "nvidia-device-plugin", "nvidia-device-plugin-ctr"),
)


@dataclass(frozen=True)
class Judged:
    """One check's verdict on one node, with the seconds it ran and the seconds its image was pulled.

    `busy`: the check was not tried, since people's work holds the node's GPUs.
    """

    check: str
    node: str
    verdict: Verdict
    seconds: float | None = None
    pull_seconds: float | None = None
    busy: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "check": self.check,
            "node": self.node,
            **self.verdict.to_row(),
            "seconds": self.seconds,
            "pull_seconds": self.pull_seconds,
            **({"busy": True} if self.busy else {}),
        }


@dataclass(frozen=True)
class Endings:
    """The result of a ladder: how each placement ended, its pods by placement, and seconds of pulling by pod."""

    endings: Sequence[CheckEnding]
    pods: Mapping[str, Sequence[PodFacts]]
    pulled: Mapping[str, float]

    def in_order(self) -> list[CheckEnding]:
        return sorted(self.endings, key=lambda ending: (ending.placement.check.stage, ending.placement.turn))


def verdicts(
    run: Run, lab: Lab, connection: Connection, nodes: Sequence[GpuNode], come: Endings
) -> tuple[list[Judged], list[NotJudged]]:
    """A verdict for each check and node, in the ladder's order; and the checks that prove nothing here."""
    judged: list[Judged] = []
    not_judged: dict[tuple[str, str], NotJudged] = {}
    discovery = lab.discovers(run.pool)

    def add(check: str, node: GpuNode, verdict: Verdict | Reason) -> None:
        if isinstance(verdict, Reason):
            not_judged[check, verdict.code] = NotJudged(check, verdict)
        else:
            judged.append(Judged(check, node.name, verdict))

    for node in nodes:
        add("allocatable", node, checks_node.allocatable(node.facts, node.kind, node.slices, node.replicas))
        if node.kind.efa:
            add("efa", node, checks_node.efa(node.facts, node.kind))
        add("labels", node, checks_node.labels(node.facts, node.kind, discovery=discovery))
    if without := checks_node.validator(lab.gpu_stack(run.pool)):
        not_judged["validator", without.code] = NotJudged("validator", without)
    pulls = _pulls(come, run.lease or run.pool)
    for ending in come.in_order():
        judged += _judged(connection, ending, {node.name: node for node in nodes}, pulls)
    for node in nodes:
        printed = _plugin_log(connection, node)
        add("xid", node, checks_node.xid(node.facts, printed, connection.server_time or clock.now()))
    return _with_stragglers(judged, nodes), list(not_judged.values())


def _with_stragglers(judged: Sequence[Judged], nodes: Sequence[GpuNode]) -> list[Judged]:
    """The rows, where the slowest of equal nodes is told with its distance. No verdict changes."""
    kinds = {node.name: node.kind.instance_type for node in nodes}
    figures: dict[tuple[str, str], dict[str, Decimal]] = {}
    for row in judged:
        if (figure := row.verdict.measurements.get(BANDWIDTH)) is not None:
            figures.setdefault((row.check, kinds[row.node]), {})[row.node] = Decimal(str(figure))
    slow = {key: stragglers(of_nodes) for key, of_nodes in figures.items()}
    rows = []
    for row in judged:
        why = slow.get((row.check, kinds[row.node]), {}).get(row.node)
        told = replace(row.verdict, reason=Sentences((row.verdict.reason, why))) if why else row.verdict
        rows.append(replace(row, verdict=told))
    return rows


def _judged(
    connection: Connection,
    ending: CheckEnding,
    nodes: Mapping[str, GpuNode],
    pulls: Mapping[tuple[str, str], float],
) -> list[Judged]:
    placement = ending.placement
    decided = _verdict(connection, ending, nodes[placement.nodes[0]])
    rows = []
    for name in placement.judged:
        others = [other for other in placement.nodes if other != name]
        of_node = decided
        if others:
            why = reason("check.with", nodes=tuple(others), why=decided.reason)
            of_node = Verdict(decided.outcome, why, {**decided.measurements, "with": others})
        seconds = max((ran_for(pod).total_seconds() for pod in ending.pods), default=None)
        pulled = pulls.get((placement.name, name))
        rows.append(Judged(placement.check.name, name, of_node, seconds, pulled, ending.busy))
    return rows


def _verdict(connection: Connection, ending: CheckEnding, node: GpuNode) -> Verdict:
    check = ending.placement.check
    if ending.why is not None:
        return verdict.not_proven(reason("check.of", check=check.name, why=ending.why))
    shown = min(ending.pods, key=lambda pod: pod.labels.get(INDEX, "0"))
    printed = pods.log(connection, shown)
    if printed is None or shown.exit_code is None:
        return verdict.not_proven(reason("check.no-output", check=check.name, node=shown.node))
    taking_part = check.gpus(node.facts, node.kind) if check.nodes == 1 else check.nodes
    return check.judge(printed, shown.exit_code, taking_part, node.kind)


def _pulls(come: Endings, lease: str) -> dict[tuple[str, str], float]:
    """Seconds of pulling by placement and node. An image that was pulled early counts for the first check of it."""
    brought = fetches([ending.placement for ending in come.endings], lease)
    found: dict[tuple[str, str], float] = {}
    for ending in come.in_order():
        for node in ending.placement.nodes:
            mine = [pod for pod in ending.pods if pod.node == node]
            mine += come.pods.get(brought.pop((node, ending.placement.check.image), ""), ())
            total = sum((pull_of(pod, come.pulled) for pod in mine), timedelta())
            found[ending.placement.name, node] = round(total.total_seconds(), 3)
    return found


def _plugin_log(connection: Connection, node: GpuNode) -> str | None:
    """The log of the device plugin on the node; None where there is none, or it cannot be read."""
    try:
        for pod in pods.on_node(connection, node.name):
            for key, value, container in PLUGINS:
                printed = pods.log(connection, pod, container) if pod.labels.get(key) == value else None
                if printed is not None:
                    return printed
    except Forbidden:
        # Without permission to read the log only XIDs are unknown.
        return None
    return None
