"""Nodes without their GPUs: counts, settings, taints, and the normal time."""

from typing import Any

import pytest

from tests.diagnosis_cases import conditions, node_of
from tests.snapshots import (
    NODES,
    POOL,
    TAINT,
    Document,
    at,
    daemonset,
    healthy,
    pod,
    policy,
    told,
    under_way,
    without,
    without_gpus,
    without_plugin,
)

SECOND = 1 / 60

NODE = NODES[0]

PLUGIN = "nvidia-device-plugin-daemonset"

MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"


def test_gpus_may_take_five_minutes_from_when_the_node_was_ready_and_its_plugin_made() -> None:
    assert under_way(without_gpus(8)) == [("gpus-announced", NODE, "11:03:00")]
    assert told(without_gpus(8 + SECOND)) == [("gpu-count-short", NODE, [f"{NODE} offers 0 of its 1 GPUs"])]
    assert under_way(without_plugin(7.5)) == [("gpus-announced", NODE, "11:02:30")]
    late = f"DaemonSet {PLUGIN} has no pod on {NODE}; desired pods in the cluster: 2"
    assert told(without_plugin(7.5 + SECOND)) == [("device-plugin-missing", NODE, [MISSING, late])]
    before = without_gpus(5)
    node_of(before, 0)["status"]["conditions"][0]["lastTransitionTime"] = at(-9)
    for each in before["kubernetes"]["pods"]:
        each["metadata"]["creationTimestamp"] = at(-8)
    assert under_way(before) == [("gpus-announced", NODE, "11:00:00")]


@pytest.mark.parametrize(
    ("allocatable", "capacity", "said"),
    [
        (None, None, f"{NODE} offers 0 GPUs where 1 is expected"),
        ("0", "1", f"{NODE} offers 0 of its 1 GPUs"),
        ("3", "4", f"{NODE} offers 3 of its 4 GPUs"),
    ],
)
def test_a_short_count_is_told_by_what_the_node_has(
    allocatable: str | None, capacity: str | None, said: str
) -> None:
    document = without_gpus()
    for which, count in (("allocatable", allocatable), ("capacity", capacity)):
        resources = node_of(document, 0)["status"][which]
        resources.pop("nvidia.com/gpu", None)
        resources |= {} if count is None else {"nvidia.com/gpu": count}
    if allocatable is None:
        del node_of(document, 0)["metadata"]["labels"]["nvidia.com/gpu.count"]
    assert told(document) == [("gpu-count-short", NODE, [said])]


@pytest.mark.parametrize(
    ("labels", "units", "said"),
    [
        ({"count": "8", "replicas": "2"}, "16", None),
        ({"count": "8", "replicas": "2"}, "15", "offers 15 GPUs where 16 are expected"),
        ({"count": "7"}, "8", "counts 7 GPUs on"),
        ({"count": "8", "replicas": "0"}, "8", None),
        ({"product": "NVIDIA-H100-MIG-1g.10gb", "count": "1"}, "7", None),
    ],
)
def test_eight_gpus_are_expected_as_often_as_each_is_shared(
    labels: dict[str, str], units: str, said: str | None
) -> None:
    document = healthy(nodes=1)
    document["expected"]["gpus_per_node"] = 8
    mine = node_of(document, 0)
    mine["metadata"]["labels"] |= {f"nvidia.com/gpu.{key}": value for key, value in labels.items()}
    for which in ("allocatable", "capacity"):
        mine["status"][which]["nvidia.com/gpu"] = units
    found = [evidence for cause, _, evidence in told(document) if cause == "gpu-count-short"]
    assert found == ([] if said is None else [found[0]])
    assert said is None or said in found[0][0]


def test_slices_and_renamed_shares_are_counted_under_their_own_names() -> None:
    def offering(**resources: str) -> Document:
        document = healthy(nodes=1)
        without(document, "train")
        for which in ("allocatable", "capacity"):
            units = node_of(document, 0)["status"][which]
            del units["nvidia.com/gpu"]
            units |= {f"nvidia.com/{key.replace('_', '-', 1)}": value for key, value in resources.items()}
        return document

    assert told(offering(**{"mig_1g.5gb": "2", "mig_3g.20gb": "1"})) == []
    assert told(offering(**{"gpu.shared": "1", "gpu": "0"})) == []
    assert [cause for cause, _, _ in told(offering(**{"mig_1g.5gb": "0"}))] == ["gpu-count-short"]


