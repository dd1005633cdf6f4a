"""Why instances are missing (Auto Scaling, Karpenter, quotas, subnets), and why instances do not join.

A failure counts only while an instance is missing. It is history if a launch succeeded after it, or if it came
before the expectation began. Karpenter calls every refusal InsufficientCapacityError, so the inner code decides.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lamplighter.data import instance_types
from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.launch_cause import (
    NEVER_JOINED,
    LaunchAttempt,
    LaunchCause,
    cause_of,
    refusals,
)
from lamplighter.domain.diagnosis.document import Doc, at, condition, docs, instant, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Said, Sentences, reason

_KARPENTER = re.compile(
    r"InsufficientCapacityError|NodeClaim|creating instance|fleet error|LaunchFailed", re.IGNORECASE
)
_DONE = {"Successful"}
_LAUNCHING = re.compile(r"launch", re.IGNORECASE)
NAMELESS = "EC2 instance"
"""The object of a finding about an instance whose document has no id."""


def launched(snapshot: Snapshot, gathered: Gathered) -> None:
    """Why expected instances are missing; then why instances did not join."""
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
    """Instances run, and nobody read whether they became nodes."""
    if _joined_never(snapshot, gathered):
        return
    gathered.unknown(
        reason(
            "finding.evidence.join-not-read",
            running=len(snapshot.instances),
            expected=snapshot.wanted_nodes,
        ),
        snapshot.not_read("kubernetes.nodes"),
    )


def _nothing_to_count(snapshot: Snapshot, gathered: Gathered) -> None:
    if not snapshot.wanted_nodes:
        return
    refusals = list(_refusals(snapshot, snapshot.wanted_nodes))
    for refused in refusals:
        gathered.found(refused.cause, refused.about, refused.evidence)
    if not refusals and not _joined_never(snapshot, gathered):
        gathered.unknown(
            _together(
                reason("finding.evidence.nodes-not-read", expected=snapshot.wanted_nodes),
                _strange_refusal(snapshot),
            ),
            snapshot.not_read("kubernetes.nodes", "aws.instances"),
        )


def _together(*sentences: Said | None) -> Said:
    """Those that there are, as one symptom."""
    spoken = tuple(sentence for sentence in sentences if sentence)
    return spoken[0] if len(spoken) == 1 else Sentences(spoken)


@dataclass(frozen=True)
class _Refusal:
    cause: str
    about: str
    evidence: Said


def _missing(snapshot: Snapshot, gathered: Gathered, missing: int) -> None:
    strange = _strange_refusal(snapshot)
    # Quotas and free addresses count only where no system gives a reason.
    refusals = list(_refusals(snapshot, missing)) or ([] if strange else list(_by_figures(snapshot)))
    for refused in refusals:
        gathered.found(refused.cause, refused.about, refused.evidence)
    if refusals:
        return
    if _joined_never(snapshot, gathered):
        return
    # Where instances were not read, a booting instance looks like one that was never launched.
    counted = snapshot.was_read("aws", "instances")
    stage = ProvisioningStage.LAUNCH if counted else ProvisioningStage.JOIN
    done = [attempt.started for attempt in _attempts(snapshot) if attempt.status in _DONE and attempt.started]
    began = max([snapshot.since, *([] if counted else done)])
    if snapshot.age(began) <= stage.normal:
        gathered.progress(stage, snapshot.name, began)
        return
    desired = number(snapshot.nodegroup, "scalingConfig", "desiredSize")
    expected, there = snapshot.wanted_nodes, snapshot.wanted_nodes - missing
    short = (
        reason("finding.evidence.instances-missing", there=there, expected=expected)
        if counted
        else reason("finding.evidence.nodes-missing", there=there, expected=expected)
    )
    not_ordered = (
        reason("finding.evidence.desired-size", pool=snapshot.name, desired=desired)
        if desired is not None and desired < expected
        else None
    )
    gathered.unknown(
        _together(short, not_ordered, strange),
        snapshot.not_read("aws.nodegroup", "aws.scaling_activities", "aws.instances", "aws.quotas"),
    )


def _strange_refusal(snapshot: Snapshot) -> Said | None:
    """A failed launch that no rule knows, quoted from an activity, a NodeClaim or the node group's health."""
    failed = [
        attempt
        for attempt in _attempts(snapshot)
        if attempt.failed and attempt.text and (attempt.started is None or attempt.started >= snapshot.since)
    ]
    if failed:
        last = max(failed, key=lambda attempt: attempt.started or snapshot.since)
        return reason("finding.evidence.aws-says", words=last.text)
    claims = [condition(claim, "Launched") for claim in snapshot.listed("kubernetes", "nodeclaims")]
    for state in reversed(claims):
        changed = instant(state, "lastTransitionTime")
        refused = text(state, "status") != "True" and (changed is None or changed >= snapshot.since)
        if refused and text(state, "message"):
            return reason("finding.evidence.karpenter-says", words=text(state, "message"))
    messages = "; ".join(issue.text for issue in _issues(snapshot) if issue.code not in NEVER_JOINED)
    return reason("finding.evidence.aws-says", words=messages) if messages else None


