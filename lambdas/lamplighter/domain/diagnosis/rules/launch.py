"""Why instances do not come: the rules of Auto Scaling, Karpenter, quotas and subnets; and why they do not join.

A failure counts only while something is missing: what was launched after it, or before the expectation
began, made it history. Karpenter calls every refusal InsufficientCapacityError, so the inner code decides.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lamplighter.data import instance_types
from lamplighter.domain.diagnosis.document import Doc, at, condition, docs, instant, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage
from lamplighter.domain.pool.evidence import HealthIssue
from lamplighter.domain.pool.launch_cause import (
    NEVER_JOINED,
    LaunchAttempt,
    LaunchCause,
    cause_of,
    refusals,
)

_KARPENTER = re.compile(
    r"InsufficientCapacityError|NodeClaim|creating instance|fleet error|LaunchFailed", re.IGNORECASE
)
_DONE = {"Successful"}
_LAUNCHING = re.compile(r"launch", re.IGNORECASE)


def launched(snapshot: Snapshot, gathered: Gathered) -> None:
    """Every instance that was expected is there, or why it is not; then whether each joined."""
    if not snapshot.was_read("kubernetes", "nodes") and not snapshot.was_read("aws", "instances"):
        _nothing_to_count(snapshot, gathered)
        return
    unjoined = _unjoined(snapshot)
    there = len(snapshot.nodes) + len(unjoined)
    if not snapshot.was_read("kubernetes", "nodes"):
        there = len(snapshot.instances)
    missing = snapshot.wanted_nodes - there
    if missing > 0:
        _missing(snapshot, gathered, missing)
    _joining(snapshot, gathered, unjoined)
    if snapshot.wanted_nodes and there and not snapshot.was_read("kubernetes", "nodes"):
        _joined_unread(snapshot, gathered)


def _joined_unread(snapshot: Snapshot, gathered: Gathered) -> None:
    """Instances run, and whether they became nodes was not read."""
    if _joined_never(snapshot, gathered):
        return
    gathered.unknown(
        f"{len(snapshot.instances)} of {snapshot.wanted_nodes} instances run, and whether they became nodes was "
        "not read",
        snapshot.not_read("kubernetes.nodes"),
    )


def _nothing_to_count(snapshot: Snapshot, gathered: Gathered) -> None:
    if not snapshot.wanted_nodes:
        return
    refusals = list(_refusals(snapshot, snapshot.wanted_nodes))
    for each in refusals:
        gathered.found(each.cause, each.about, each.said)
    if not refusals and not _joined_never(snapshot, gathered):
        strange = _strange_refusal(snapshot)
        gathered.unknown(
            f"whether the {snapshot.wanted_nodes} expected nodes are there was not read"
            + (f"; {strange}" if strange else ""),
            snapshot.not_read("kubernetes.nodes", "aws.instances"),
        )


@dataclass(frozen=True)
class _Refusal:
    cause: str
    about: str
    said: str


def _missing(snapshot: Snapshot, gathered: Gathered, missing: int) -> None:
    strange = _strange_refusal(snapshot)
    # Figures count where nobody says more.
    refusals = list(_refusals(snapshot, missing)) or ([] if strange else list(_by_figures(snapshot)))
    for each in refusals:
        gathered.found(each.cause, each.about, each.said)
    if refusals:
        return
    if _joined_never(snapshot, gathered):
        return
    # Where instances were not read, one that boots cannot be told from one that was never launched.
    counted = snapshot.was_read("aws", "instances")
    stage = Stage.LAUNCH if counted else Stage.JOIN
    done = [attempt.started for attempt in _attempts(snapshot) if attempt.status in _DONE and attempt.started]
    began = max([snapshot.since, *([] if counted else done)])
    if snapshot.age(began) <= stage.normal:
        gathered.progress(stage, snapshot.name, began)
        return
    desired = number(snapshot.nodegroup, "scalingConfig", "desiredSize")
    there = snapshot.wanted_nodes - missing
    sentence = f"{there} of {snapshot.wanted_nodes} expected {'instances' if counted else 'nodes'} are there"
    if desired is not None and desired < snapshot.wanted_nodes:
        sentence += f", and the desired size of {snapshot.name} is {desired}: nobody asked for more"
    if strange:
        sentence += f"; {strange}"
    gathered.unknown(
        sentence, snapshot.not_read("aws.nodegroup", "aws.scaling_activities", "aws.instances", "aws.quotas")
    )


def _strange_refusal(snapshot: Snapshot) -> str:
    """Who says what of a launch that failed, where no rule knows it: an activity, a claim, the group's health."""
    failed = [
        attempt
        for attempt in _attempts(snapshot)
        if attempt.failed and attempt.text and (attempt.started is None or attempt.started >= snapshot.since)
    ]
    if failed:
        return f"AWS says: {max(failed, key=lambda attempt: attempt.started or snapshot.since).text}"
    claims = [condition(claim, "Launched") for claim in snapshot.listed("kubernetes", "nodeclaims")]
    for state in reversed(claims):
        changed = instant(state, "lastTransitionTime")
        refused = text(state, "status") != "True" and (changed is None or changed >= snapshot.since)
        if refused and text(state, "message"):
            return f"Karpenter says: {text(state, 'message')}"
    said = "; ".join(issue.text for issue in _issues(snapshot) if issue.code not in NEVER_JOINED)
    return f"AWS says: {said}" if said else ""


