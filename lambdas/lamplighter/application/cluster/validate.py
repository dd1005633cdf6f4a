"""Step Validate: runs the ladder of checks on every ready node, and removes its pods afterwards.

It reads the pods, asks domain.checks.ladder_progress what is due, and creates pods and Jobs. In the end it judges
their output (judge.py) and removes them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from lamplighter import clock
from lamplighter.adapters.kubernetes import jobs, nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.claims import note_claims
from lamplighter.application.cluster.consequence import known_before, what_follows
from lamplighter.application.cluster.judge import Endings, Judged, verdicts
from lamplighter.application.cluster.run import Run
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks import manifests as checks_manifests
from lamplighter.domain.checks.free_resources import room
from lamplighter.domain.checks.gpu_proof import together
from lamplighter.domain.checks.ladder_progress import CheckEnding, LadderMoves, LadderProgress
from lamplighter.domain.checks.manifests import AHEAD, CheckOrigin
from lamplighter.domain.checks.placement import GpuNode, Placement, placements, without_equal
from lamplighter.domain.checks.verdicts import verdict
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.errors import TryLater
from lamplighter.lab.checks import Checks
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import document, read
from lamplighter.reasons.fields import from_odd_document, to_document
from lamplighter.reasons.reason import Said, Sentences, reason
from lamplighter.values import instant

NOT_JUDGED = 20
"""The number of checks without a verdict that the result names."""


def validate(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """Judges all nodes by the ladder. Raises TryLater while a check still runs and has time left.

    Returns `{"verdict", "ladder", "at", "types", "counts": {verdict: number}, "not_judged": [{check, why}], "then",
    "because", "replace": [{name, instance}]}`. The verdicts on each node go to the ledger, by lease and `at`:
    `{check, node, verdict, reason, measurements, seconds, pull_seconds}`.
    """
    lease = run.lease or run.pool
    if over := run.over():
        clean_up(connection, lease)
        return {"verdict": Outcome.NOT_PROVEN, "over": True, "reason": document(over)}
    settings = lab.checks_for(run.window)
    gpu_nodes, unknown = _nodes(run, lab, settings, connection)
    due, not_judged = placements(checks.ladder(settings), gpu_nodes, lease)
    unknown += [
        Judged(check, node, verdict.not_proven(why))
        for check, node, why in without_equal(checks.ladder(settings), gpu_nodes)
    ]
    by_name = {node.name: node for node in gpu_nodes}
    running = _running(connection, lease)
    pulled = pods.pull_seconds(connection, checks.NAMESPACE) if running else {}
    course = LadderProgress(
        due=due,
        nodes=by_name,
        pods=running,
        pulled=pulled,
        budget=timedelta(seconds=checks.budget_seconds(settings)),
        lease=lease,
        now=clock.now(),
    )
    moves = course.moves()
    run.note(Stage.CHECKS, len(moves.endings), len(due))
    origin = CheckOrigin(lease, run.pool, instant.written(clock.now()))
    refused = _start(connection, moves, by_name, origin)
    if moves.waiting or len(refused) < len(moves.start):
        raise TryLater(Sentences(tuple(moves.waiting)) if moves.waiting else reason("check.just-started"))
    run.note(Stage.CHECKS, len(due), len(due))
    # Karpenter may call a node initialized a moment after its GPUs were ready.
    note_claims(run, lab, connection)
    judged, without = verdicts(
        run, lab, connection, gpu_nodes, Endings([*moves.endings, *refused], running, pulled)
    )
    rows = known_before([each.to_json() for each in (*unknown, *judged)], gpu_nodes, run)
    at = instant.written(clock.now())
    # Before the pods are removed: where the rows cannot be kept, the next try judges again.
    run.books().keep_rows(run.pool, lease, instant.read(at), rows)
    clean_up(connection, lease, pool=run.pool, in_force=_in_force(run))
    return {
        "verdict": together(rows),
        "ladder": settings.ladder,
        "at": at,
        "types": sorted({node.kind.instance_type for node in gpu_nodes}),
        "counts": Counter(str(row.get("verdict")) for row in rows),
        "not_judged": [to_document(each) for each in (*not_judged, *without)][:NOT_JUDGED],
        **what_follows(rows, gpu_nodes, settings, run, connection).to_json(),
    }


def clean_up(connection: Connection, lease: str, *, pool: str = "", in_force: Iterable[str] = ()) -> None:
    """Remove the checks of this lease, and in `pool` those of leases that are not in force any more."""
    staying = {*in_force}

    def goes(labels: Mapping[str, str]) -> bool:
        owner = labels.get(checks.LEASE_LABEL)
        return owner == lease or (labels.get(checks.POOL_LABEL) == pool and owner not in staying)

    # Jobs first: a Job would create its pods again.
    for path, labels in jobs.labels(connection, checks.CHECK_LABEL, checks.NAMESPACE).items():
        if goes(labels):
            jobs.delete(connection, path)
    for pod in pods.labelled(connection, checks.CHECK_LABEL, checks.NAMESPACE):
        if goes(pod.labels):
            pods.delete(connection, pod.namespace, pod.name)


def _nodes(
    run: Run, lab: Lab, settings: Checks, connection: Connection
) -> tuple[list[GpuNode], list[Judged]]:
    """The ready nodes with their instance types; and a verdict for each node that cannot be judged."""
    ready = {str(each.get("name")) for each in run.found("AwaitGpus", "nodes")}
    here = [
        node for node in nodes.pool_nodes(connection, identity(lab, run.pool).selector) if node.name in ready
    ]
    unknown = [
        _unproven(str(node.get("name")), read(node.get("why")))
        for node in run.found("AwaitGpus", "not_ready")
    ]
    gone = sorted(ready - {node.name for node in here})
    unknown += [_unproven(name, reason("check.node-gone")) for name in gone]
    shall = from_odd_document(Offer, run.result("ApplyGpuSettings").get("offer"))
    judged = run.judged()
    found = []
    for node in here:
        instance_type = node.instance_type or lab.pools[run.pool].instance_type
        kind = gpu_type(instance_type)
        if kind is None:
            unknown.append(_unproven(node.name, verdict.unknown_type(instance_type)))
        else:
            kind = kind.with_floor(settings.threshold(instance_type))
            kind = kind if lab.pools[run.pool].efa else kind.over_tcp()
            found.append(GpuNode(_uncharged(node, judged), kind, shall.slices, shall.replicas))
    return found, unknown


def _uncharged(node: NodeFacts, judged: Collection[str]) -> NodeFacts:
    """Start the budget of a node anew that an earlier round judged: its setup was counted then."""
    return replace(node, ready_since=None) if node.name in judged else node


def _unproven(node: str, why: Said) -> Judged:
    return Judged("ready", node, verdict.not_proven(why))


def _running(connection: Connection, lease: str) -> dict[str, list[PodFacts]]:
    """The pods of this lease's checks by placement, without those that pull images before the GPUs are ready."""
    running: dict[str, list[PodFacts]] = {}
    for pod in pods.labelled(connection, f"{checks.LEASE_LABEL}={lease}", checks.NAMESPACE):
        if pod.labels.get(checks.CHECK_LABEL) != AHEAD:
            running.setdefault(pod.labels.get(checks.SEAT_LABEL, pod.name), []).append(pod)
    return running