@pytest.mark.parametrize(
    ("name", "label", "said"),
    [
        ("", "nvidia.com/gpu.deploy.device-plugin", None),
        ("", "nvidia.com/gpu.deploy.operands", None),
        (
            "cluster-policy",
            "",
            "ClusterPolicy cluster-policy: devicePlugin.enabled is false, its state is ready",
        ),
    ],
)
def test_a_plugin_that_is_switched_off_says_where(name: str, label: str, said: str | None) -> None:
    document = without_plugin(6)
    document["kubernetes"]["daemonsets"] = []
    if name:
        document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    else:
        node_of(document, 0)["metadata"]["labels"][label] = "false"
    assert told(document) == [
        ("device-plugin-disabled", name or NODE, [said or f"{NODE} has the label {label}=false"])
    ]


def test_a_policy_without_name_or_state_is_named_all_the_same() -> None:
    document = without_plugin(6)
    document["kubernetes"]["clusterpolicies"] = [{"spec": {"devicePlugin": {"enabled": False}}}]
    assert told(document) == [
        (
            "device-plugin-disabled",
            "cluster-policy",
            ["ClusterPolicy cluster-policy: devicePlugin.enabled is false"],
        )
    ]


def test_a_plugin_that_is_off_hides_neither_a_wrong_image_nor_what_its_pods_print() -> None:
    document = without_plugin()
    document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    off = ("device-plugin-disabled", "cluster-policy")
    assert [each[:2] for each in told(document)] == [("wrong-ami", POOL), off]
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_NVIDIA"
    document["kubernetes"]["pods"].append(pod("nvidia-operator-validator-0"))
    document["logs"]["gpu-operator/nvidia-operator-validator-0"] = "driver/library version mismatch"
    assert [each[:2] for each in told(document)] == [("driver-mismatch", NODE), off]


def test_a_dead_gpu_and_a_plugin_that_is_off_are_both_said_where_no_gpu_is_offered() -> None:
    def dead(gpus: str) -> Document:
        document = without_gpus()
        without(document, "nvidia-")
        document["expected"]["gpus_per_node"] = 2
        node_of(document, 0)["status"]["allocatable"]["nvidia.com/gpu"] = gpus
        node_of(document, 0)["status"]["capacity"]["nvidia.com/gpu"] = "2"
        document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
        fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaDoubleBitError"}
        conditions(document, 0).append(fault)
        return document

    assert [cause for cause, _, _ in told(dead("0"))] == ["xid", "device-plugin-disabled"]
    assert [cause for cause, _, _ in told(dead("1"))] == ["xid"]
    assert [cause for cause, _, _ in told(dead("2"))] == ["xid"]


@pytest.mark.parametrize(
    ("name", "desired", "state", "evidence"),
    [
        (
            PLUGIN,
            0,
            "ready",
            [
                (
                    f"DaemonSet gpu-operator/{PLUGIN} does not tolerate nvidia.com/gpu=true:NoSchedule of {NODE},"
                    " desired pods: 0"
                ),
                "the state of the ClusterPolicy is ready although GPUs are missing",
            ],
        ),
        (
            "nvidia-container-toolkit",
            5,
            "notReady",
            [
                (
                    "DaemonSet gpu-operator/nvidia-container-toolkit does not tolerate"
                    f" nvidia.com/gpu=true:NoSchedule of {NODE}, desired pods: 5"
                )
            ],
        ),
        (
            "nfd-worker",
            None,
            "notReady",
            [f"DaemonSet gpu-operator/nfd-worker does not tolerate nvidia.com/gpu=true:NoSchedule of {NODE}"],
        ),
        (PLUGIN, 1, "notReady", None),
        ("nvidia-dcgm", 0, "notReady", None),
    ],
)
def test_a_daemonset_that_a_gpu_needs_and_that_does_not_tolerate_the_node_is_named(
    name: str, desired: int | None, state: str, evidence: list[str] | None
) -> None:
    document = without_plugin(6)
    refuses = daemonset(name, desired or 0, tolerates=False)
    if desired is None:
        del refuses["status"]
    document["kubernetes"]["daemonsets"] = [refuses]
    document["kubernetes"]["clusterpolicies"] = [policy(state, minute=5)]
    found = [each for each in told(document) if each[0] == "untolerated-taint"]
    assert found == ([] if evidence is None else [("untolerated-taint", f"gpu-operator/{name}", evidence)])


