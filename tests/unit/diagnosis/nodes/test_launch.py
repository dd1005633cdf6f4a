"""Launches: who refused them, with which evidence, and when one is still in progress."""

import pytest

from tests.diagnosis_cases import leave, one_missing, vanish
from tests.snapshots import (
    POOL,
    Document,
    activity,
    at,
    event,
    healthy,
    judge,
    refused_launch,
    told,
    under_way,
)

SECOND = 1 / 60

DENIED = "UnauthorizedOperation: denied"


def claim(status: str = "False", name: str = "gpu-a", minute: float = 1, message: str = DENIED) -> Document:
    launched = {
        "type": "Launched",
        "status": status,
        "reason": "LaunchFailed",
        "message": message,
        "lastTransitionTime": at(minute),
    }
    return {"metadata": {"name": name}, "status": {"conditions": [launched], "providerID": "aws:///a/i-new"}}


def test_an_instance_may_take_three_minutes_to_be_launched() -> None:
    assert under_way(one_missing(now=3)) == [("instance-launch", POOL, "11:00:00")]
    assert told(one_missing(now=3 + SECOND)) == [("unknown", POOL, ["1 of 2 expected instances are there"])]


def test_where_instances_were_not_read_the_last_launch_begins_the_time_to_join() -> None:
    def unread(now: float) -> Document:
        document = one_missing(now)
        del document["aws"]["instances"]
        document["aws"]["scaling_activities"] = [
            activity("", "Successful", 1),
            activity("", "Successful", 4),
            activity("", "InProgress", 8),
        ]
        return document

    assert under_way(unread(9)) == [("node-join", POOL, "11:04:00")]
    assert told(unread(9 + SECOND)) == [
        ("unknown", POOL, ["1 of 2 expected nodes are there", "not read: aws.instances"])
    ]


@pytest.mark.parametrize(
    ("desired", "more"),
    [
        (2, ""),
        (1, f"; the desired size of {POOL} is 1: nobody asked for more"),
        (0, f"; the desired size of {POOL} is 0: nobody asked for more"),
    ],
)
def test_a_group_that_wants_fewer_nodes_is_said_to(desired: int, more: str) -> None:
    document = one_missing()
    document["aws"]["nodegroup"]["scalingConfig"]["desiredSize"] = desired
    assert told(document) == [("unknown", POOL, [f"1 of 2 expected instances are there{more}"])]


def test_of_refusals_that_no_rule_knows_the_last_is_quoted() -> None:
    document = one_missing()
    document["aws"]["scaling_activities"] = [
        refused_launch("first", minute=1),
        refused_launch("last", "Cancelled", minute=3),
        refused_launch("second", minute=2),
        refused_launch("before", minute=-1),
        refused_launch("no time", StartTime=None),
        refused_launch("done", "Successful", minute=4),
    ]
    assert told(document) == [
        ("unknown", POOL, ["1 of 2 expected instances are there; AWS says: last Launching"])
    ]


@pytest.mark.parametrize(
    ("activities", "blamed"),
    [
        ([refused_launch(minute=0)], True),
        ([refused_launch(minute=-SECOND)], False),
        ([refused_launch(StartTime=None)], True),
        ([refused_launch(status="Cancelled")], True),
        ([refused_launch(status="InProgress")], False),
        ([refused_launch(Description="Terminating EC2 instance")], False),
        ([refused_launch(Description="")], True),
    ],
)
def test_a_refusal_counts_since_the_expectation_began(activities: list[Document], *, blamed: bool) -> None:
    document = one_missing()
    document["aws"]["scaling_activities"] = activities
    assert [cause for cause, _, _ in told(document)] == ["launch-denied" if blamed else "unknown"]


@pytest.mark.parametrize(
    ("later", "blamed"),
    [
        ([], True),
        ([2.0], False),
        ([1.0], True),
        ([0.5], True),
    ],
)
def test_where_instances_were_not_read_a_later_launch_makes_a_refusal_history(
    later: list[float], *, blamed: bool
) -> None:
    document = one_missing()
    del document["aws"]["instances"]
    document["aws"]["scaling_activities"] = [
        refused_launch(minute=1),
        *(activity("", "Successful", minute) for minute in later),
    ]
    assert [cause for cause, _, _ in told(document)] == ["launch-denied" if blamed else "unknown"]


def test_a_launch_that_came_for_one_of_two_leaves_the_refusal_of_the_other() -> None:
    document = healthy()
    vanish(document, 0)
    vanish(document, 1)
    del document["aws"]["instances"]
    document["aws"]["scaling_activities"] = [refused_launch(minute=1), activity("", "Successful", 2)]

    assert told(document) == [("launch-denied", POOL, [f"{DENIED} Launching"])]


def test_a_refusal_is_said_though_the_instances_that_were_read_came_later() -> None:
    document = one_missing()
    document["aws"]["scaling_activities"] = [refused_launch(minute=1), activity("", "Successful", 2)]
    assert told(document) == [("launch-denied", POOL, [f"{DENIED} Launching"])]


