"""Why fewer nodes come than were ordered: a cause and a reason."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.node_group.evidence import NodeGroupUpdate, ScalingActivity
from lamplighter.domain.capacity.node_group.shortage import explain
from lamplighter.domain.capacity.shortage import Shortage
from lamplighter.reasons.reason import Reason, reason

ORDERED = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
NO_CAPACITY = (
    "We currently do not have sufficient g5.xlarge capacity in the Availability Zone you requested "
    "(ap-northeast-2a). Our system will be working on provisioning additional capacity. "
    "Launching EC2 instance failed."
)

DENIED = "You are not authorized to perform this operation. Launching EC2 instance failed."


def launch(
    message: str, *, minutes: int = 1, status: str = "Failed", running: bool = False
) -> ScalingActivity:
    started = ORDERED + timedelta(minutes=minutes)
    return ScalingActivity(
        "a", status, "Launching a new EC2 instance.", message, started, None if running else started
    )


def test_the_launch_of_a_node_that_boots_covers_no_missing_node() -> None:
    boots = launch("", status="InProgress", running=True)
    assert why(boots, launch(NO_CAPACITY)) is None
    found = why(replace(boots, description="Launching a new EC2 instance: i-0a1b2c3d"), launch(NO_CAPACITY))
    assert found is not None
    assert found.cause is LaunchCause.NO_CAPACITY


def why(
    *activities: ScalingActivity,
    wanted: int = 2,
    minutes: float = 2,
    desired: int = 2,
    health: tuple[HealthIssue, ...] = (),
    update: NodeGroupUpdate | None = None,
) -> Shortage | None:
    return explain(
        wanted=wanted,
        have=1,
        desired=desired,
        health=health,
        activities=activities,
        update=update,
        ordered=ORDERED,
        now=ORDERED + timedelta(minutes=minutes),
    )


def short(
    why: Reason, cause: LaunchCause = LaunchCause.UNKNOWN, *, have: int = 1, wanted: int = 2
) -> Shortage:
    return Shortage(cause, reason("pool.short", have=have, wanted=wanted, why=why))


def quoted(words: str) -> Shortage:
    return short(reason("pool.short.aws-says", quote=words))


TAKEN_BACK = short(reason("pool.short.taken-back", desired=1))
SILENT = short(reason("pool.short.silent", minutes=3))


@pytest.mark.parametrize(
    ("message", "cause", "expected"),
    [
        (
            NO_CAPACITY,
            LaunchCause.NO_CAPACITY,
            reason("pool.short.no-capacity.of-type", type="g5.xlarge", zone="ap-northeast-2a"),
        ),
        (
            (
                "You have requested more vCPU capacity than your current vCPU limit of 4 allows for the "
                "instance bucket that the specified instance type belongs to. Launching EC2 instance failed."
            ),
            LaunchCause.VCPU_QUOTA,
            reason("pool.short.vcpu-quota.limit", limit="4"),
        ),
        ("VcpuLimitExceeded", LaunchCause.VCPU_QUOTA, reason("pool.short.vcpu-quota")),
        (
            "There are not enough free addresses in subnet subnet-1 to satisfy the request.",
            LaunchCause.NO_ADDRESSES,
            reason("pool.short.no-addresses"),
        ),
        (DENIED, LaunchCause.LAUNCH_DENIED, reason("pool.short.launch-denied", quote=DENIED)),
    ],
)
def test_a_failed_launch_names_its_cause(message: str, cause: LaunchCause, expected: Reason) -> None:
    assert why(launch(message)) == short(expected, cause)


def test_silence_is_named_after_three_minutes() -> None:
    assert why(minutes=2.9) is None
    assert why(minutes=3) == SILENT


def test_a_launch_under_way_is_waited_for() -> None:
    assert (
        why(launch(NO_CAPACITY), launch("", minutes=2, status="InProgress", running=True), minutes=6) is None
    )


def test_a_degraded_group_speaks_only_after_three_minutes_and_where_no_launch_names_a_cause() -> None:
    sick = (HealthIssue("AsgInstanceLaunchFailures", NO_CAPACITY),)

    def cause(*activities: ScalingActivity, minutes: int) -> LaunchCause | None:
        found = why(*activities, minutes=minutes, health=sick)
        return None if found is None else found.cause

    assert cause(minutes=1) is None
    assert cause(minutes=4) is LaunchCause.NO_CAPACITY
    assert cause(launch("something odd"), minutes=1) is LaunchCause.UNKNOWN
    assert cause(launch("something odd"), minutes=4) is LaunchCause.NO_CAPACITY
    assert cause(launch("VcpuLimitExceeded"), minutes=4) is LaunchCause.VCPU_QUOTA


def test_a_failed_update_is_quoted() -> None:
    def failed(*errors: str) -> NodeGroupUpdate:
        return NodeGroupUpdate("u", "ConfigUpdate", "Failed", ORDERED, errors)

    assert why(update=failed("NodeCreationFailure: Unhealthy nodes")) == quoted(
        "NodeCreationFailure: Unhealthy nodes"
    )
    assert why(update=failed()) == short(reason("pool.short.update-gave-up"))


def test_as_many_launches_under_way_as_nodes_are_missing_are_waited_for() -> None:
    def found(*activities: ScalingActivity, wanted: int = 3) -> Shortage | None:
        return why(*activities, wanted=wanted, desired=3, minutes=4)

    under_way, done = launch("", status="InProgress", running=True), launch("", status="Successful")
    silent = short(reason("pool.short.silent", minutes=4), wanted=3)

    assert found(under_way, under_way) is None
    assert found(under_way) == found(under_way, done) == silent
    assert found(wanted=1) is found(launch(NO_CAPACITY), wanted=1) is None


def test_an_order_that_is_no_more_under_way_and_stands_lower_was_taken_back() -> None:
    def found(status: str | None) -> Shortage | None:
        update = None if status is None else NodeGroupUpdate("u-1", "ConfigUpdate", status, ORDERED, ())
        return why(minutes=4, desired=1, update=update)

    assert found(None) == found("Successful") == TAKEN_BACK
    assert found("InProgress") == short(reason("pool.short.silent", minutes=4))


def test_the_last_failure_is_quoted_and_one_at_the_order_itself_counts() -> None:
    launches = launch("first", minutes=1), launch("last", minutes=2), launch("early", minutes=0)
    assert why(*launches) == quoted("last")
    assert why(launch("early", minutes=0)) == quoted("early")
    assert why(launch("before", minutes=-1)) is None


def test_a_failure_with_a_known_cause_counts_before_a_later_one_without() -> None:
    found = why(launch("VcpuLimitExceeded", minutes=1), launch("something odd", minutes=2))
    assert found == short(reason("pool.short.vcpu-quota"), LaunchCause.VCPU_QUOTA)


@pytest.mark.parametrize(
    ("message", "words"),
    [("x" * 160, "x" * 160), ("x" * 161, "x" * 159 + "…"), ("two\n  words", "two words")],
)
def test_a_quote_of_aws_has_at_most_160_characters(message: str, words: str) -> None:
    assert why(launch(message)) == quoted(words)


def test_a_zone_and_a_type_are_named_where_aws_names_them() -> None:
    def found(message: str) -> Shortage | None:
        return why(launch(f"We do not have sufficient {message} Launching EC2 instance failed."))

    cause = LaunchCause.NO_CAPACITY
    assert found("g5.xlarge capacity in zone us-east-1a.") == short(
        reason("pool.short.no-capacity.of-type", type="g5.xlarge", zone="us-east-1a"), cause
    )
    assert found("capacity.") == short(
        reason("pool.short.no-capacity", zone=reason("pool.short.zone-of-pool")), cause
    )


def test_the_first_health_issue_speaks_with_its_message_or_its_code() -> None:
    def found(*issues: HealthIssue) -> Shortage | None:
        return why(minutes=3, health=issues)

    first, second = HealthIssue("FirstCode", "first"), HealthIssue("SecondCode", "second")
    assert found(first, second) == quoted("first")
    assert found(HealthIssue("FirstCode", ""), second) == quoted("FirstCode")
