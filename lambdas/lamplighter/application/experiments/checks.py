"""Runs checks of the ladder for an experiment, beside the lease's own checks, and deletes them after it.

It chooses the checks that show a symptom and those that prove the restore. The ladder has their commands and judges.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from lamplighter.adapters.kubernetes import jobs, nodes, pods
from lamplighter.application.cluster.judge import INDEX
from lamplighter.application.experiments.services import ExperimentServices
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks import manifests as checks_manifests
from lamplighter.domain.checks import node as checks_node
from lamplighter.domain.checks.free_resources import room
from lamplighter.domain.checks.ladder import Check
from lamplighter.domain.checks.ladder_progress import CheckEnding, LadderProgress
from lamplighter.domain.checks.manifests import CheckOrigin
from lamplighter.domain.checks.placement import GpuNode, Placement, placements, without_equal
from lamplighter.domain.checks.verdicts import verdict
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.experiments.observation import Observation
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant

LONGEST = timedelta(minutes=20)
"""The limit for a check that never ends; the run's own end comes first."""
NEWER_CUDA = "newer-cuda"
REQUIRED = "cuda>=99.0"
"""The requirement of an image for a future CUDA version. libnvidia-container reads it before the start."""
SEEN, PROOF = "seen", "proof"


def collective(run: ExperimentRun, services: ExperimentServices, purpose: str) -> Observation:
    """The all_reduce between two nodes."""
    return _course(run, services, (checks.ALL_REDUCE,), purpose)


def with_gpus(run: ExperimentRun, services: ExperimentServices) -> Observation:
    """Whether every GPU can be allocated again, and works."""
    rows, waiting = _allocatable(run, services)
    if waiting:
        return Observation(rows, waiting)
    found = _course(run, services, (checks.NVIDIA_SMI, checks.VECTOR_ADD), PROOF)
    return Observation([*rows, *found.verdicts], found.waiting)


def without_gpus(run: ExperimentRun, services: ExperimentServices) -> Observation:
    """Whether no GPU can be allocated, and a pod that asks for one waits."""
    here = _gpu_nodes(run, services)
    waiting: list[Said] = [
        reason("experiment.still-offers", node=node.name, gpus=node.facts.gpus)
        for node in here
        if node.facts.gpus
    ]
    if not here:
        return Observation((), (reason("experiment.no-node"),))
    rows = [_row("allocatable", node.name, checks_node.allocatable(node.facts, node.kind)) for node in here]
    if waiting:
        # A pod that was created now would still get a GPU.
        return Observation(rows, waiting)
    pod = _single(run, services, checks.VECTOR_ADD, here[0])
    if pod is None or not pod.waiting:
        waiting.append(reason("experiment.not-scheduled-yet"))
    if pod is not None and pod.waiting:
        why = reason("experiment.waits-for-gpu", why=pod.waiting)
        rows.append(_said(checks.VECTOR_ADD.name, here[0].name, Outcome.FAILED, why))
    return Observation(rows, waiting)


def newer_cuda(run: ExperimentRun, services: ExperimentServices) -> Observation:
    """The pod whose image needs a future CUDA version."""
    here = _gpu_nodes(run, services)
    if not here:
        return Observation((), (reason("experiment.no-node"),))
    pod = _single(run, services, checks.VECTOR_ADD, here[0], {"NVIDIA_REQUIRE_CUDA": REQUIRED})
    if pod is None or not (pod.finished or _refused(pod)):
        why = pod.waiting if pod else reason("experiment.pod-being-made")
        return Observation((), (reason("experiment.pod-not-started", why=why),))
    if pod.finished and pod.exit_code == 0:
        ran = _said(NEWER_CUDA, here[0].name, Outcome.PASSED, reason("experiment.pod-ran", required=REQUIRED))
        return Observation((ran,), ended=pod.ended)
    failed = pod.waiting or reason("experiment.exit-code", code=str(pod.exit_code))
    return Observation((_said(NEWER_CUDA, here[0].name, Outcome.FAILED, failed),), ended=pod.ended)


def clean_up(run: ExperimentRun, services: ExperimentServices) -> None:
    """Delete all pods, Jobs and Services of this run."""
    connection = services.connect()
    selector = f"{checks.LEASE_LABEL} in ({run.id}-{SEEN},{run.id}-{PROOF})"
    for path in jobs.labels(connection, selector, checks.NAMESPACE):
        jobs.delete(connection, path)
    for pod in pods.labelled(connection, selector, checks.NAMESPACE):
        pods.delete(connection, pod.namespace, pod.name)


def _course(
    run: ExperimentRun, services: ExperimentServices, ladder: Sequence[Check], purpose: str
) -> Observation:
    connection, key = services.connect(), f"{run.id}-{purpose}"
    here = {node.name: node for node in _gpu_nodes(run, services)}
    due, left_out = placements(ladder, list(here.values()), key)
    found: dict[str, list[PodFacts]] = {}
    listed = pods.labelled(connection, f"{checks.LEASE_LABEL}={key}", checks.NAMESPACE)
    for pod in listed:
        found.setdefault(pod.labels.get(checks.SEAT_LABEL, pod.name), []).append(pod)
    course = LadderProgress(
        due=due,
        nodes=here,
        pods=found,
        pulled=pods.pull_seconds(connection, checks.NAMESPACE) if listed else {},
        budget=LONGEST,
        lease=key,
        now=services.now(),
    )
    moves = course.moves()
    origin = CheckOrigin(key, run.pool, instant.written(services.now()))
    for node, image, name in moves.fetch:
        pods.create(connection, checks_manifests.fetch(image, origin, name, here[node].facts))
    waiting: list[Said] = [*moves.waiting]
    for placement in moves.start:
        taken = _start(placement, here, origin, waiting, services)
        if taken is not None:
            moves.endings.append(taken)
    rows = [_row(each.check, run.pool, verdict.not_proven(each.why)) for each in left_out]
    rows += [
        _row(check, node, verdict.not_proven(why))
        for check, node, why in without_equal(ladder, list(here.values()))
    ]
    for ending in moves.endings:
        said = _verdict(ending, here[ending.placement.nodes[0]], services)
        name = ending.placement.check.name
        rows += [_judged(name, node, said) for node in ending.placement.judged]
    ends = [pod.ended for ending in moves.endings for pod in ending.pods if pod.ended]
    return Observation(rows, waiting, None if waiting else max(ends, default=run.changed))


