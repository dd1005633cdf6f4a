"""Between the nodes: the path that NCCL and its rendezvous need, and the bandwidth of the instances."""

import re
from collections.abc import Iterable

from lamplighter.domain.diagnosis.document import Doc, docs, number, text
from lamplighter.domain.diagnosis.findings import LONGEST_EVIDENCE, Gathered
from lamplighter.domain.diagnosis.rules import workloads
from lamplighter.domain.diagnosis.rules.pod import Pod
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage

_THROTTLED = {"BandwidthInExceeded", "BandwidthOutExceeded"}
# Without a line of NCCL before it, each of these is the rendezvous that nobody reached.
_STORE = re.compile(
    r"client socket has timed out|(?:DistNetworkError|DistStoreError|TCPStore)\b.{0,200}?(?:timed? ?out|timeout)"
    r"|RendezvousTimeoutError|connect\(\) timed out",
    re.IGNORECASE,
)
_NCCL = re.compile(
    r"connect to .{1,120} returned Connection timed out|Connection timed out.*NCCL|NCCL.*Connection timed out"
)
# c10d's socket.cpp: a name that never became an address is no path that is blocked.
_NO_ADDRESS = re.compile(r"IPv4 network addresses of .{1,200}? cannot be retrieved")
_RESULT = re.compile(r"# Out of bounds values|# Avg bus bandwidth")
_RENDEZVOUS_PORT = 29500


def throttled(snapshot: Snapshot, gathered: Gathered) -> None:
    """Instances held at their baseline, by the node monitoring agent's events."""
    for node in snapshot.nodes:
        said = [event for event in snapshot.node_events(node) if event.reason in _THROTTLED]
        for event in said[-1:]:
            gathered.found("bandwidth-throttled", node.name, f"{node.name} {event}")


def blocked(snapshot: Snapshot, gathered: Gathered) -> None:
    """Ranks on several nodes that run and do not reach each other."""
    jobs: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if pod.gpus and not pod.operand:
            jobs.setdefault(f"{pod.namespace}/{pod.group or pod.name}", []).append(pod)
    closed = _closed(snapshot)
    for called, pods in jobs.items():
        _judge(snapshot, gathered, called, pods, closed)


def _judge(snapshot: Snapshot, gathered: Gathered, called: str, pods: list[Pod], closed: str) -> None:
    alive = [pod for pod in pods if not pod.succeeded and not workloads.is_history(snapshot, pod)]
    # A rank that waits for one that is broken says the same as one whose path is closed.
    if not alive or any(pod.phase == "Pending" for pod in alive):
        return
    logs = {pod.called: snapshot.logs(pod) or snapshot.logs(pod, previous=True) for pod in alive}
    if any(_RESULT.search(log) for log in logs.values()) or _met_later(snapshot, pods):
        return
    if any(_never_ran(snapshot, pod) for pod in (*alive, *_ranks_beside(snapshot, pods))):
        return
    if not closed and any(_kept_back(snapshot, gathered, pod) for pod in alive):
        return
    said = [f"{name}: {line}" for name, log in logs.items() if (line := _timed_out(log))]
    if said:
        gathered.found("nccl-path-blocked", called, *said, closed)
        return
    running = [pod for pod in alive if pod.phase == "Running"]
    excused = any(pod.node in gathered.explained for pod in running)
    began = max([snapshot.since, *(pod.created for pod in running if pod.created)])
    apart = len({pod.node for pod in running}) > 1
    if closed and apart and not excused and snapshot.age(began) > Stage.RENDEZVOUS.normal:
        gathered.found("nccl-path-blocked", called, f"{len(running)} pods run and print no result", closed)


def _ranks_beside(snapshot: Snapshot, pods: list[Pod]) -> list[Pod]:
    """Where a rank is a pod of its own, the others are those of its namespace, placed or of unknown place."""
    if len(pods) > 1:
        return []
    [only] = pods
    return [
        pod
        for pod in snapshot.pods
        if pod is not only
        and pod.gpus
        and not pod.operand
        and pod.namespace == only.namespace
        and (pod.node or not pod.phase)
    ]