def test_the_node_group_s_health_counts_once_it_cannot_speak_of_last_week() -> None:
    def degraded(now: float) -> Document:
        document = one_missing(now)
        document["aws"]["nodegroup"]["health"]["issues"] = [
            {"code": "AccessDenied", "message": "not authorized"},
            {"code": "AsgInstanceLaunchFailures", "message": DENIED},
            {"code": "Odd", "message": "odd"},
        ]
        return document

    assert under_way(degraded(3)) == [("instance-launch", POOL, "11:00:00")]
    said = [("launch-denied", POOL, [f"AsgInstanceLaunchFailures: {DENIED}"])]
    assert told(degraded(3 + SECOND)) == said
    unread = degraded(1)
    del unread["aws"]["scaling_activities"]
    assert told(unread) == said
    fresh = degraded(10)
    fresh["aws"]["scaling_activities"] = [refused_launch("not have sufficient")]
    assert told(fresh) == [("no-capacity", POOL, ["not have sufficient Launching"])]


@pytest.mark.parametrize(
    ("claims", "events", "said"),
    [
        ([claim()], [], ("launch-denied", "gpu-a", [f"LaunchFailed: {DENIED}"])),
        ([claim(minute=0)], [], ("launch-denied", "gpu-a", [f"LaunchFailed: {DENIED}"])),
        ([claim(minute=-1)], [], None),
        (
            [claim(message="odd")],
            [],
            ("unknown", POOL, ["1 of 2 expected instances are there; Karpenter says: odd"]),
        ),
        (
            [],
            [event("NodePool", "gpu", "InsufficientCapacityError", DENIED)],
            ("launch-denied", "gpu", [f"InsufficientCapacityError: {DENIED}"]),
        ),
        (
            [],
            [event("Pod", "train", "FailedScheduling", f"NodeClaim: {DENIED}")],
            ("launch-denied", "train", [f"FailedScheduling: NodeClaim: {DENIED}"]),
        ),
        ([], [event("Pod", "train", "FailedScheduling", DENIED)], None),
        ([], [event("Job", "train", "LaunchFailed", DENIED)], None),
        ([], [event("NodeClaim", "gpu-a", "LaunchFailed", "odd")], None),
    ],
)
def test_karpenter_s_refusals_are_told_by_what_they_are_about(
    claims: list[Document], events: list[Document], said: tuple[str, str, list[str]] | None
) -> None:
    document = one_missing()
    document["kubernetes"]["nodeclaims"] = claims
    document["kubernetes"]["events"] = events
    unknown = ("unknown", POOL, ["1 of 2 expected instances are there"])
    assert told(document) == [said or unknown]


def test_the_refusal_of_a_claim_that_was_launched_after_all_is_history_and_another_s_is_not() -> None:
    document = one_missing(now=2)
    leave(document, 0)
    document["expected"]["nodes"] = 3
    document["aws"]["instances"] = []
    document["kubernetes"]["nodeclaims"] = [claim("True", "gpu-a"), claim("False", "gpu-b", minute=-9)]
    document["kubernetes"]["events"] = [
        event("NodeClaim", name, "LaunchFailed", DENIED, 0.5) for name in ("gpu-a", "gpu-b")
    ]

    found = judge(document)

    assert [(each.cause.name, each.objects) for each in found.findings] == [("launch-denied", ("gpu-b",))]
    assert [(each.stage.label, each.about) for each in found.in_progress] == [("node-join", "i-new")]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, [f"quota L-DB2E81BA is {3} vCPUs, but 8 are needed"]),
        (7, ["quota L-DB2E81BA is 7 vCPUs, but 8 are needed"]),
        (8, None),
    ],
)
def test_a_quota_that_is_one_vcpu_short_is_too_small(value: int, said: list[str] | None) -> None:
    document = one_missing()
    document["aws"]["quotas"] = [
        {"QuotaCode": "L-417A185B", "Value": 0.0},
        {"QuotaCode": "L-DB2E81BA", "Value": float(value)},
    ]
    assert [evidence for cause, _, evidence in told(document) if cause == "vcpu-quota"] == (
        [said] if said else []
    )


@pytest.mark.parametrize(
    ("subnet", "free", "mine", "about"),
    [
        ("subnet-1", 0, ["subnet-1"], "subnet-1"),
        ("subnet-1", 1, ["subnet-1"], None),
        ("subnet-2", 0, ["subnet-1"], None),
        ("subnet-2", 0, None, "subnet-2"),
        ("", 0, None, POOL),
    ],
)
def test_a_subnet_of_the_group_without_an_address_is_blamed(
    subnet: str, free: int, mine: list[str] | None, about: str | None
) -> None:
    document = one_missing()
    document["aws"]["nodegroup"]["subnets"] = mine
    document["aws"]["subnets"] = [{"SubnetId": subnet, "AvailableIpAddressCount": free}]
    blamed = [("no-addresses", about, [f"{subnet or about} has 0 available addresses"])] if about else []
    assert [each for each in told(document) if each[0] == "no-addresses"] == blamed
