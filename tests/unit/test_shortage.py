"""One sentence for why nodes do not come."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.capacity import Activity, HealthIssue, NodeGroup, Update
from lamplighter.domain.shortage import Shortage, explain

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
