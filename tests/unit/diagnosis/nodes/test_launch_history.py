"""Refused launches: which later launches make a refusal history, and which do not."""

import pytest

from tests.diagnosis_cases import one_missing
from tests.snapshots import POOL, Document, activity, event, refused_launch, told

DENIED = "UnauthorizedOperation: denied"


def unread(*activities: Document) -> Document:
    """One of two nodes is missing, and the instances were not read."""
    document = one_missing()
    del document["aws"]["instances"]
    document["aws"]["scaling_activities"] = [*activities]
    return document


@pytest.mark.parametrize(
    ("activities", "cause"),
    [
        ([refused_launch(minute=1), activity("", "InProgress", 2)], "launch-denied"),
        ([refused_launch(minute=1), refused_launch("odd", minute=2)], "launch-denied"),
        ([refused_launch(StartTime=None), activity("", "Successful", 2)], "launch-denied"),
        ([refused_launch(minute=1), {**activity("", "Successful"), "StartTime": None}], "launch-denied"),
        ([refused_launch(minute=1), activity("", "Successful", 2)], "unknown"),
        (
            [
                refused_launch(minute=1),
                activity("", "Successful", 2),
                refused_launch("not have sufficient", minute=3),
            ],
            "no-capacity",
        ),
    ],
)
def test_only_a_launch_that_came_later_makes_a_refusal_history(
    activities: list[Document], cause: str
) -> None:
    assert [cause for cause, _, _ in told(unread(*activities))] == [cause]


@pytest.mark.parametrize(("minute", "quoted"), [(0, True), (-1 / 60, False)])
def test_a_refusal_that_no_rule_knows_is_quoted_since_the_expectation_began(
    minute: float, *, quoted: bool
) -> None:
    document = one_missing()
    document["aws"]["scaling_activities"] = [refused_launch("odd", minute=minute)]
    more = "; AWS says: odd Launching" if quoted else ""
    assert told(document) == [("unknown", POOL, [f"1 of 2 expected instances are there{more}"])]


def test_what_was_launched_or_says_nothing_is_not_quoted() -> None:
    document = one_missing()
    document["aws"]["scaling_activities"] = [
        refused_launch("odd", minute=1),
        refused_launch("", minute=2, Description=""),
        refused_launch("came", "Successful", minute=3),
    ]
    assert told(document) == [
        ("unknown", POOL, ["1 of 2 expected instances are there; AWS says: odd Launching"])
    ]


def test_a_claim_that_was_launched_hides_no_refusal_of_the_next() -> None:
    def claim(name: str, status: str) -> Document:
        launched = {"type": "Launched", "status": status, "reason": "LaunchFailed", "message": DENIED}
        return {"metadata": {"name": name}, "status": {"conditions": [launched]}}

    document = one_missing()
    document["expected"]["nodes"] = 3
    document["kubernetes"]["nodeclaims"] = [claim("gpu-a", "True"), claim("gpu-b", "False")]
    assert told(document)[0] == ("launch-denied", "gpu-b", [f"LaunchFailed: {DENIED}"])


def test_a_type_that_nobody_knows_has_no_quota_that_could_be_too_small() -> None:
    document = one_missing()
    document["expected"]["instance_type"] = "odd.xlarge"
    document["aws"]["quotas"] = [{"QuotaCode": "L-DB2E81BA", "Value": 0.0}]
    assert [cause for cause, _, _ in told(document)] == ["unknown"]


def test_a_quota_without_a_value_is_not_too_small() -> None:
    document = one_missing()
    document["aws"]["quotas"] = [{"QuotaCode": "L-DB2E81BA"}, {"QuotaCode": "L-DB2E81BA", "Value": 7.0}]
    assert told(document) == [("vcpu-quota", POOL, ["quota L-DB2E81BA is 7 vCPUs, but 8 are needed"])]


def test_an_event_of_something_else_hides_no_refusal_of_a_claim() -> None:
    document = one_missing()
    document["kubernetes"]["events"] = [
        event("Job", "train", "LaunchFailed", DENIED),
        event("NodeClaim", "gpu-a", "LaunchFailed", DENIED),
    ]
    assert told(document) == [("launch-denied", "gpu-a", [f"LaunchFailed: {DENIED}"])]


def test_where_nodes_were_not_read_and_no_instance_runs_the_missing_ones_are_said_alone() -> None:
    document = one_missing()
    del document["kubernetes"]["nodes"]
    document["aws"]["instances"] = []
    document["aws"]["scaling_activities"] = [refused_launch(minute=1)]
    assert told(document) == [("launch-denied", POOL, [f"{DENIED} Launching"])]
