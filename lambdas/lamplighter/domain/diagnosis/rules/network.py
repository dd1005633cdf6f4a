"""The network between the nodes: the path that NCCL and its rendezvous need, and the bandwidth."""

import re
from collections.abc import Iterable

from lamplighter.domain.diagnosis.document import Doc, docs, number, text
from lamplighter.domain.diagnosis.findings import LONGEST_EVIDENCE, Gathered
from lamplighter.domain.diagnosis.rules import workloads
from lamplighter.domain.diagnosis.rules.pod import Pod
from lamplighter.domain.diagnosis.rules.quotes import quote
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Reason, reason

_THROTTLED = {"BandwidthInExceeded", "BandwidthOutExceeded"}
# Without a line of NCCL before it, each of these is a rendezvous that the rank did not reach.
_STORE = re.compile(
    r"client socket has timed out|(?:DistNetworkError|DistStoreError|TCPStore)\b.{0,200}?(?:timed? ?out|timeout)"
    r"|RendezvousTimeoutError|connect\(\) timed out",
    re.IGNORECASE,
)
_NCCL = re.compile(
    r"connect to .{1,120} returned Connection timed out|Connection timed out.*NCCL|NCCL.*Connection timed out"
)
# c10d's socket.cpp: a name without an address is not a blocked path.
_NO_ADDRESS = re.compile(r"IPv4 network addresses of .{1,200}? cannot be retrieved")
_RESULT = re.compile(r"# Out of bounds values|# Avg bus bandwidth")
_RENDEZVOUS_PORT = 29500


def throttled(snapshot: Snapshot, gathered: Gathered) -> None:
    """Instances that EC2 holds at their baseline, by the node monitoring agent's events."""
    for node in snapshot.nodes:
        events = [event for event in snapshot.node_events(node) if event.reason in _THROTTLED]
        for event in events[-1:]:
            gathered.found("bandwidth-throttled", node.name, quote(node.name, str(event)))


def blocked(snapshot: Snapshot, gathered: Gathered) -> None:
    """Ranks that run on several nodes and do not reach each other."""
    jobs: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if pod.gpus and not pod.operand:
            jobs.setdefault(f"{pod.namespace}/{pod.group or pod.name}", []).append(pod)
    closed = _closed(snapshot)
    for job, pods in jobs.items():
        _judge(snapshot, gathered, job, pods, closed)


def _judge(snapshot: Snapshot, gathered: Gathered, job: str, pods: list[Pod], closed: Reason | None) -> None:
    alive = [pod for pod in pods if not pod.succeeded and not workloads.is_history(snapshot, pod)]
    # A rank that waits for a broken rank prints the same as a rank whose path is blocked.
    if not alive or any(pod.phase == "Pending" for pod in alive):
        return
    logs = {pod.called: snapshot.logs(pod) or snapshot.logs(pod, previous=True) for pod in alive}
    if any(_RESULT.search(log) for log in logs.values()) or _met_later(snapshot, pods):
        return
    if any(_never_ran(snapshot, pod) for pod in (*alive, *_ranks_beside(snapshot, pods))):
        return
    if not closed and any(_kept_back(snapshot, gathered, pod) for pod in alive):
        return
    timeouts = [quote(name, line) for name, log in logs.items() if (line := _timed_out(log))]
    if timeouts:
        gathered.found("nccl-path-blocked", job, *timeouts, closed or "")
        return
    running = [pod for pod in alive if pod.phase == "Running"]
    excused = any(pod.node in gathered.explained for pod in running)
    began = max([snapshot.since, *(pod.created for pod in running if pod.created)])
    apart = len({pod.node for pod in running}) > 1
    if closed and apart and not excused and snapshot.age(began) > ProvisioningStage.RENDEZVOUS.normal:
        silent = reason("finding.evidence.no-result", pods=len(running))
        gathered.found("nccl-path-blocked", job, silent, closed)


def _ranks_beside(snapshot: Snapshot, pods: list[Pod]) -> list[Pod]:
    """Where each rank is a pod without a job: the other GPU pods of its namespace, except those without a node."""
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
    """Whether its image is not pulled yet, or cannot be pulled: no rank can have reached it."""
    if workloads.is_history(snapshot, pod):
        return False
    return pod.phase == "Pending" or workloads.pull_failure(snapshot, pod) is not None


def ranks_of(snapshot: Snapshot, pod: Pod) -> list[Pod]:
    """The pods of its job, with the pod itself."""
    if not pod.group:
        return [pod]
    return [
        rank
        for rank in snapshot.pods
        if (rank.namespace, rank.group) == (pod.namespace, pod.group) and not rank.operand
    ]


def waited_for_peers(snapshot: Snapshot, pod: Pod, peers: list[Pod]) -> bool:
    """Whether it timed out waiting for ranks that have not started yet, or that met in a later job."""
    if not _timed_out(snapshot.logs(pod) or snapshot.logs(pod, previous=True)):
        return False
    beside = (*peers, *_ranks_beside(snapshot, peers))
    return any(_never_ran(snapshot, rank) for rank in beside) or _met_later(snapshot, peers)


def _kept_back(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> bool:
    """Whether the rank itself or its node has a problem."""
    if pod.node in gathered.explained:
        return True
    if pod.healthy:
        return False
    troubles = (workloads.symptom_of(snapshot, pod), workloads.pull_failure(snapshot, pod))
    return any(troubles) or workloads.refused(snapshot, pod) is not None


def _met_later(snapshot: Snapshot, pods: list[Pod]) -> bool:
    """Whether ranks of a later job did meet on several nodes: a failure followed by success."""
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
    """The line by which a rank reports that it does not reach the others; None where it has none."""
    match = _NCCL.search(log)
    # Once NCCL itself prints, the ranks have met: a store that times out after that is not the path.
    if match is None and "NCCL INFO" not in log and not _NO_ADDRESS.search(log):
        match = _STORE.search(log)
    if match is None:
        return None
    begin = log.rfind("\n", 0, match.start()) + 1
    return log[begin : begin + LONGEST_EVIDENCE].partition("\n")[0].strip()


def _closed(snapshot: Snapshot) -> Reason | None:
    """How the security groups keep the nodes from each other; None where they do not, or were not read."""
    attached = {
        text(group, "GroupId")
        for instance in snapshot.instances
        for group in docs(instance, "SecurityGroups")
    }
    listed = snapshot.listed("aws", "security_groups")
    groups = [group for group in listed if not attached or text(group, "GroupId") in attached]
    if not groups:
        return None
    names = {text(group, "GroupId") for group in groups}
    if any(_lets_in(rule, names) for group in groups for rule in docs(group, "IpPermissions")):
        return None
    return reason("finding.evidence.no-rule", groups=", ".join(sorted(names)), port=_RENDEZVOUS_PORT)


def _lets_in(rule: Doc, names: Iterable[str]) -> bool:
    protocol = text(rule, "IpProtocol")
    low, high = number(rule, "FromPort"), number(rule, "ToPort")
    every = protocol == "-1"
    covers = low is not None and high is not None and low <= _RENDEZVOUS_PORT <= high
    if not every and not (protocol in {"tcp", "6"} and covers):
        return False
    pairs = {text(pair, "GroupId") for pair in docs(rule, "UserIdGroupPairs")}
    return bool(pairs & set(names) or docs(rule, "IpRanges") or docs(rule, "PrefixListIds"))
