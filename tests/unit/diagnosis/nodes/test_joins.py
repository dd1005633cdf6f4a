"""Instances that run and are not nodes: which finding they get, and how long a join may take."""

from typing import Any

from tests.diagnosis_cases import leave, one_missing
from tests.snapshots import INSTANCES, NODES, POOL, Document, healthy, instance, refused_launch
from tests.unit.diagnosis.table import SECOND, UNREAD, given, table

NOT_JOINED = {"code": "NodeCreationFailure", "message": "no", "resourceIds": [INSTANCES[1]]}
REFUSED = "UnauthorizedOperation: denied Launching"
BY_HEALTH = [("node-not-joined", POOL, "NodeCreationFailure: no")]


def unjoined(now: float, **parts: Any) -> Document:
    """The second instance of two runs and is no node."""
    document = healthy(now=now)
    leave(document, 1)
    return given(document, **parts)


def runs(minutes: str, *more: str, about: str = INSTANCES[1]) -> tuple[str, ...]:
    return ("node-not-joined", about, f"{about} has been running for {minutes} and is not a node", *more)


def named(resources: Any) -> list[Document]:
    return [{**NOT_JOINED, "resourceIds": resources}]


def whole(*instances: Document, now: float = 20, nodes: int = 2, **parts: Any) -> Document:
    """Both nodes are there, and these instances as well."""
    return given(healthy(now=now), more={"instances": instances}, expected={"nodes": nodes}, **parts)


def another(name: str, minute: float = 0.5) -> Document:
    return {**instance(0, minute), "InstanceId": name}


def nothing_read(*activities: Document, **parts: Any) -> Document:
    return given(healthy(), kubernetes={}, instances=UNREAD, scaling_activities=[*activities], **parts)


test_an_instance_may_take_to_join = table(
    ("five minutes", unjoined(5.5), [("node-join", INSTANCES[1], "11:00:30")]),
    ("and not a second more", unjoined(5.5 + SECOND), [runs("5 minutes")]),
    ("not so long where the group names the instance", unjoined(2, issues=[NOT_JOINED]),
     [runs("1 minute", "NodeCreationFailure: no")]),
    ("the group's words count for a late one that it does not name", unjoined(20, issues=named([INSTANCES[0]])),
     [runs("19 minutes", "NodeCreationFailure: no")]),
    ("and for a young one only where they name it", unjoined(2, issues=named("odd")),
     [("node-join", INSTANCES[1], "11:00:30")]),
    ("since the expectation where nobody says since when",
     unjoined(5, instances=[instance(0), {"InstanceType": "g5.xlarge"}]), [("node-join", "EC2 instance", "11:00:00")]),
    ("a young one hides no old one, and after an hour minutes are still minutes",
     whole(another("i-young", 58), another("i-old"), now=60, nodes=4),
     [runs("59 minutes", about="i-old"), ("node-join", "i-young")]),
    ("a young one is not blamed because the group names another",
     whole(another("i-young", 19), nodes=3, issues=named([INSTANCES[0]])), [("node-join", "i-young")]),
)  # fmt: skip


test_instances_are_counted_as_nodes = table(
    ("an instance is a node by its id or by its name",
     given(healthy(), instances=[{**another("i-other"), "PrivateDnsName": NODES[0]}, instance(1), instance(1)]), []),
    ("no more are blamed than nodes are missing", unjoined(20, more={"instances": [another("i-0aaaaaaaaaaaaaaa3")]}),
     [("node-not-joined", INSTANCES[1])]),
    ("none where none is missing",
     unjoined(20, more={"instances": [another("i-0aaaaaaaaaaaaaaa3")]}, expected={"nodes": 1}), []),
    ("none where more nodes are there than are expected", whole(*map(another, ("i-a", "i-b", "i-c")), nodes=1), []),
)  # fmt: skip


test_nodes_that_never_joined_are_blamed_on_the_group = table(
    ("once they are late", given(one_missing(5 + SECOND), issues=[NOT_JOINED, {"code": "Odd"}]), BY_HEALTH),
    ("and not before", given(one_missing(5), issues=[NOT_JOINED, {"code": "Odd"}]),
     [("unknown", POOL, "1 of 2 expected instances are there; AWS says: Odd")]),
    ("where nodes were not read", given(healthy(), nodes=UNREAD, issues=[NOT_JOINED]), BY_HEALTH),
    ("else it is said what was not read", given(healthy(), nodes=UNREAD, issues=[]),
     [("unknown", POOL, "2 of 2 instances run, but it was not read whether they became nodes",
       "not read: kubernetes.nodes")]),
    ("also where nothing of the cluster was read", given(healthy(), kubernetes={}),
     [("unknown", POOL, "2 of 2 instances run, but it was not read whether they became nodes",
       "not read: kubernetes.nodes")]),
    ("where neither nodes nor instances were read", nothing_read(),
     [("unknown", POOL, "it was not read whether the 2 expected nodes are there",
       "not read: kubernetes.nodes, aws.instances")]),
    ("a refusal still counts there", nothing_read(refused_launch()), [("launch-denied", POOL, REFUSED)]),
    ("and so does the health of the group", nothing_read(issues=[NOT_JOINED]), BY_HEALTH),
    ("unless nothing is expected", nothing_read(refused_launch(), expected={"nodes": 0}), []),
    ("nothing expected is nothing missing",
     given(healthy(), expected={"nodes": 0}, nodes=[], pods=[], instances=[]), []),
)  # fmt: skip
