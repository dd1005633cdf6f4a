"""What a snapshot holds: whose nodes, instances and pods are in scope, what was not read, and what a text says when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot
from lamplighter.domain.diagnosis.brief import in_brief
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.diagnosis.document import at, doc, docs, instant, number, text
from lamplighter.domain.diagnosis.events import events_by_object
from lamplighter.domain.diagnosis.findings import Diagnosis, Finding, Gathered, InProgress
from lamplighter.domain.diagnosis.stages import Stage
from lamplighter.domain.diagnosis.symptoms import condition_xid, lost, symptom, xids
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


@pytest.mark.parametrize(
    ("named", "pool", "labels", "mine"),
    [
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
    ],
)
def test_a_node_is_the_pool_s_by_its_group_or_else_by_its_type(
    named: str, pool: str, labels: dict[str, str], *, mine: bool
) -> None:
    found = snapshot(named, pool, nodes=[{"metadata": {"name": "a", "labels": labels}}])
    assert [node.name for node in found.nodes] == (["a"] if mine else [])


def test_a_node_that_is_being_deleted_or_has_no_name_is_none() -> None:
    leaving = {"metadata": {"name": "a", "deletionTimestamp": minute(1)}}
    assert [node.name for node in snapshot(nodes=[leaving, {}, {"metadata": {"name": "b"}}]).nodes] == ["b"]


@pytest.mark.parametrize(
    ("named", "item", "mine"),
    [
        (POOL, {}, True),
        (POOL, {"State": {"Name": "pending"}}, True),
        (POOL, {"State": "running"}, True),
        (POOL, {"State": {"Name": "terminated"}}, False),
        (POOL, {"InstanceType": "g5.xlarge"}, True),
        (POOL, {"InstanceType": "t3.medium"}, False),
        (
            POOL,
            {"Tags": [{"Key": "eks:nodegroup-name", "Value": POOL}], "InstanceType": "t3.medium"},
            True,
        ),
        (
            POOL,
            {"Tags": [{"Key": "karpenter.sh/nodepool", "Value": "other"}], "InstanceType": "g5.xlarge"},
            False,
        ),
        ("group", {"Tags": [{"Key": "eks:nodegroup-name", "Value": "lab-" + POOL}]}, False),
        ("", {"Tags": [{"Key": "eks:nodegroup-name", "Value": "lab-" + POOL}]}, True),
        ("", {"Tags": [{"Key": "eks:nodegroup-name", "Value": "lab-other"}]}, False),
    ],
)
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


@pytest.mark.parametrize(
    ("named", "selector", "mine"),
    [
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
    ],
)
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"now": "soon"}, "now: it is no instant"),
        ({"expected": {"since": "soon"}}, "expected.since: it is no instant"),
        ({"expected": {"since": minute(0), "nodes": -1}}, "expected.nodes: it is no number of nodes"),
        ({"expected": {"since": minute(0), "nodes": True}}, "expected.nodes: it is no number of nodes"),
        ({"expected": None}, "expected: it is missing"),
        ({"aws": []}, "aws: it is no JSON object, write one with lists such as scaling_activities"),
        ({"kubernetes": {"nodes": "x"}}, "kubernetes.nodes: it is no list"),
        ({"logs": []}, "logs: it is no JSON object"),
        ({"logs_previous": "x"}, "logs_previous: it is no JSON object"),
    ],
)
def test_a_snapshot_whose_frame_is_not_ours_names_the_key(change: Document, said: str) -> None:
    with pytest.raises(BadInput, match=said.replace(".", r"\.")):
        Snapshot.read({**healthy(), **change})


@pytest.mark.parametrize(
    ("expected", "gpus"),
    [
        ({"instance_type": "g5.12xlarge"}, 4),
        ({"instance_type": "odd"}, 1),
        ({"instance_type": "g5.12xlarge", "gpus_per_node": 2}, 2),
        ({"instance_type": "g5.12xlarge", "gpus_per_node": 0}, 0),
    ],
)
def test_gpus_are_expected_as_said_or_as_the_type_has_them(expected: Document, gpus: int) -> None:
    document = healthy()
    document["expected"] = {"since": minute(0), "nodes": 0, **expected}
    read = Snapshot.read(document)
    assert (read.gpus_per_node, read.wanted_nodes) == (gpus, 0)


def test_a_pool_is_called_by_its_group_by_its_name_or_by_neither() -> None:
    assert [snapshot(group, pool).name for group, pool in (("g", "p"), ("", "p"), ("", ""))] == [
        "g",
        "p",
        "the pool",
    ]


@pytest.mark.parametrize(
    ("found", "whole"),
    [
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
    ],
)
def test_a_number_is_read_as_one_or_as_text(found: object, whole: int | None) -> None:
    assert number({"a": found}, "a") == whole


@pytest.mark.parametrize(
    ("found", "read"),
    [
        ("2026-11-20T12:00:00Z", NOON),
        ("2026-11-20T12:00:00", NOON),
        ("2026-11-20T21:00:00+09:00", NOON),
        (NOON.timestamp(), NOON),
        (int(NOON.timestamp()), NOON),
        (True, None),
        ("noon", None),
        (1e300, None),
        ([], None),
    ],
)
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


def test_events_are_told_by_what_they_are_about_oldest_first_and_old_ones_left_out() -> None:
    def said(message: str, **times: Any) -> Document:
        return {"involvedObject": {"kind": "Pod", "name": "a"}, "message": message, **times}

    found = events_by_object(
        [
            said("late", lastTimestamp="2026-11-20T12:00:02Z", firstTimestamp="2026-11-20T11:00:00Z"),
            said("at", eventTime="2026-11-20T12:00:00Z"),
            said("before", lastTimestamp="2026-11-20T11:59:59Z"),
            said(
                "series",
                lastTimestamp="2026-11-20T11:59:59Z",
                series={"lastObservedTime": "2026-11-20T12:00:01Z"},
            ),
            said("no time"),
            said("made", metadata={"creationTimestamp": "2026-11-20T12:00:03Z"}),
        ],
        NOON,
    )
    assert [event.message for event in found["Pod", "", "a"]] == ["at", "no time", "series", "late", "made"]


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("GPU is lost", True),
        ("2026-11-20T12:00:00Z GPU is lost", True),
        ("2026-11-20T11:59:59Z GPU is lost", False),
        ("2026-11-20T11:59:59.999Z GPU is lost", False),
        ("2026-11-20T21:00:00+09:00 GPU is lost", True),
        ("2026-11-20T20:59:59+09:00 GPU is lost", False),
        ("2026-11-20T12:00:00 GPU is lost", True),
        ("2026-13-20T12:00:00Z GPU is lost", True),
        ("E1120 12:00:00.000001 1 x.go] GPU is lost", True),
        ("E1120 11:59:59.000001 1 x.go] GPU is lost", False),
        ("E1332 11:59:59.000001 1 x.go] GPU is lost", True),
        ("E1121 13:00:00.000001 1 x.go] GPU is lost", True),
        ("E1121 13:00:01.000001 1 x.go] GPU is lost", False),
    ],
)
def test_a_line_that_says_when_it_was_written_counts_since_then(line: str, *, counts: bool) -> None:
    now = NOON + timedelta(hours=1)
    found = lost(f"first\n  {line}  \nlast", now, NOON)
    assert found == (line if counts else None)


def test_of_several_lines_the_first_that_is_not_old_counts() -> None:
    said = "2026-11-20T11:00:00Z GPU is lost\nfine\n2026-11-20T12:30:00Z GPU is lost\nGPU is lost"
    assert lost(said, NOON, NOON) == "2026-11-20T12:30:00Z GPU is lost"
    assert lost("fine", NOON, NOON) is None


def test_the_most_fundamental_symptom_of_all_texts_counts() -> None:
    def found(*texts: str) -> tuple[str, str] | None:
        said = symptom(texts, NOON, NOON)
        return None if said is None else (said.cause, said.said)

    both = "one\nunresolvable CDI devices\n  driver/library version mismatch\nlast"
    assert found(both) == ("driver-mismatch", "driver/library version mismatch")
    assert found("unresolvable CDI devices x", "please update your driver") == (
        "driver-too-old",
        "please update your driver",
    )
    assert found("İ\nunresolvable CDI devices") == ("cdi-unresolvable", "unresolvable CDI devices")
    assert found("2026-11-20T11:00:00Z unresolvable CDI devices") is None
    assert found("", "fine") is None


def test_every_xid_of_a_line_is_read() -> None:
    line = "Xid (PCI:0000:00:1e): 79, then XidCriticalError: Xid=48"
    assert list(xids(f"fine\n{line}\nXid=1", NOON, NOON)) == [(79, line), (48, line)]
    assert [condition_xid(reason) for reason in ("NvidiaXID79Error", "NvidiaXID13Warning", "Odd")] == [
        79,
        13,
        None,
    ]


@pytest.mark.parametrize(
    ("count", "about"),
    [(1, "0"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 and 1 more"), (8, "0, 1, 2, 3, 4 and 3 more")],
)
def test_a_finding_names_five_objects_and_counts_the_rest(count: int, about: str) -> None:
    cause = CAUSES["xid"]
    found = Finding(cause, tuple(map(str, range(count))), tuple(map(str, range(12))))

    assert found.to_json() == {
        "cause": "xid",
        "layer": "nvidia",
        "object": about,
        "summary": f"{about}: {cause.summary}",
        "evidence": [str(line) for line in range(10)],
        "advice": cause.advice,
    }


def test_evidence_is_one_line_that_is_cut_after_400_letters_and_said_once() -> None:
    gathered = Gathered()
    gathered.found("xid", "a", " one\n two ", "x" * 400, "")
    gathered.found("xid", "a", "one two", "y" * 401)
    gathered.found("xid", "b")

    (found,) = gathered.diagnosis("pool").findings

    assert found.objects == ("a", "b")
    assert found.evidence == ("one two", "x" * 400, "y" * 399 + "…")


def test_what_cannot_be_told_is_said_last_with_what_was_not_read() -> None:
    gathered = Gathered()
    gathered.unknown("first", ["b", "a"])
    gathered.unknown("second", ["a", "c"])
    gathered.found("xid", "node")

    found = gathered.diagnosis("pool")

    assert [(each.cause.name, each.about, each.evidence) for each in found.findings] == [
        ("xid", "node", ()),
        ("unknown", "pool", ("first", "second", "b, a, c not read")),
    ]


def supply(**changes: Any) -> bool:
    gathered = Gathered()
    for name, value in changes.items():
        setattr(gathered, name, value)
    return gathered.supply_disturbed


@pytest.mark.parametrize(
    ("stage", "disturbed"),
    [
        (stage, stage.label in {"instance-launch", "node-join", "node-ready", "gpus-announced"})
        for stage in Stage
    ],
)
def test_the_supply_of_gpus_is_disturbed_by_stages_before_they_are_announced(
    stage: Stage, *, disturbed: bool
) -> None:
    assert supply(in_progress=[InProgress(stage, "a", NOON)]) is disturbed


def test_the_supply_of_gpus_is_disturbed_by_what_takes_it_and_by_what_cannot_be_told() -> None:
    assert not supply()
    assert supply(explained={"a"})
    assert supply(unclear=["odd"])
    assert [
        name for name, cause in CAUSES.items() if supply(objects={name: ["a"]}) != cause.takes_supply
    ] == []
    assert {cause.takes_supply for cause in CAUSES.values()} == {True, False}


def test_a_diagnosis_in_brief_has_eight_findings_of_three_lines_and_ten_stages() -> None:
    lines = ("x" * 240, "y" * 241, "z", "left out")
    findings = tuple(Finding(CAUSES["xid"], (str(number),), lines) for number in range(9))
    stages = tuple(InProgress(Stage.JOIN, str(number), NOON) for number in range(11))

    found = in_brief(Diagnosis(findings, stages))

    assert [each["object"] for each in found["findings"]] == [str(number) for number in range(8)]
    assert found["findings"][0]["evidence"] == ["x" * 240, "y" * 239 + "…", "z"]
    assert [each["object"] for each in found["in_progress"]] == [str(number) for number in range(10)]
    assert found["in_progress"][0] == {
        "stage": "node-join",
        "object": "0",
        "since": "2026-11-20T12:00:00Z",
        "normal_seconds": 300,
    }


@pytest.mark.parametrize(
    ("label", "seconds"),
    [
        ("instance-launch", 180),
        ("node-join", 300),
        ("node-ready", 180),
        ("gpus-announced", 300),
        ("validation", 300),
        ("operator", 300),
        ("image-pull", 120),
        ("scheduling", 60),
        ("container-start", 120),
        ("rendezvous", 180),
    ],
)
def test_each_stage_has_its_normal_time(label: str, seconds: int) -> None:
    (stage,) = (each for each in Stage if each.label == label)
    assert stage.normal.total_seconds() == seconds