def test_a_daemonset_that_has_a_pod_on_the_node_tolerates_it() -> None:
    document = without_plugin()
    document["kubernetes"]["daemonsets"] = [daemonset("nvidia-container-toolkit", 0, tolerates=False)]
    document["kubernetes"]["pods"].append(pod("nvidia-container-toolkit-0"))
    assert "untolerated-taint" not in [cause for cause, _, _ in told(document)]


@pytest.mark.parametrize(
    ("tolerations", "desired", "blamed"),
    [([], 0, True), ([], 1, False), ([{"operator": "Exists"}], 0, False)],
)
def test_without_its_template_a_daemonset_is_judged_by_the_policy(
    tolerations: list[Document], desired: int, *, blamed: bool
) -> None:
    document = without_plugin(6)
    document["kubernetes"]["daemonsets"] = [
        {"metadata": {"name": "nfd-worker"}, "status": {"desiredNumberScheduled": desired}}
    ]
    document["kubernetes"]["clusterpolicies"] = [policy(daemonsets={"tolerations": tolerations})]
    assert ([cause for cause, _, _ in told(document)] == ["untolerated-taint"]) is blamed


@pytest.mark.parametrize(
    ("daemonsets", "blamed"),
    [
        ({"tolerations": []}, True),
        ({}, False),
        ({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}, False),
    ],
)
def test_where_daemonsets_were_not_read_the_policy_alone_says_what_it_tolerates(
    daemonsets: Document, *, blamed: bool
) -> None:
    document = without_plugin(6)
    del document["kubernetes"]["daemonsets"]
    document["kubernetes"]["clusterpolicies"] = [policy(daemonsets=daemonsets)]
    said = f"ClusterPolicy daemonsets.tolerations do not tolerate nvidia.com/gpu=true:NoSchedule of {NODE}"
    assert told(document) == ([("untolerated-taint", NODE, [said])] if blamed else [])


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        ({"operator": "Exists"}, TAINT, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, TAINT, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, TAINT, False),
        ({"key": "other", "operator": "Exists"}, TAINT, False),
        ({"key": "nvidia.com/gpu", "value": "true"}, TAINT, True),
        ({"key": "nvidia.com/gpu", "value": "false"}, TAINT, False),
        ({"key": "nvidia.com/gpu"}, TAINT, False),
        ({"value": "true"}, TAINT, False),
        ({}, {"key": "x", "effect": "NoExecute"}, False),
        ({"key": "x"}, {"key": "x", "effect": "NoExecute"}, True),
        ({}, {"key": "x", "effect": "PreferNoSchedule"}, True),
        ({}, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, True),
    ],
)
def test_taints_are_compared_as_the_scheduler_does(
    toleration: Document, taint: Document, *, tolerated: bool
) -> None:
    document = without_plugin(6)
    node_of(document, 0)["spec"]["taints"] = [taint]
    refuses = daemonset(PLUGIN, 0)
    refuses["spec"]["template"]["spec"]["tolerations"] = [toleration]
    document["kubernetes"]["daemonsets"] = [refuses]
    blamed = ", ".join(about for cause, about, _ in told(document) if cause == "untolerated-taint")
    assert (f"gpu-operator/{PLUGIN}" not in blamed) is tolerated


def fault(reason: str, status: str = "False", **more: Any) -> Document:
    return {"type": "AcceleratedHardwareReady", "status": status, "reason": reason, "message": "odd", **more}