def _start(
    placement: Placement,
    here: Mapping[str, GpuNode],
    origin: CheckOrigin,
    waiting: list[Said],
    services: ExperimentServices,
) -> CheckEnding | None:
    """Start a check where there is room for it; returns its ending where there never will be room."""
    connection, mine = services.connect(), [here[name] for name in placement.nodes]
    for node in mine:
        free = room(placement.check, node, pods.on_node(connection, node.name), connection.server_time)
        if free.taken:
            return CheckEnding(placement, (), free.why)
        if free.why:
            waiting.append(reason("experiment.check-waits", check=placement.check.name, why=free.why))
            return None
    waiting.append(reason("experiment.check-asked-for", check=placement.check.name))
    if placement.check.nodes == 1:
        made = checks_manifests.pod(placement.check, origin, placement.name, mine[0].facts, mine[0].kind)
        pods.create(connection, made)
        return None
    job = checks_manifests.job(
        placement.check, origin, placement.name, [node.facts for node in mine], mine[0].kind
    )
    jobs.create(connection, job, checks_manifests.service(placement.check, origin, placement.name))
    return None


def _verdict(ending: CheckEnding, node: GpuNode, services: ExperimentServices) -> Verdict | Said:
    """The verdict of an ended check; a reason alone where it proves nothing."""
    check = ending.placement.check
    if ending.why is not None or not ending.pods:
        return ending.why or reason("experiment.said-nothing")
    # Rank 0 prints the result; the output of a failed rank counts too.
    shown = next((pod for pod in ending.pods if pod.exit_code), ending.pods[0])
    ranks = sorted(ending.pods, key=lambda pod: pod.labels.get(INDEX, "0"))
    printed = [pods.log(services.connect(), pod) for pod in ranks]
    text = "\n".join(each for each in printed if each)
    if not text or shown.exit_code is None:
        return reason("experiment.unreadable")
    taking_part = check.nodes if check.nodes > 1 else check.gpus(node.facts, node.kind)
    return check.judge(text, shown.exit_code, taking_part, node.kind)


def _single(
    run: ExperimentRun,
    services: ExperimentServices,
    check: Check,
    node: GpuNode,
    env: Mapping[str, str] | None = None,
) -> PodFacts | None:
    """The one pod of a run that is expected to fail; None where it was created just now."""
    connection, key = services.connect(), f"{run.id}-{SEEN}"
    found = pods.labelled(connection, f"{checks.LEASE_LABEL}={key}", checks.NAMESPACE)
    if found:
        return found[0]
    origin = CheckOrigin(key, run.pool, instant.written(services.now()))
    name = checks_manifests.placement_name(check.name, key, (node.name,))
    made = checks_manifests.pod(check, origin, name, node.facts, node.kind)
    if env:
        _with(made, env)
    pods.create(connection, made)
    return None


def _with(manifest: checks_manifests.Manifest, env: Mapping[str, str]) -> None:
    spec = manifest["spec"]
    containers = spec.get("containers") if isinstance(spec, dict) else None
    for container in containers if isinstance(containers, list) else []:
        container["env"] = [
            *container.get("env", []),
            *({"name": name, "value": value} for name, value in env.items()),
        ]


def _allocatable(
    run: ExperimentRun, services: ExperimentServices
) -> tuple[list[dict[str, object]], list[Said]]:
    here = _gpu_nodes(run, services)
    judged = [(node.name, checks_node.allocatable(node.facts, node.kind)) for node in here]
    rows = [_row("allocatable", name, found) for name, found in judged]
    return rows, [
        reason("experiment.check-waits", check=name, why=found.reason)
        for name, found in judged
        if not found.passed
    ]


def _gpu_nodes(run: ExperimentRun, services: ExperimentServices) -> list[GpuNode]:
    pool = services.lab.pools[run.pool]
    found = []
    for node in nodes.pool_nodes(services.connect(), identity(services.lab, run.pool).selector):
        kind = gpu_type(node.instance_type or pool.instance_type)
        if kind is not None and node.ready and not node.cordoned:
            found.append(GpuNode(node, kind if pool.efa else kind.over_tcp()))
    return found


def _refused(pod: PodFacts) -> bool:
    """Whether the container runtime refused the pod; a pod that waits for an image or a node is not refused."""
    return bool(pod.node) and any(
        word in pod.waiting
        for word in ("StartError", "CreateContainerError", "RunContainerError", "condition")
    )


def _said(check: str, node: str, outcome: Outcome, why: Said) -> dict[str, object]:
    """A row with a reason of the experiment's own."""
    return {
        "check": check,
        "node": node,
        "verdict": outcome.value,
        "reason": document(why),
        "measurements": {},
    }


def _judged(check: str, node: str, found: Verdict | Said) -> dict[str, object]:
    if isinstance(found, Verdict):
        return _row(check, node, found)
    return _said(check, node, Outcome.NOT_PROVEN, found)


def _row(check: str, node: str, found: Verdict) -> dict[str, object]:
    return {"check": check, "node": node, **found.to_row()}
