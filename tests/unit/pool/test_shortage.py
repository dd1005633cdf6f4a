"""One sentence for why nodes do not come."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.pool.evidence import Activity, HealthIssue, NodeGroup, Update
from lamplighter.domain.pool.shortage import Shortage, explain

ORDERED = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
NO_CAPACITY = (
    "We currently do not have sufficient g5.xlarge capacity in the Availability Zone you requested "
    "(ap-northeast-2a). Our system will be working on provisioning additional capacity. "
    "Launching EC2 instance failed."
)


def launch(message: str, *, minutes: int = 1, status: str = "Failed", running: bool = False) -> Activity:
    started = ORDERED + timedelta(minutes=minutes)
    return Activity(
        "a", status, "Launching a new EC2 instance.", message, started, None if running else started
    )


def group(desired: int = 2, health: tuple[HealthIssue, ...] = ()) -> NodeGroup:
    return NodeGroup("lab", "gpu", "ACTIVE", 0, 2, desired, "eks-gpu", health)


def why(
    *activities: Activity,
    minutes: float = 2,
    nodegroup: NodeGroup | None = None,
    update: Update | None = None,
) -> Shortage | None:
    return explain(
        wanted=2,
        have=1,
        nodegroup=nodegroup or group(),
        activities=activities,
        update=update,
        ordered=ORDERED,
        now=ORDERED + timedelta(minutes=minutes),
    )


@pytest.mark.parametrize(
    ("message", "cause", "sentence"),
    [
        (
            NO_CAPACITY,
            "no-capacity",
            "1 of 2 nodes: AWS has no g5.xlarge capacity left in ap-northeast-2a",
        ),
        (
            (
                "You have requested more vCPU capacity than your current vCPU limit of 4 allows for the "
                "instance bucket that the specified instance type belongs to. Launching EC2 instance failed."
            ),
            "vcpu-quota",
            "1 of 2 nodes: the account's vCPU quota for these instances is used up (limit 4)",
        ),
        (
            "There are not enough free addresses in subnet subnet-1 to satisfy the request.",
            "no-addresses",
            "1 of 2 nodes: the pool's subnet has no free addresses left",
        ),
        (
            "You are not authorized to perform this operation. Launching EC2 instance failed.",
            "launch-denied",
            (
                "1 of 2 nodes: AWS refused to launch them: You are not authorized to perform this operation. "
                "Launching EC2 instance failed."
            ),
        ),
    ],
)
def test_a_failed_launch_names_its_cause(message: str, cause: str, sentence: str) -> None:
    assert why(launch(message)) == Shortage(cause, sentence)


def test_nothing_is_short_while_the_order_is_young() -> None:
    assert why(minutes=2.9) is None


def test_silence_is_named_after_three_minutes() -> None:
    found = why(minutes=3)

    assert found is not None
    assert found.sentence == "1 of 2 nodes: no launch for 3 minutes and AWS gives no reason yet"


def test_a_launch_under_way_is_waited_for() -> None:
    assert (
        why(launch(NO_CAPACITY), launch("", minutes=2, status="InProgress", running=True), minutes=6) is None
    )


def test_what_failed_before_the_order_is_history() -> None:
    assert why(launch(NO_CAPACITY, minutes=-5)) is None


def test_a_degraded_group_speaks_only_where_no_activity_does() -> None:
    sick = group(health=(HealthIssue("AsgInstanceLaunchFailures", NO_CAPACITY),))

    assert why(minutes=1, nodegroup=sick) is None
    found = why(minutes=4, nodegroup=sick)
    assert found is not None
    assert found.cause == "no-capacity"


def test_an_order_that_eks_reverted_is_said() -> None:
    found = why(
        minutes=4, nodegroup=group(desired=1), update=Update("u", "ConfigUpdate", "Successful", ORDERED)
    )

    assert found is not None
    assert found.sentence == "1 of 2 nodes: EKS took the order back and stands at 1"


def test_a_failed_update_is_quoted() -> None:
    found = why(
        update=Update("u", "ConfigUpdate", "Failed", ORDERED, ("NodeCreationFailure: Unhealthy nodes",))
    )

    assert found is not None
    assert found.sentence == "1 of 2 nodes: AWS says NodeCreationFailure: Unhealthy nodes"


def test_a_pool_that_is_whole_has_no_shortage() -> None:
    assert (
        explain(
            wanted=2,
            have=2,
            nodegroup=group(),
            activities=[launch(NO_CAPACITY)],
            update=None,
            ordered=ORDERED,
            now=ORDERED,
        )
        is None
    )


def test_as_many_launches_under_way_as_nodes_are_missing_are_waited_for() -> None:
    def told(*activities: Activity, wanted: int = 3) -> str | None:
        found = explain(
            wanted=wanted,
            have=1,
            nodegroup=group(3),
            activities=activities,
            update=None,
            ordered=ORDERED,
            now=ORDERED + timedelta(minutes=4),
        )
        return None if found is None else found.sentence

    under_way, done = launch("", status="InProgress", running=True), launch("", status="Successful")
    silent = "1 of 3 nodes: no launch for 4 minutes and AWS gives no reason yet"

    assert told(under_way, under_way) is None
    assert told(under_way) == told(under_way, done) == silent
    assert told(wanted=1) is None


def test_an_order_that_is_no_more_under_way_and_stands_lower_was_taken_back() -> None:
    def said(status: str | None) -> str:
        update = None if status is None else Update("u-1", "ConfigUpdate", status, ORDERED, ())
        found = why(minutes=4, nodegroup=group(1), update=update)
        assert found is not None
        return found.sentence

    taken_back = "1 of 2 nodes: EKS took the order back and stands at 1"
    assert said(None) == said("Successful") == taken_back
    assert said("InProgress") == "1 of 2 nodes: no launch for 4 minutes and AWS gives no reason yet"


def test_the_last_failure_is_quoted_and_one_at_the_order_itself_counts() -> None:
    found = why(launch("first", minutes=1), launch("last", minutes=2), launch("early", minutes=0))

    assert found == Shortage("unknown", "1 of 2 nodes: AWS says last")
    assert why(launch("early", minutes=0)) == Shortage("unknown", "1 of 2 nodes: AWS says early")
    assert why(launch("before", minutes=-1)) is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("x" * 160, "x" * 160),
        ("x" * 161, "x" * 159 + "…"),
        ("two\n  words", "two words"),
    ],
)
def test_a_quote_of_aws_has_at_most_160_characters(message: str, said: str) -> None:
    assert why(launch(message)) == Shortage("unknown", f"1 of 2 nodes: AWS says {said}")


def test_a_zone_and_a_type_are_named_where_aws_names_them() -> None:
    def said(message: str) -> str:
        found = why(launch(f"We do not have sufficient {message} Launching EC2 instance failed."))
        assert found is not None
        return found.sentence.removeprefix("1 of 2 nodes: ")

    assert (
        said("g5.xlarge capacity in zone us-east-1a.") == "AWS has no g5.xlarge capacity left in us-east-1a"
    )
    assert said("capacity.") == "AWS has no such capacity left in the pool's zone"


def test_the_first_health_issue_speaks_with_its_message_or_its_code() -> None:
    def said(*issues: HealthIssue) -> str:
        found = why(minutes=3, nodegroup=group(health=issues))
        assert found is not None
        return found.sentence

    first, second = HealthIssue("FirstCode", "first"), HealthIssue("SecondCode", "second")
    assert said(first, second) == "1 of 2 nodes: AWS says first"
    assert said(HealthIssue("FirstCode", ""), second) == "1 of 2 nodes: AWS says FirstCode"
