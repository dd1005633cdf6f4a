"""Why instances are missing (Auto Scaling, Karpenter, quotas, subnets), and why instances do not join.

A failure counts only while an instance is missing. It is history if a launch succeeded after it, or if it came
before the expectation began. Karpenter calls every refusal InsufficientCapacityError, so the inner code decides.
"""

import re
from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.launch_cause import NEVER_JOINED, LaunchAttempt, of_ebs_quota, refusals
from lamplighter.domain.diagnosis.document import Doc, at, docs, instant, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.node_pool import joins
from lamplighter.domain.diagnosis.rules.node_pool import refusals as node_pool_refusals
from lamplighter.domain.diagnosis.rules.node_pool.refusals import Refusal
from lamplighter.domain.diagnosis.rules.subnets import full_subnets
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Said, Sentences, reason

_DONE = {"Successful"}
_LAUNCHING = re.compile(r"launch", re.IGNORECASE)
_NO_LAUNCH = {"launch-denied", "karpenter-not-ready", "node-class-not-ready", "launch-barred"}
"""Causes because of which nobody asks EC2 for an instance; launch-denied by the dry runs of a NodeClass."""
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
        refused.report(gathered)
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


def _missing(snapshot: Snapshot, gathered: Gathered, missing: int) -> None:
    strange = _strange_refusal(snapshot)
    # Quotas and free addresses count only where no system gives a reason.
    refusals = list(_refusals(snapshot, missing)) or ([] if strange else list(_by_figures(snapshot)))
    for refused in refusals:
        refused.report(gathered)
    if refusals:
        return
    if (
        _joined_never(snapshot, gathered)
        or gathered.objects.keys() & _NO_LAUNCH
        or _comes_with_pods(snapshot)
    ):
        return
    # Where instances were not read, a booting instance looks like one that was never launched.
    counted = snapshot.was_read("aws", "instances")
    stage = ProvisioningStage.LAUNCH if counted else ProvisioningStage.JOIN
    done = [attempt.started for attempt in _attempts(snapshot) if attempt.status in _DONE and attempt.started]
    began = max([snapshot.since, *([] if counted else done)])
    if snapshot.age(began) <= stage.normal:
        gathered.progress(stage, snapshot.name, began)
        return
    desired = _ordered(snapshot)
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
    if strange and of_ebs_quota(str(strange)):
        gathered.advice["unknown"] = reason("finding.unknown.ebs-quota.advice")
    gathered.unknown(
        _together(short, not_ordered, strange),
        snapshot.not_read("aws.nodegroup", "aws.scaling_activities", "aws.instances", "aws.quotas"),
    )


def _ordered(snapshot: Snapshot) -> int | None:
    """How many nodes were ordered at the node group or NodePool."""
    node_pool = snapshot.node_pool
    if node_pool.document:
        return node_pool.replicas if node_pool.static else node_pool.most
    return number(snapshot.nodegroup, "scalingConfig", "desiredSize")


def _comes_with_pods(snapshot: Snapshot) -> bool:
    """Whether the NodePool starts nodes for pods alone, and no pod waits for one."""
    node_pool = snapshot.node_pool
    if not node_pool.document or node_pool.static or not snapshot.was_read("kubernetes", "pods"):
        return False
    return not node_pool.claims and not any(pod.gpus and not pod.node for pod in snapshot.pods)


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
    for state in reversed([claim.state("Launched") for claim in snapshot.claims]):
        changed = instant(state, "lastTransitionTime")
        refused = text(state, "status") != "True" and (changed is None or changed >= snapshot.since)
        if refused and text(state, "message"):
            return reason("finding.evidence.karpenter-says", words=text(state, "message"))
    if unscheduled := node_pool_refusals.unscheduled(snapshot):
        return unscheduled
    messages = "; ".join(issue.text for issue in _issues(snapshot) if issue.code not in NEVER_JOINED)
    return reason("finding.evidence.aws-says", words=messages) if messages else None


def _refusals(snapshot: Snapshot, missing: int) -> Iterator[Refusal]:
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
        yield Refusal(refused.cause, snapshot.name, refused.text)
    yield from node_pool_refusals.refused(snapshot)


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


def _by_figures(snapshot: Snapshot) -> Iterator[Refusal]:
    """Where no system gives a reason: a quota that is too small, or a subnet without a free address."""
    known = instance_types.gpu_type(snapshot.instance_type)
    spot = text(snapshot.nodegroup, "capacityType") == "SPOT"
    code = instance_types.quota_code(snapshot.instance_type, spot=spot)
    for quota in snapshot.listed("aws", "quotas"):
        value = number(quota, "Value")
        needed = known.vcpus * snapshot.wanted_nodes if known else None
        if text(quota, "QuotaCode") == code and value is not None and needed and value < needed:
            small = reason("finding.evidence.quota", quota=code, vcpus=value, needed=needed)
            yield Refusal("vcpu-quota", snapshot.name, small)
    for subnet in full_subnets(snapshot):
        yield Refusal("no-addresses", subnet, reason("finding.evidence.subnet-full", subnet=subnet))


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
    for claim in snapshot.node_pool.staying:
        if claim.has("Launched") and claim.instance not in known:
            launched_at = text(claim.state("Launched"), "lastTransitionTime")
            unjoined.append(
                {
                    "InstanceId": claim.instance,
                    "LaunchTime": launched_at,
                    "ImageId": text(claim.item, "status", "imageID"),
                }
            )
    return unjoined


def _joining(snapshot: Snapshot, gathered: Gathered, unjoined: list[Doc]) -> None:
    issues = [
        issue for issue in docs(snapshot.nodegroup, "health", "issues") if text(issue, "code") in NEVER_JOINED
    ]
    given_up = joins.given_up(snapshot)
    for instance in unjoined[: max(0, snapshot.wanted_nodes - len(snapshot.nodes))]:
        name = text(instance, "InstanceId") or NAMELESS
        began = instant(instance, "LaunchTime") or snapshot.since
        named = [issue for issue in issues if _names(issue, name)]
        if not named and not given_up and snapshot.age(began) <= ProvisioningStage.JOIN.normal:
            gathered.progress(ProvisioningStage.JOIN, name, began)
            continue
        minutes = int(snapshot.age(began).total_seconds() // 60)
        late = reason("finding.evidence.not-joined", instance=name, minutes=minutes)
        foreign, image = joins.image(snapshot, instance)
        cause, about = ("wrong-ami", snapshot.name) if foreign else ("node-not-joined", name)
        registration = joins.registration(snapshot, name)
        gathered.found(cause, about, late, *image, *registration, *given_up, *map(_issue, named or issues))


def _joined_never(snapshot: Snapshot, gathered: Gathered) -> bool:
    """No instance is left to name: only the node group's health reports that instances did not join."""
    late = snapshot.age(None) > ProvisioningStage.JOIN.normal
    blamed = False
    # Between two NodeClaims there is no instance for some seconds.
    if given_up := joins.given_up(snapshot):
        foreign, image = joins.image(snapshot, {})
        gathered.found("wrong-ami" if foreign else "node-not-joined", snapshot.name, *given_up, *image)
        blamed = True
    for issue in docs(snapshot.nodegroup, "health", "issues"):
        if text(issue, "code") in NEVER_JOINED and late:
            gathered.found("node-not-joined", snapshot.name, _issue(issue))
            blamed = True
    return blamed


def _names(issue: Doc, instance: str) -> bool:
    named = at(issue, "resourceIds")
    return isinstance(named, list) and instance in named
