"""What the name or label of a pod means, what is guessed about unread pods, and which events count."""

from types import MappingProxyType
from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot
from lamplighter.domain.diagnosis.document import condition, doc, docs
from lamplighter.domain.diagnosis.rules.pod import (
    Pod,
    is_operand,
    is_operator,
    is_plugin,
    is_validator,
    written,
)
from tests.snapshots import NODES, Document, at, causes, event, healthy, node, pod, told


@pytest.mark.parametrize(("name", "kinds"), [
    ("nvidia-device-plugin-daemonset-x", "plugin operand"),
    ("nvidia-gpu-device-plugin-x", "plugin"),
    ("nvidia-device-plugin-validator-x", "operand"),
    ("nvdp-nvidia-device-plugin-gpu-feature-discovery-x", "operand"),
    ("nvidia-device-plugin-node-feature-discovery-worker-x", "operand"),
    ("dcgm-exporter-x", "operand"),
    ("nvidia-device-plugin-mps-control-daemon-x", "operand"),
    ("nvidia-operator-validator-x", "validator operand"),
    ("gpu-operator-5d9-x", "operator operand"),
    ("gpu-operator-node-feature-discovery-worker-x", "operand"),
    ("gpu-operator-node-feature-discovery-master-x", "operator operand"),
    ("train-0", ""),
])  # fmt: skip
def test_a_pod_is_what_its_name_says(name: str, kinds: str) -> None:
    judges = {"plugin": is_plugin, "validator": is_validator, "operator": is_operator, "operand": is_operand}
    assert {kind for kind, judge in judges.items() if judge(name)} == set(kinds.split())


@pytest.mark.parametrize(("label", "plugin", "validator", "operand"), [
    ("nvidia-device-plugin-daemonset", True, False, True),
    ("nvidia-operator-validator", False, True, True),
    ("nvidia-dcgm", False, False, True),
    ("web", False, False, False),
])  # fmt: skip
def test_a_pod_of_any_name_is_what_its_label_says(
    label: str, *, plugin: bool, validator: bool, operand: bool
) -> None:
    found = Pod({"metadata": {"name": "x", "labels": {"app": label}}})
    assert (found.plugin, found.validator, found.operand) == (plugin, validator, operand)
    named = Pod({"metadata": {"name": f"{label}-x"}})
    assert (named.plugin, named.validator, named.operand) == (plugin, validator, operand)


@pytest.mark.parametrize(("containers", "gpus"), [
    ([{"limits": {"nvidia.com/gpu": "2"}}, {"limits": {"nvidia.com/gpu": 1}}], 3),
    ([{"requests": {"nvidia.com/gpu.shared": "1"}}], 1),
    ([{"limits": {"nvidia.com/mig-1g.5gb": "2", "cpu": "4"}}], 2),
    ([{"limits": {"cpu": "4"}, "requests": {"nvidia.com/gpu": "1"}}], 0),
    ([{"limits": {"nvidia.com/gpu": "x"}}], 0),
    ([{}], 0),
])  # fmt: skip
def test_a_pod_asks_for_what_its_containers_are_limited_to(containers: list[Document], gpus: int) -> None:
    spec = [{"resources": each} for each in containers]
    assert Pod({"spec": {"containers": spec}}).gpus == gpus
    assert Pod({"spec": {"initContainers": spec}}).gpus == gpus


@pytest.mark.parametrize(("phase", "ready", "container", "healthy_"), [
    ("Succeeded", None, None, True),
    ("Failed", "True", None, False),
    ("Pending", "True", None, False),
    ("Running", "True", False, True),
    ("Running", "False", True, False),
    ("Running", None, True, True),
    ("Running", None, False, False),
    ("Running", None, None, True),
])  # fmt: skip
def test_a_pod_is_healthy_while_it_is_ready_or_once_it_succeeded(
    phase: str, ready: str | None, container: bool | None, *, healthy_: bool
) -> None:
    status: Document = {"phase": phase, "containerStatuses": [{"ready": container}]}
    if ready is not None:
        status["conditions"] = [{"type": "Ready", "status": ready}]
    assert Pod({"status": status}).healthy is healthy_


def test_a_pod_s_own_state_is_read_from_all_its_containers() -> None:
    first = {"state": {"terminated": {"finishedAt": at(3), "message": "m", "reason": "r"}}, "restartCount": 2}
    second = {
        "name": "b",
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"finishedAt": at(9), "reason": "Error"}},
        "restartCount": 5,
    }
    found = Pod({"status": {"message": "M", "initContainerStatuses": [first], "containerStatuses": [second]}})

    assert found.kubelet_messages == ["M", "m", "r", "CrashLoopBackOff", "Error"]
    assert found.restarts == 5
    assert found.ended is not None
    assert found.ended.minute == 3
    assert list(found.waits()) == [("b", "CrashLoopBackOff", "")]
    assert list(found.crashing()) == [("b", "CrashLoopBackOff")]
    assert (Pod({}).restarts, Pod({}).ended, Pod({}).kubelet_messages, Pod({}).owner) == (0, None, [], "")
    assert (Pod({}).called, Pod({}).leaving, Pod({}).succeeded, Pod({}).failed) == (
        "default/",
        False,
        False,
        False,
    )
    assert not Pod({"metadata": {"deletionTimestamp": "soon"}}).leaving


