"""Instances that run and are not nodes: which finding they get, and how long a join may take."""

from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot, diagnose
from tests.diagnosis_cases import leave, one_missing
from tests.snapshots import (
    INSTANCES,
    NODES,
    POOL,
    Document,
    healthy,
    instance,
    judge,
    refused_launch,
    told,
    under_way,
)

SECOND = 1 / 60

DENIED = "UnauthorizedOperation: denied"

NOT_JOINED = {"code": "NodeCreationFailure", "message": "no", "resourceIds": [INSTANCES[1]]}


def unjoined(now: float, **aws: Any) -> Document:
    document = healthy(now=now)
    leave(document, 1)
    document["aws"]["nodegroup"] |= aws
    return document


def test_an_instance_may_take_five_minutes_to_join() -> None:
    assert under_way(unjoined(5.5)) == [("node-join", INSTANCES[1], "11:00:30")]
    assert told(unjoined(5.5 + SECOND)) == [
        (
            "node-not-joined",
            INSTANCES[1],
            [f"{INSTANCES[1]} has been running for 5 minutes and is not a node"],
        )
    ]


def test_an_instance_that_the_group_names_does_not_join_however_young_it_is() -> None:
    early = unjoined(2, health={"issues": [NOT_JOINED]})
    late = unjoined(20, health={"issues": [{**NOT_JOINED, "resourceIds": [INSTANCES[0]]}]})
    other = unjoined(2, health={"issues": [{**NOT_JOINED, "resourceIds": "odd"}]})

    assert told(early) == [
        (
            "node-not-joined",
            INSTANCES[1],
            [f"{INSTANCES[1]} has been running for 1 minute and is not a node", "NodeCreationFailure: no"],
        )
    ]
    assert told(late)[0][2] == [
        f"{INSTANCES[1]} has been running for 19 minutes and is not a node",
        "NodeCreationFailure: no",
    ]
    assert under_way(other) == [("node-join", INSTANCES[1], "11:00:30")]


def test_an_instance_is_a_node_by_its_id_or_by_its_name() -> None:
    document = healthy()
    document["aws"]["instances"] = [
        {**instance(0), "InstanceId": "i-other", "PrivateDnsName": NODES[0]},
        instance(1),
        instance(1),
    ]
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


def test_no_more_instances_are_blamed_than_nodes_are_missing() -> None:
    document = unjoined(20)
    document["aws"]["instances"] += [{**instance(0), "InstanceId": "i-0aaaaaaaaaaaaaaa3"}]
    assert [about for _, about, _ in told(document)] == [INSTANCES[1]]
    document["expected"]["nodes"] = 1
    assert told(document) == []


def test_an_instance_without_a_name_or_a_time_is_as_old_as_the_expectation() -> None:
    document = unjoined(5)
    document["aws"]["instances"][1] = {"InstanceType": "g5.xlarge"}
    assert under_way(document) == [("node-join", "EC2 instance", "11:00:00")]


def test_nodes_that_never_joined_are_blamed_on_the_group_once_they_are_late() -> None:
    def gone(now: float) -> Document:
        document = one_missing(now)
        document["aws"]["nodegroup"]["health"]["issues"] = [NOT_JOINED, {"code": "Odd"}]
        return document

    assert told(gone(5 + SECOND)) == [("node-not-joined", POOL, ["NodeCreationFailure: no"])]
    assert told(gone(5)) == [("unknown", POOL, ["1 of 2 expected instances are there; AWS says: Odd"])]


@pytest.mark.parametrize(
    ("issues", "said"),
    [
        (
            [],
            (
                "unknown",
                POOL,
                [
                    "2 of 2 instances run, but it was not read whether they became nodes",
                    "not read: kubernetes.nodes",
                ],
            ),
        ),
        ([NOT_JOINED], ("node-not-joined", POOL, ["NodeCreationFailure: no"])),
    ],
)
def test_where_nodes_were_not_read_the_instances_are_counted(
    issues: list[Document], said: tuple[str, str, list[str]]
) -> None:
    document = healthy()
    del document["kubernetes"]["nodes"]
    document["aws"]["nodegroup"]["health"]["issues"] = issues
    assert told(document)[0] == said


def test_where_neither_nodes_nor_instances_were_read_refusals_and_health_still_count() -> None:
    def unread(*activities: Document, issues: tuple[Document, ...] = ()) -> Document:
        document = healthy()
        document["kubernetes"] = {}
        del document["aws"]["instances"]
        document["aws"]["scaling_activities"] = [*activities]
        document["aws"]["nodegroup"]["health"]["issues"] = [*issues]
        return document

    assert told(unread()) == [
        (
            "unknown",
            POOL,
            [
                "it was not read whether the 2 expected nodes are there",
                "not read: kubernetes.nodes, aws.instances",
            ],
        )
    ]
    assert told(unread(refused_launch())) == [("launch-denied", POOL, [f"{DENIED} Launching"])]
    assert told(unread(issues=(NOT_JOINED,))) == [("node-not-joined", POOL, ["NodeCreationFailure: no"])]
    nothing = unread(refused_launch())
    nothing["expected"]["nodes"] = 0
    assert diagnose(Snapshot.read(nothing)).findings == ()
