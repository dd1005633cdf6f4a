"""The content of a snapshot: which nodes, instances and pods are in scope, and how odd values are read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot
from lamplighter.domain.diagnosis.document import at, doc, docs, instant, number, text
from lamplighter.errors import BadInput
from tests.snapshots import POOL, Document, healthy, pod
from tests.snapshots import at as minute

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

KIND = "node.kubernetes.io/instance-type"

GROUP = "eks.amazonaws.com/nodegroup"


def snapshot(group: str = POOL, pool: str = POOL, **kubernetes: Any) -> Snapshot:
    return Snapshot.read(
        {
            "now": minute(20),
            "expected": {"pool": pool, "instance_type": "g5.xlarge", "nodes": 1, "since": minute(0)},
            "aws": {"nodegroup": {"nodegroupName": group}} if group else {},
            "kubernetes": kubernetes,
        }
    )


@pytest.mark.parametrize(("named", "pool", "labels", "mine"), [
    (POOL, POOL, {GROUP: POOL}, True),
    ("group", "pool", {GROUP: "group"}, True),
    ("group", "pool", {GROUP: "pool"}, True),
    ("group", "pool", {"karpenter.sh/nodepool": "pool"}, True),
    ("group", "pool", {"alpha.eksctl.io/nodegroup-name": "pool"}, True),
    ("group", "pool", {GROUP: "other", KIND: "g5.xlarge"}, False),
    ("group", "pool", {GROUP: "lab-ng-pool", KIND: "g5.xlarge"}, False),
    ("", "pool", {GROUP: "lab-ng-pool"}, True),
    ("", "pool", {GROUP: "pool-2"}, False),
    ("", "pool", {GROUP: "other", KIND: "g5.xlarge"}, True),
    ("", "", {GROUP: "lab-"}, False),
    ("group", "pool", {KIND: "g5.xlarge"}, True),
    ("group", "pool", {KIND: "t3.medium"}, False),
    ("group", "pool", {}, True),
])  # fmt: skip
def test_a_node_is_the_pool_s_by_its_group_or_else_by_its_type(
    named: str, pool: str, labels: dict[str, str], *, mine: bool
) -> None:
    found = snapshot(named, pool, nodes=[{"metadata": {"name": "a", "labels": labels}}])
    assert [node.name for node in found.nodes] == (["a"] if mine else [])


@pytest.mark.parametrize(("kind", "mine"), [("g5.xlarge", True), ("g6.xlarge", True), ("g6e.xlarge", False)])
def test_nodes_instances_and_pods_of_each_type_are_the_pool_s(kind: str, *, mine: bool) -> None:
    document = {
        "now": minute(20),
        "expected": {
            "pool": "gpu",
            "instance_type": "g5.xlarge",
            "instance_types": ["g5.xlarge", "g6.xlarge", 1],
            "nodes": 1,
            "since": minute(0),
        },
        "aws": {"instances": [{"InstanceId": "i-1", "InstanceType": kind}]},
        "kubernetes": {"nodes": [{"metadata": {"name": "a", "labels": {KIND: kind}}}]},
    }

    found = Snapshot.read(document)

    assert [node.name for node in found.nodes] == (["a"] if mine else [])
    assert len(found.instances) == int(mine)


@pytest.mark.parametrize(
    ("group", "names", "ours"), [("", ["theirs"], "theirs"), (POOL, ["theirs"], ""), ("", ["a", "b"], "")]
)
def test_the_only_node_pool_is_the_pool_s_where_it_has_no_group(
    group: str, names: list[str], ours: str
) -> None:
    found = snapshot(group, nodepools=[{"metadata": {"name": name}} for name in names])
    assert found.node_pool.name == ours


def test_a_claim_of_a_strange_node_pool_is_the_pool_s_by_the_types_that_it_may_get() -> None:
    claims = [
        {
            "metadata": {"name": kind, "labels": {"karpenter.sh/nodepool": "theirs"}},
            "spec": {"requirements": [{"key": KIND, "values": [kind, "g6.xlarge"]}]},
        }
        for kind in ("g5.xlarge", "g4dn.xlarge")
    ]
    assert [claim.name for claim in snapshot("", nodeclaims=claims).claims] == ["g5.xlarge"]


def test_a_node_that_is_being_deleted_or_has_no_name_is_none() -> None:
    leaving = {"metadata": {"name": "a", "deletionTimestamp": minute(1)}}
    assert [node.name for node in snapshot(nodes=[leaving, {}, {"metadata": {"name": "b"}}]).nodes] == ["b"]


@pytest.mark.parametrize(("named", "item", "mine"), [
    (POOL, {}, True),
    (POOL, {"State": {"Name": "pending"}}, True),
    (POOL, {"State": "running"}, True),
    (POOL, {"State": {"Name": "terminated"}}, False),
    (POOL, {"InstanceType": "g5.xlarge"}, True),
    (POOL, {"InstanceType": "t3.medium"}, False),
    (POOL, {"Tags": [{"Key": "eks:nodegroup-name", "Value": POOL}], "InstanceType": "t3.medium"}, True),
    (POOL, {"Tags": [{"Key": "karpenter.sh/nodepool", "Value": "other"}], "InstanceType": "g5.xlarge"}, False),
    ("group", {"Tags": [{"Key": "eks:nodegroup-name", "Value": "lab-" + POOL}]}, False),
    ("", {"Tags": [{"Key": "eks:nodegroup-name", "Value": "lab-" + POOL}]}, True),
    ("", {"Tags": [{"Key": "eks:nodegroup-name", "Value": "lab-other"}]}, False),
])  # fmt: skip
def test_an_instance_is_the_pool_s_by_its_tag_or_else_by_its_type_while_it_lives(
    named: str, item: Document, *, mine: bool
) -> None:
    document = {
        "now": minute(20),
        "expected": {"pool": POOL, "instance_type": "g5.xlarge", "nodes": 1, "since": minute(0)},
        "aws": {
            "instances": [{"Instances": [item]}, item],
            **({"nodegroup": {"nodegroupName": named}} if named else {}),
        },
    }
    assert Snapshot.read(document).instances == ([item, item] if mine else [])


@pytest.mark.parametrize(("named", "selector", "mine"), [
    (POOL, {}, True),
    (POOL, {"zone": "a"}, True),
    (POOL, {KIND: "g5.xlarge"}, True),
    (POOL, {KIND: "t3.medium"}, False),
    (POOL, {GROUP: POOL}, True),
    (POOL, {GROUP: "other"}, False),
    (POOL, {"karpenter.sh/nodepool": "other"}, False),
    (POOL, {GROUP: f"lab-{POOL}"}, False),
    ("", {GROUP: f"lab-{POOL}"}, True),
    ("", {GROUP: "lab-other"}, False),
])  # fmt: skip
def test_a_pod_asks_here_unless_its_selector_sends_it_to_another_pool(
    named: str, selector: dict[str, str], *, mine: bool
) -> None:
    item = pod("train", "lab", None, gpus=1, phase="Pending")
    item["spec"]["nodeSelector"] = selector
    assert [each.name for each in snapshot(named, pods=[item]).pods] == (["train"] if mine else [])


def test_pods_in_scope_ask_for_gpus_or_are_nvidia_s_and_stand_on_the_pool_s_nodes() -> None:
    def placed(name: str, node: str, **more: Any) -> Document:
        item = pod(name, "lab", None, **more)
        item["spec"]["nodeName"] = node
        return item

    leaving = placed("leaving", "a", gpus=1)
    leaving["metadata"]["deletionTimestamp"] = minute(1)
    pods = [
        placed("mine", "a", gpus=1),
        placed("elsewhere", "b", gpus=1),
        placed("nvidia-dcgm-1", "a"),
        placed("nvidia-dcgm-2", "b"),
        placed("web", "a"),
        placed("", "a", gpus=1),
        leaving,
    ]
    read = snapshot(nodes=[{"metadata": {"name": "a"}}], pods=pods)
    assert [each.name for each in read.pods] == ["mine", "nvidia-dcgm-1"]
    assert [each.name for each in read.pods_on(read.nodes[0])] == ["mine", "nvidia-dcgm-1"]
    unread = snapshot(pods=pods)
    assert [each.name for each in unread.pods] == ["mine", "elsewhere", "nvidia-dcgm-1", "nvidia-dcgm-2"]


def test_logs_are_found_by_pod_by_container_and_by_whatever_stands_below_the_pod() -> None:
    document = healthy(nodes=1)
    keys = ("lab/train-0", "lab/train-0/main", "lab/train-0/other", "lab/train-00", "odd")
    document["logs"] = {key: f"of {key}" for key in keys}
    document["logs_previous"] = {"lab/train-0/other": "before"}
    read = Snapshot.read(document)
    work = next(each for each in read.pods if each.name == "train-0")

    assert read.logs(work) == "of lab/train-0\nof lab/train-0/main"
    assert read.logs(work, previous=True) == "before"
    assert read.logs(next(each for each in read.pods if each.name == "train-waits")) == ""


@pytest.mark.parametrize(("change", "said"), [
    ({"now": "soon"}, "now: it is no instant"),
    ({"expected": {"since": "soon"}}, "expected.since: it is no instant"),
    ({"expected": {"since": minute(0), "nodes": -1}}, "expected.nodes: it is no number of nodes"),
    ({"expected": {"since": minute(0), "nodes": True}}, "expected.nodes: it is no number of nodes"),
    ({"expected": None}, "expected: it is missing"),
    ({"aws": []}, "aws: it is no JSON object, write one with lists such as scaling_activities"),
    ({"kubernetes": {"nodes": "x"}}, "kubernetes.nodes: it is no list"),
    ({"logs": []}, "logs: it is no JSON object"),
    ({"logs_previous": "x"}, "logs_previous: it is no JSON object"),
])  # fmt: skip
def test_a_snapshot_whose_frame_is_not_ours_names_the_key(change: Document, said: str) -> None:
    with pytest.raises(BadInput, match=said.replace(".", r"\.")):
        Snapshot.read({**healthy(), **change})


@pytest.mark.parametrize(("expected", "gpus"), [
    ({"instance_type": "g5.12xlarge"}, 4),
    ({"instance_type": "odd"}, 1),
    ({"instance_type": "g5.12xlarge", "gpus_per_node": 2}, 2),
    ({"instance_type": "g5.12xlarge", "gpus_per_node": 0}, 0),
])  # fmt: skip
def test_gpus_are_expected_as_said_or_as_the_type_has_them(expected: Document, gpus: int) -> None:
    document = healthy()
    document["expected"] = {"since": minute(0), "nodes": 0, **expected}
    read = Snapshot.read(document)
    assert (read.gpus_per_node, read.wanted_nodes) == (gpus, 0)


def test_a_pool_is_called_by_its_group_by_its_name_or_by_neither() -> None:
    assert [snapshot(group, pool).name for group, pool in (("g", "p"), ("", "p"), ("", ""))] == [
        "g",
        "p",
        "GPU pool",
    ]


@pytest.mark.parametrize(("found", "whole"), [
    (7, 7),
    (-7, -7),
    ("12", 12),
    ("9" * 12, 10**12 - 1),
    ("9" * 13, None),
    (8.9, 8),
    (float("inf"), None),
    (True, None),
    ("-1", None),
    ("٣", None),
    ("", None),
    (None, None),
])  # fmt: skip
def test_a_number_is_read_as_one_or_as_text(found: object, whole: int | None) -> None:
    assert number({"a": found}, "a") == whole


@pytest.mark.parametrize(("found", "read"), [
    ("2026-11-20T12:00:00Z", NOON),
    ("2026-11-20T12:00:00", NOON),
    ("2026-11-20T21:00:00+09:00", NOON),
    (NOON.timestamp(), NOON),
    (int(NOON.timestamp()), NOON),
    (True, None),
    ("noon", None),
    (1e300, None),
    ([], None),
])  # fmt: skip
def test_an_instant_is_read_as_text_or_as_seconds(found: object, read: datetime | None) -> None:
    assert instant({"a": found}, "a") == read


def test_what_is_not_of_its_kind_reads_as_nothing() -> None:
    odd = {"a": ["x", {"b": 1}], "c": "text", "t": ({"b": 2}, 3)}

    assert (at(odd, "a", "b"), at(odd, "c", "b"), at(None, "a")) == (None, None, None)
    assert (doc(odd, "a"), doc(odd, "c")) == ({}, {})
    assert (docs(odd, "a"), docs(odd, "t"), docs(odd, "c"), docs(odd, "x")) == (
        [{"b": 1}],
        [{"b": 2}],
        [],
        [],
    )
    assert (text(odd, "c"), text(odd, "a")) == ("text", "")