def _never_ran(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether its image is not there yet, or cannot be had: nobody can have met it."""
    if workloads.is_history(snapshot, pod):
        return False
    return pod.phase == "Pending" or workloads.pull_failure(snapshot, pod) is not None


def ranks_of(snapshot: Snapshot, pod: Pod) -> list[Pod]:
    """The pods of its job, itself among them."""
    if not pod.group:
        return [pod]
    return [
        each
        for each in snapshot.pods
        if (each.namespace, each.group) == (pod.namespace, pod.group) and not each.operand
    ]


def waited_for_peers(snapshot: Snapshot, pod: Pod, peers: list[Pod]) -> bool:
    """Whether it gave up waiting for ranks that have not come yet, or that met in a later job after all."""
    if not _timed_out(snapshot.logs(pod) or snapshot.logs(pod, previous=True)):
        return False
    beside = (*peers, *_ranks_beside(snapshot, peers))
    return any(_never_ran(snapshot, each) for each in beside) or _met_later(snapshot, peers)


def _kept_back(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> bool:
    """Whether the rank has a trouble of its own, or its node has."""
    if pod.node in gathered.explained:
        return True
    if pod.healthy:
        return False
    troubles = (workloads.symptom_of(snapshot, pod), workloads.pull_failure(snapshot, pod))
    return any(troubles) or workloads.refused(snapshot, pod) is not None


def _met_later(snapshot: Snapshot, pods: list[Pod]) -> bool:
    """Whether another job's ranks, made after these, did meet on several nodes: a failure followed by success."""
    ended = max((pod.created for pod in pods if pod.created), default=None)
    if ended is None:
        return False
    met: dict[str, set[str]] = {}
    for pod in snapshot.pods:
        if pod.gpus and pod.owner and pod.succeeded and pod.created and pod.created > ended:
            met.setdefault(f"{pod.namespace}/{pod.owner}", set()).add(pod.node)
        elif pod.gpus and pod.created and pod.created > ended and _RESULT.search(snapshot.logs(pod)):
            return True
    return any(len(nodes) > 1 for nodes in met.values())


def _timed_out(log: str) -> str | None:
    """The line by which a rank says that it does not reach the others."""
    match = _NCCL.search(log)
    # Once NCCL itself speaks, the ranks have met: a store that times out then is not the path.
    if match is None and "NCCL INFO" not in log and not _NO_ADDRESS.search(log):
        match = _STORE.search(log)
    if match is None:
        return None
    begin = log.rfind("\n", 0, match.start()) + 1
    return log[begin : begin + LONGEST_EVIDENCE].partition("\n")[0].strip()


def _closed(snapshot: Snapshot) -> str:
    """What says that the nodes' security groups do not let them talk; "" where they do, or were not read."""
    attached = {
        text(group, "GroupId")
        for instance in snapshot.instances
        for group in docs(instance, "SecurityGroups")
    }
    listed = snapshot.listed("aws", "security_groups")
    groups = [each for each in listed if not attached or text(each, "GroupId") in attached]
    if not groups:
        return ""
    names = {text(group, "GroupId") for group in groups}
    if any(_lets_in(rule, names) for group in groups for rule in docs(group, "IpPermissions")):
        return ""
    return f"no rule of {', '.join(sorted(names))} lets a node reach another on port {_RENDEZVOUS_PORT}/tcp"


def _lets_in(rule: Doc, names: Iterable[str]) -> bool:
    protocol = text(rule, "IpProtocol")
    low, high = number(rule, "FromPort"), number(rule, "ToPort")
    every = protocol == "-1"
    covers = low is not None and high is not None and low <= _RENDEZVOUS_PORT <= high
    if not every and not (protocol in {"tcp", "6"} and covers):
        return False
    pairs = {text(pair, "GroupId") for pair in docs(rule, "UserIdGroupPairs")}
    return bool(pairs & set(names) or docs(rule, "IpRanges") or docs(rule, "PrefixListIds"))