def test_a_taint_is_written_as_kubectl_writes_it() -> None:
    assert written({"key": "a", "value": "b", "effect": "NoSchedule"}) == "a=b:NoSchedule"
    assert written({"key": "a", "effect": "NoExecute"}) == "a:NoExecute"


def unread(logs: tuple[str, ...], *events: Document, nodes: int = 1) -> Snapshot:
    document = healthy(nodes=nodes)
    del document["kubernetes"]["pods"]
    document["kubernetes"]["events"] = [*events]
    document["logs"] = dict.fromkeys(logs, "text")
    return Snapshot.read(document)


def test_where_pods_were_not_read_their_names_are_taken_from_logs_and_events() -> None:
    events = [
        event("Pod", "train-1", "Odd", "x", namespace="lab"),
        event("Job", "train-2", "Odd", "x", namespace="lab"),
    ]
    logs = ("lab/train-0/main", "gpu-operator/nvidia-dcgm-1", "default/node-debugger-x", "odd")

    one, two = unread(logs, *events), unread(logs, *events, nodes=2)

    assert [(each.called, each.gpus, each.node) for each in one.pods] == [
        ("gpu-operator/nvidia-dcgm-1", 0, NODES[0]),
        ("lab/train-0", 1, NODES[0]),
        ("lab/train-1", 1, NODES[0]),
    ]
    # The node of the pod is unknown, so it counts on both nodes.
    assert [each.node for each in two.pods] == ["", "", ""]
    assert [len(two.pods_on(each)) for each in two.nodes] == [3, 3]


def test_where_pods_were_read_a_log_alone_is_one_of_nvidia_s() -> None:
    document = healthy(nodes=1)
    document["kubernetes"]["pods"] = [pod("nvidia-dcgm-1"), pod("train-0", "lab", gpus=1)]
    keys = ("gpu-operator/nvidia-dcgm-1", "gpu-operator/nvidia-dcgm-2", "lab/train-0", "lab/gone")
    document["logs"] = dict.fromkeys(keys, "text")
    assert [each.called for each in Snapshot.read(document).pods] == [
        "gpu-operator/nvidia-dcgm-1",
        "lab/train-0",
        "gpu-operator/nvidia-dcgm-2",
    ]


def test_the_network_plugin_s_last_word_is_said_of_a_node_that_is_not_ready() -> None:
    document = healthy(nodes=1)
    document["kubernetes"]["nodes"][1] = node(0, 1, ready=False)
    document["kubernetes"]["events"] = [
        event("Pod", name, reason, "x", minute, namespace="kube-system")
        for name, reason, minute in (
            ("aws-node-1", "Pulled", 3),
            ("aws-node-1", "BackOff", 4),
            ("aws-node-2", "BackOff", 3),
            ("aws-node-2", "Pulled", 4),
            ("coredns-1", "BackOff", 4),
        )
    ]
    assert told(document) == [
        (
            "node-not-ready",
            NODES[0],
            [
                f"{NODES[0]} is not Ready: KubeletNotReady: cni plugin not initialized",
                "kube-system/aws-node-1: BackOff: x",
            ],
        )
    ]


@pytest.mark.parametrize("namespace", ["", "default"])
def test_events_of_a_node_count_in_either_namespace(namespace: str) -> None:
    document = healthy(nodes=1)
    said = event("Node", NODES[0], "NvidiaXID79Error", "x")
    said["involvedObject"]["namespace"] = namespace
    document["kubernetes"]["events"] = [said]
    assert causes(document) == ["xid"]


def test_a_policy_that_the_operator_ignores_is_none() -> None:
    document = healthy(nodes=1)
    ignored, active = (
        {"metadata": {"name": name}, "status": {"state": name}} for name in ("ignored", "ready")
    )
    document["kubernetes"]["clusterpolicies"] = [ignored, active]
    assert Snapshot.read(document).policy == active
    document["kubernetes"]["clusterpolicies"] = [ignored]
    assert Snapshot.read(document).policy == {}


def test_mappings_of_every_kind_are_read_as_documents() -> None:
    frozen: Any = MappingProxyType({"a": MappingProxyType({"b": 1})})
    assert doc(frozen, "a") == {"b": 1}
    assert docs({"x": [frozen]}, "x") == [frozen]
    ready = {"status": {"conditions": [{"type": "Odd"}, {"type": "Ready", "status": "True"}]}}
    assert condition(ready, "Ready") == {"type": "Ready", "status": "True"}
    assert condition(ready, "Error") == {}
