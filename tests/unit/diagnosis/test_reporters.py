"""Anybody may write events: a finding says who reported one, and status and conditions go before events."""

from typing import Any

import pytest

from tests import snapshots
from tests.node_pool_snapshots import SHORTAGE, capacity_error, claim, condition, empty
from tests.snapshots import NODES, Document, event, judge
from tests.unit.diagnosis.table import DEAD, given

XID = {
    **event("Node", NODES[0], "NvidiaXID79Error", "GPU has fallen off the bus"),
    "reportingComponent": "me",
}


def lines(document: Document, cause: str) -> list[str]:
    return [
        str(line)
        for found in judge(document).findings
        if found.cause.name == cause
        for line in found.evidence
    ]


def with_event(said: Document, **status: Any) -> Document:
    document = snapshots.healthy()
    document["kubernetes"]["events"].append(said)
    [mine] = [each for each in document["kubernetes"]["nodes"] if each["metadata"]["name"] == NODES[0]]
    mine["status"]["conditions"] += status.get("conditions", [])
    return document


@pytest.mark.parametrize(
    ("source", "by"),
    [
        ({"reportingComponent": "eks-node-monitoring-agent"}, "eks-node-monitoring-agent"),
        ({"reportingController": "karpenter", "reportingComponent": ""}, "karpenter"),
        ({"source": {"component": "kubelet", "host": "a"}, "reportingComponent": ""}, "kubelet"),
        ({"deprecatedSource": {"component": "kubelet"}, "reportingComponent": None}, "kubelet"),
        ({"reportingComponent": ""}, "?"),
        ({"reportingComponent": "two\nlines " * 99}, ("two lines " * 9)[:63]),
    ],
)
def test_a_finding_says_who_reported_an_event(source: Document, by: str) -> None:
    [line] = lines(with_event({**XID, **source}), "xid")
    assert line == f"NvidiaXID79Error: (reported by {by}) GPU has fallen off the bus"


def test_each_line_of_an_event_says_it() -> None:
    two = event("Pod", "train-0", "Failed", "one\nunresolvable CDI devices management.nvidia.com/gpu=all")
    document = snapshots.healthy()
    document["kubernetes"]["events"].append({**two, "reportingComponent": "me"})
    document["kubernetes"]["pods"].append(snapshots.pod("train-0", gpus=1, phase="Pending"))
    said = [str(line) for found in judge(document).findings for line in found.evidence]
    assert said
    assert all("(reported by me) " in line for line in said)


def test_a_condition_that_says_the_gpus_are_well_goes_before_an_event() -> None:
    well = {
        "type": "AcceleratedHardwareReady",
        "status": "True",
        "reason": "NvidiaAcceleratedHardwareIsReady",
    }
    assert lines(with_event(XID, conditions=[well]), "xid") == []


def test_a_condition_that_says_a_gpu_is_dead_is_told_without_events() -> None:
    [line] = lines(with_event(XID, conditions=[DEAD]), "xid")
    assert line.startswith(f"{NODES[0]} AcceleratedHardwareReady=False")


def test_an_event_alone_hides_nothing_else_that_is_wrong_on_its_node() -> None:
    document = with_event(XID)
    waits = snapshots.waiting(snapshots.pod("train-0", "lab", gpus=1), "ImagePullBackOff", "x")
    document["kubernetes"]["pods"].append(waits)
    assert {found.cause.name for found in judge(document).findings} == {"xid", "image-pull-failed"}


@pytest.mark.parametrize(
    ("inner", "causes"), [(SHORTAGE, ["launch-denied"]), ("UnauthorizedOperation: me too", ["launch-denied"])]
)
def test_where_a_claim_names_the_cause_no_event_adds_another(inner: str, causes: list[str]) -> None:
    denied = condition("Launched", "Unknown", "Unauthorized", "UnauthorizedOperation: not authorized")
    document = given(empty(), nodeclaims=[claim(0, denied)], events=[capacity_error(inner, 15)])
    assert [found.cause.name for found in judge(document).findings] == causes


def test_an_event_of_a_tenant_is_none_of_the_network_plugin() -> None:
    document = snapshots.healthy()
    node = next(each for each in document["kubernetes"]["nodes"] if each["metadata"]["name"] == NODES[0])
    node["status"]["conditions"] = snapshots.node(ready=False)["status"]["conditions"]
    said = 'no runtime for "nvidia" is configured'
    for namespace, cause in (("lab", "node-not-ready"), ("kube-system", "runtime-missing")):
        document["kubernetes"]["events"] = [
            event("Pod", "aws-node-1", "FailedCreatePodSandBox", said, namespace=namespace)
        ]
        assert [found.cause.name for found in judge(document).findings] == [cause]
