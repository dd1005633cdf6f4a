"""The network between nodes: which rules let ranks meet, how long they may take, and bandwidth that is held down."""

from typing import Any

from tests.snapshots import NODES, Document, at, event, healthy
from tests.unit.diagnosis.ranks import BLOCKED, JOB, ranks
from tests.unit.diagnosis.table import SECOND, given, table

CLOSED = "no rule of {} lets a node reach another on port 29500/tcp"
SILENT = "2 pods run and print no result"
TO_ITSELF = {"UserIdGroupPairs": [{"GroupId": "sg-node"}]}


def tcp(low: int | None, high: int | None, protocol: str = "tcp", **peers: Any) -> Document:
    return {"IpProtocol": protocol, "FromPort": low, "ToPort": high, **(peers or TO_ITSELF)}


def let_in(rule: Document) -> Document:
    document = ranks("", "")
    document["aws"]["security_groups"][0]["IpPermissions"] = [tcp(22, 22), rule]
    return document


test_ranks_meet_where_a_rule_covers_their_port_and_their_nodes = table(
    *((f"by {rule['IpProtocol']} {rule['FromPort']} to {rule['ToPort']} {[*rule][3:]}", let_in(rule), []) for rule in (
        tcp(29500, 29500), tcp(29500, 29501), tcp(29499, 29500), tcp(0, 65535, "6"), tcp(None, None, "-1"),
        tcp(0, 65535, IpRanges=[{"CidrIp": "10.0.0.0/8"}]), tcp(0, 65535, PrefixListIds=[{"PrefixListId": "pl-1"}]))),
    *((f"not by {rule['IpProtocol']} {rule['FromPort']} to {rule['ToPort']} from {[*rule.values()][3]}", let_in(rule),
     [BLOCKED])
      for rule in (
        tcp(29501, 65535), tcp(0, 29499), tcp(None, 65535), tcp(0, None), tcp(0, 65535, "udp"),
        tcp(0, 65535, UserIdGroupPairs=[{"GroupId": "sg-other"}]), tcp(0, 65535, UserIdGroupPairs=[]))),
)  # fmt: skip


def groups(names: list[str], attached: list[str]) -> Document:
    document = given(
        ranks("", ""), security_groups=[{"GroupId": name, "IpPermissions": []} for name in names]
    )
    for each in document["aws"]["instances"]:
        each["SecurityGroups"] = [{"GroupId": name} for name in attached]
    return document


test_the_groups_of_the_instances_count_and_all_where_those_are_not_named = table(
    *((f"{names} of {attached}", groups(names, attached), [(*JOB, SILENT, CLOSED.format(blamed))])
      for names, attached, blamed in (
        (["sg-b", "sg-a"], ["sg-b", "sg-a"], "sg-a, sg-b"),
        (["sg-a", "sg-other"], ["sg-a"], "sg-a"),
        (["sg-b", "sg-a"], [], "sg-a, sg-b"))),
    ("none where that of the instances was not read", groups(["sg-other"], ["sg-a"]), []),
    ("none where none was read", groups([], ["sg-a"]), []),
)  # fmt: skip


LATE = 13 + SECOND
CLOSED_HERE = [(*JOB, SILENT, CLOSED.format("sg-node"))]


def early() -> Document:
    document = ranks("", "", closed=True, now=4, minute=-10)
    for each in document["kubernetes"]["nodes"][1:]:
        each["status"]["conditions"][0]["lastTransitionTime"] = at(0)
    return document


def late() -> Document:
    document = ranks("", "", closed=True, now=LATE)
    document["kubernetes"]["pods"][-1]["metadata"]["creationTimestamp"] = at(11)
    return document


test_ranks_may_take_to_meet = table(
    ("three minutes", ranks("", "", closed=True, now=13), []),
    ("and not a second more", ranks("", "", closed=True, now=LATE), CLOSED_HERE),
    ("since the last one was created", late(), []),
    ("and not from before the expectation", early(), [BLOCKED]),
)  # fmt: skip


def held_down(*reasons: str, minute: float = 5) -> Document:
    events = [event("Node", NODES[0], reason, f"of {reason}", minute + n) for n, reason in enumerate(reasons)]
    return given(healthy(), more={"events": events})


test_bandwidth_is_held_down = table(
    ("the last word is said", held_down("BandwidthInExceeded", "BandwidthOutExceeded", "Starting"),
     [("bandwidth-throttled", NODES[0], f"{NODES[0]}: BandwidthOutExceeded: of BandwidthOutExceeded")]),
    ("of incoming packets too", held_down("BandwidthInExceeded"), ["bandwidth-throttled"]),
    ("not from before the expectation", held_down("BandwidthInExceeded", minute=-5), []),
)  # fmt: skip