def _refusals(snapshot: Snapshot, missing: int) -> Iterator[_Refusal]:
    """What AWS and Karpenter said since the expectation began, and no launch made history."""
    attempts = [
        attempt
        for attempt in _attempts(snapshot)
        if attempt.started is None or attempt.started >= snapshot.since
    ]
    open_attempts = [attempt for attempt in attempts if not _history(attempt, attempts, missing, snapshot)]
    # A node group stays DEGRADED until a launch succeeds: its health may speak of last week.
    stale = snapshot.was_read("aws", "scaling_activities") and snapshot.age(None) <= Stage.LAUNCH.normal
    for refused in refusals(open_attempts, () if stale else _issues(snapshot)):
        yield _Refusal(refused.cause, snapshot.name, refused.text)
    yield from _karpenter(snapshot)


def _history(attempt: LaunchAttempt, attempts: list[LaunchAttempt], missing: int, snapshot: Snapshot) -> bool:
    """Whether enough later launches succeeded to replace a failed one; instances that were read say it better."""
    if snapshot.was_read("aws", "instances"):
        return False
    later = [
        other
        for other in attempts
        if other.status in _DONE
        and other.started is not None
        and attempt.started is not None
        and other.started > attempt.started
    ]
    return len(later) >= missing


def _issues(snapshot: Snapshot) -> list[HealthIssue]:
    return [
        HealthIssue(text(issue, "code"), text(issue, "message"))
        for issue in docs(snapshot.nodegroup, "health", "issues")
    ]


def _issue(issue: Doc) -> str:
    """An issue of the node group's health in one line."""
    return HealthIssue(text(issue, "code"), text(issue, "message")).text


def _attempts(snapshot: Snapshot) -> list[LaunchAttempt]:
    attempts = []
    for activity in snapshot.listed("aws", "scaling_activities"):
        description = text(activity, "Description")
        words = " ".join(part for part in (text(activity, "StatusMessage"), description) if part)
        if _LAUNCHING.search(description) or not description:
            attempts.append(
                LaunchAttempt(instant(activity, "StartTime"), text(activity, "StatusCode"), words)
            )
    return attempts


