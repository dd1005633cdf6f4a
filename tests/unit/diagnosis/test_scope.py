"""Odd snapshots: pods for another pool, unknown instance types, absent parts."""

from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot
from lamplighter.errors import BadInput
from tests.snapshots import NODES, POOL, Document, at, at_work, healthy, pod, told, waiting

KIND = "node.kubernetes.io/instance-type"

GROUP = "eks.amazonaws.com/nodegroup"


def read(*pods: Document, kind: str = "g5.xlarge", **kubernetes: Any) -> Snapshot:
    return Snapshot.read(
        {
            "now": at(20),
            "expected": {"pool": POOL, "instance_type": kind, "nodes": 1, "since": at(0)},
            "kubernetes": {"pods": [*pods], **kubernetes},
        }
    )


@pytest.mark.parametrize(("name", "node", "mine"), [
    ("nvidia-dcgm-1", None, True), ("train", 0, True), ("train", None, False), ("web", 0, False),
])  # fmt: skip
def test_a_selector_for_another_pool_counts_only_for_a_workload_that_waits(
    name: str, node: int | None, *, mine: bool
) -> None:
    found = pod(name, "lab", node, gpus=int(name == "train"))
    found["spec"]["nodeSelector"] = {GROUP: "other"}
    assert [each.name for each in read(found).pods] == ([name] if mine else [])


def test_where_no_type_is_expected_a_selector_for_one_sends_nobody_away() -> None:
    waits = pod("train", "lab", None, gpus=1, phase="Pending")
    waits["spec"]["nodeSelector"] = {KIND: "t3.medium"}
    assert [each.name for each in read(waits, kind="").pods] == ["train"]
    assert read(waits).pods == []


def test_a_pod_that_waits_is_on_no_node_and_one_of_which_only_the_name_is_known_on_every() -> None:
    document = at_work()
    document["kubernetes"]["pods"] = [pod("train", "lab", None, gpus=1, phase="Pending")]
    document["logs"] = {"gpu-operator/nvidia-dcgm-1": "text"}
    document["kubernetes"]["nodes"].append({"metadata": {"name": NODES[1], "labels": {GROUP: POOL}}})
    found = Snapshot.read(document)
    assert [[each.name for each in found.pods_on(node)] for node in found.nodes] == [["nvidia-dcgm-1"]] * 2


def test_an_operator_s_pod_that_is_being_deleted_says_nothing() -> None:
    document = at_work()
    document["kubernetes"]["deployments"][0]["status"] = {}
    for name, leaving in (("gpu-operator-1", True), ("gpu-operator-2", False)):
        found = waiting(pod(name, number=None), "ContainerCreating", name)
        found["metadata"] |= {"deletionTimestamp": at(19)} if leaving else {}
        document["kubernetes"]["pods"].append(found)
    document["kubernetes"]["pods"].append(waiting(pod("web", "lab", None), "ContainerCreating", "web"))
    assert told(document)[0][2] == [
        "deployment gpu-operator/gpu-operator: 0 of 1 pods available",
        "gpu-operator/gpu-operator-2: ContainerCreating gpu-operator-2",
    ]


def test_a_part_that_was_left_out_hides_no_fault_of_the_next() -> None:
    document = healthy()
    del document["aws"]
    document["kubernetes"]["nodes"] = None
    document["kubernetes"]["pods"] = "x"
    with pytest.raises(BadInput, match=r"kubernetes\.pods: it is no list"):
        Snapshot.read(document)


@pytest.mark.parametrize("part", ["logs", "logs_previous"])
def test_logs_may_be_left_out(part: str) -> None:
    document = at_work()
    document[part] = None
    assert told(document) == []


@pytest.mark.parametrize("found", [{}, {"items": None}, {"other": [{"metadata": {"name": "a"}}]}])
def test_a_frame_without_its_list_is_an_empty_one(found: Document) -> None:
    assert read(nodes=found).nodes == []
    assert read(nodes={"other": [{}], "items": [{"metadata": {"name": "a"}}]}).nodes[0].name == "a"


def test_a_log_without_its_pod_is_nvidia_s_by_the_pod_s_name_and_not_by_its_namespace() -> None:
    document = at_work()
    document["kubernetes"]["pods"] = []
    document["logs"] = {"gpu-operator/web": "text", "kube-system/nvidia-dcgm-1": "text"}
    assert [each.called for each in Snapshot.read(document).pods] == ["kube-system/nvidia-dcgm-1"]