def _start(
    connection: Connection, moves: LadderMoves, by_name: Mapping[str, GpuNode], origin: CheckOrigin
) -> list[CheckEnding]:
    """Create what is due; returns the placements that will never find free GPUs."""
    wanted = {node for placement in moves.start for node in placement.nodes}
    others = {name: pods.on_node(connection, name) for name in sorted(wanted)}
    refused = []
    for placement in moves.start:
        where = [by_name[name] for name in placement.nodes]
        rooms = [room(placement.check, node, others[node.name], connection.server_time) for node in where]
        if taken := next((free for free in rooms if free.taken), None):
            refused.append(CheckEnding(placement, (), taken.why, busy=taken.used))
        elif busy := next((free for free in rooms if free.why), None):
            moves.waiting.append(reason("check.of", check=placement.check.name, why=busy.why or ""))
        else:
            _create(connection, placement, where, origin)
    if len(refused) < len(moves.start) or moves.waiting:
        for node, image, name in moves.fetch:
            pods.create(connection, checks_manifests.fetch(image, origin, name, by_name[node].facts))
    return refused


def _create(
    connection: Connection, placement: Placement, where: Sequence[GpuNode], origin: CheckOrigin
) -> None:
    first = where[0]
    if len(where) == 1:
        pods.create(
            connection, checks_manifests.pod(placement.check, origin, placement.name, first.facts, first.kind)
        )
        return
    facts = [node.facts for node in where]
    jobs.create(
        connection,
        checks_manifests.job(placement.check, origin, placement.name, facts, first.kind),
        checks_manifests.service(placement.check, origin, placement.name),
    )


def _in_force(run: Run) -> list[str]:
    now = clock.now()
    return [lease.id for lease in run.leases() if lease.in_force(now)]