def _karpenter(snapshot: Snapshot) -> Iterator[_Refusal]:
    launched_claims = set[str]()
    for claim in snapshot.listed("kubernetes", "nodeclaims"):
        state = condition(claim, "Launched")
        changed = instant(state, "lastTransitionTime")
        if text(state, "status") == "True":
            launched_claims.add(text(claim, "metadata", "name"))
        if text(state, "status") == "True" or (changed and changed < snapshot.since):
            continue
        said = f"{text(state, 'reason')}: {text(state, 'message')}"
        cause = cause_of(said)
        if cause is not LaunchCause.UNKNOWN:
            yield _Refusal(cause, text(claim, "metadata", "name"), said)
    for (kind, _, name), events in snapshot.events.items():
        if kind not in {"NodeClaim", "NodePool", "Pod"} or name in launched_claims:
            continue
        for event in events:
            # Karpenter says it of its claim, and again of the pod that waits.
            cause = cause_of(str(event))
            if cause is not LaunchCause.UNKNOWN and _KARPENTER.search(str(event)):
                yield _Refusal(cause, name, str(event))


def _by_figures(snapshot: Snapshot) -> Iterator[_Refusal]:
    """Where nobody said why: a quota that cannot hold what was asked, a subnet without an address."""
    known = instance_types.gpu_type(snapshot.instance_type)
    code = instance_types.quota_code(snapshot.instance_type)
    for quota in snapshot.listed("aws", "quotas"):
        value = number(quota, "Value")
        needed = known.vcpus * snapshot.wanted_nodes if known else None
        if text(quota, "QuotaCode") == code and value is not None and needed and value < needed:
            yield _Refusal("vcpu-quota", snapshot.name, f"quota {code} is {value} vCPUs, needed are {needed}")
    mine = at(snapshot.nodegroup, "subnets")
    for subnet in snapshot.listed("aws", "subnets"):
        name = text(subnet, "SubnetId")
        if number(subnet, "AvailableIpAddressCount") == 0 and (not isinstance(mine, list) or name in mine):
            yield _Refusal("no-addresses", name or snapshot.name, f"{name} has 0 available addresses")


def _unjoined(snapshot: Snapshot) -> list[Doc]:
    """Instances that run and are no node: as EC2 lists them, or as Karpenter's claims do."""
    if not snapshot.was_read("kubernetes", "nodes"):
        return []
    known = {node.instance for node in snapshot.nodes} | {node.name for node in snapshot.nodes}
    found = []
    for each in snapshot.instances:
        names = {text(each, "InstanceId"), text(each, "PrivateDnsName")} - {""}
        if not names & known:
            found.append(each)
        known |= names
    for claim in snapshot.listed("kubernetes", "nodeclaims"):
        instance = text(claim, "status", "providerID").rpartition("/")[2]
        started = condition(claim, "Launched")
        if text(started, "status") == "True" and instance not in known:
            found.append({"InstanceId": instance, "LaunchTime": text(started, "lastTransitionTime")})
    return found


def _joining(snapshot: Snapshot, gathered: Gathered, unjoined: list[Doc]) -> None:
    issues = [
        each for each in docs(snapshot.nodegroup, "health", "issues") if text(each, "code") in NEVER_JOINED
    ]
    for instance in unjoined[: max(0, snapshot.wanted_nodes - len(snapshot.nodes))]:
        name = text(instance, "InstanceId") or "an instance"
        began = instant(instance, "LaunchTime") or snapshot.since
        named = [issue for issue in issues if _names(issue, name)]
        if not named and snapshot.age(began) <= Stage.JOIN.normal:
            gathered.progress(Stage.JOIN, name, began)
            continue
        said = [_issue(issue) for issue in named or issues]
        minutes = int(snapshot.age(began).total_seconds() // 60)
        gathered.found("node-not-joined", name, f"{name} runs for {minutes} minutes and is no node", *said)


def _joined_never(snapshot: Snapshot, gathered: Gathered) -> bool:
    """No instance is left that could be blamed: the node group's health alone says that they could not join."""
    late = snapshot.age(None) > Stage.JOIN.normal
    found = False
    for issue in docs(snapshot.nodegroup, "health", "issues"):
        if text(issue, "code") in NEVER_JOINED and late:
            said = _issue(issue)
            gathered.found("node-not-joined", snapshot.name, said)
            found = True
    return found


def _names(issue: Doc, instance: str) -> bool:
    named = at(issue, "resourceIds")
    return isinstance(named, list) and instance in named