def _refusals(snapshot: Snapshot, missing: int) -> Iterator[_Refusal]:
    """Refusals by AWS and Karpenter since the expectation began that no later launch made history."""
    attempts = [
        attempt
        for attempt in _attempts(snapshot)
        if attempt.started is None or attempt.started >= snapshot.since
    ]
    current = [attempt for attempt in attempts if not _is_history(attempt, attempts, missing, snapshot)]
    # A node group stays DEGRADED until a launch succeeds: its health may be a week old.
    stale = (
        snapshot.was_read("aws", "scaling_activities")
        and snapshot.age(None) <= ProvisioningStage.LAUNCH.normal
    )
    for refused in refusals(current, () if stale else _issues(snapshot)):
        yield _Refusal(refused.cause, snapshot.name, refused.text)
    yield from _karpenter(snapshot)


def _is_history(
    attempt: LaunchAttempt, attempts: list[LaunchAttempt], missing: int, snapshot: Snapshot
) -> bool:
    """Whether enough later launches succeeded; where instances were read, their number decides instead."""
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
    """Launches by Auto Scaling."""
    attempts = []
    for activity in snapshot.listed("aws", "scaling_activities"):
        description = text(activity, "Description")
        message = " ".join(part for part in (text(activity, "StatusMessage"), description) if part)
        if _LAUNCHING.search(description) or not description:
            started, status = instant(activity, "StartTime"), text(activity, "StatusCode")
            attempts.append(LaunchAttempt(started, status, message))
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
        message = f"{text(state, 'reason')}: {text(state, 'message')}"
        cause = cause_of(message)
        if cause is not LaunchCause.UNKNOWN:
            yield _Refusal(cause, text(claim, "metadata", "name"), message)
    for (kind, _, name), events in snapshot.events.items():
        if kind not in {"NodeClaim", "NodePool", "Pod"} or name in launched_claims:
            continue
        for event in events:
            # Karpenter writes the event for its NodeClaim, and again for the pod that waits.
            cause = cause_of(str(event))
            if cause is not LaunchCause.UNKNOWN and _KARPENTER.search(str(event)):
                yield _Refusal(cause, name, str(event))


def _by_figures(snapshot: Snapshot) -> Iterator[_Refusal]:
    """Where no system gives a reason: a quota that is too small, or a subnet without a free address."""
    known = instance_types.gpu_type(snapshot.instance_type)
    code = instance_types.quota_code(snapshot.instance_type)
    for quota in snapshot.listed("aws", "quotas"):
        value = number(quota, "Value")
        needed = known.vcpus * snapshot.wanted_nodes if known else None
        if text(quota, "QuotaCode") == code and value is not None and needed and value < needed:
            small = reason("finding.evidence.quota", quota=code, vcpus=value, needed=needed)
            yield _Refusal("vcpu-quota", snapshot.name, small)
    mine = at(snapshot.nodegroup, "subnets")
    for subnet in snapshot.listed("aws", "subnets"):
        name = text(subnet, "SubnetId")
        if number(subnet, "AvailableIpAddressCount") == 0 and (not isinstance(mine, list) or name in mine):
            about = name or snapshot.name
            yield _Refusal("no-addresses", about, reason("finding.evidence.subnet-full", subnet=about))


def _unjoined(snapshot: Snapshot) -> list[Doc]:
    """Instances that run and are not nodes, from EC2's list or from Karpenter's NodeClaims."""
    if not snapshot.was_read("kubernetes", "nodes"):
        return []
    known = {node.instance for node in snapshot.nodes} | {node.name for node in snapshot.nodes}
    unjoined = []
    for running in snapshot.instances:
        names = {text(running, "InstanceId"), text(running, "PrivateDnsName")} - {""}
        if not names & known:
            unjoined.append(running)
        known |= names
    for claim in snapshot.listed("kubernetes", "nodeclaims"):
        instance = text(claim, "status", "providerID").rpartition("/")[2]
        started = condition(claim, "Launched")
        if text(started, "status") == "True" and instance not in known:
            unjoined.append({"InstanceId": instance, "LaunchTime": text(started, "lastTransitionTime")})
    return unjoined


def _joining(snapshot: Snapshot, gathered: Gathered, unjoined: list[Doc]) -> None:
    issues = [
        issue for issue in docs(snapshot.nodegroup, "health", "issues") if text(issue, "code") in NEVER_JOINED
    ]
    for instance in unjoined[: max(0, snapshot.wanted_nodes - len(snapshot.nodes))]:
        name = text(instance, "InstanceId") or NAMELESS
        began = instant(instance, "LaunchTime") or snapshot.since
        named = [issue for issue in issues if _names(issue, name)]
        if not named and snapshot.age(began) <= ProvisioningStage.JOIN.normal:
            gathered.progress(ProvisioningStage.JOIN, name, began)
            continue
        minutes = int(snapshot.age(began).total_seconds() // 60)
        late = reason("finding.evidence.not-joined", instance=name, minutes=minutes)
        gathered.found("node-not-joined", name, late, *map(_issue, named or issues))


def _joined_never(snapshot: Snapshot, gathered: Gathered) -> bool:
    """No instance is left to name: only the node group's health reports that instances did not join."""
    late = snapshot.age(None) > ProvisioningStage.JOIN.normal
    blamed = False
    for issue in docs(snapshot.nodegroup, "health", "issues"):
        if text(issue, "code") in NEVER_JOINED and late:
            gathered.found("node-not-joined", snapshot.name, _issue(issue))
            blamed = True
    return blamed


def _names(issue: Doc, instance: str) -> bool:
    named = at(issue, "resourceIds")
    return isinstance(named, list) and instance in named
