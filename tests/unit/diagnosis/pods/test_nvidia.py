"""Diagnosis, the NVIDIA layer: plugin, driver, runtime, operator, validator, and the GPU itself."""

import pytest

from lamplighter.reasons.reason import reason
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    causes,
    daemonset,
    event,
    healthy,
    judge,
    no_gpus,
    node,
    pod,
    policy,
    replace,
    stages,
    told,
    waiting,
    without,
)

PLUGIN = "nvidia-device-plugin-daemonset-0"
VALIDATOR = "nvidia-operator-validator-0"


def one_without_gpus(now: float = 20) -> Document:
    document = healthy(nodes=1, now=now)
    no_gpus(document)
    return document


def test_a_plugin_that_is_switched_off_explains_the_pods_that_wait() -> None:
    document = one_without_gpus()
    without(document, "nvidia-device", "nvidia-operator")
    document["kubernetes"]["daemonsets"] = []
    document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["device-plugin-disabled"]
    assert found.findings[0].about == "cluster-policy"


def test_a_label_of_the_node_switches_it_off_too() -> None:
    document = one_without_gpus()
    without(document, "nvidia-device", "nvidia-operator")
    document["kubernetes"]["nodes"][1]["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"
    assert causes(document) == ["device-plugin-disabled"]


def test_a_missing_plugin_is_late_after_a_while() -> None:
    document = one_without_gpus(now=5)
    without(document, "nvidia-device", "nvidia-operator")
    document["kubernetes"]["daemonsets"] = []
    assert (causes(document), stages(document)) == ([], ["gpus-announced"])
    document["now"] = one_without_gpus()["now"]
    assert causes(document) == ["device-plugin-missing"]


def test_no_plugin_and_nothing_else_read_is_unknown() -> None:
    document = one_without_gpus()
    document["kubernetes"] = {"nodes": document["kubernetes"]["nodes"]}
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert "kubernetes.daemonsets" in " ".join(map(str, found.findings[0].evidence))


def crashed(log: str = "", reason: str = "CrashLoopBackOff") -> Document:
    document = one_without_gpus()
    replace(document, waiting(pod(PLUGIN), reason, "back-off 5m0s restarting failed container", restarts=7))
    document["logs"][f"gpu-operator/{PLUGIN}/main"] = log
    return document


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("panic: runtime error", "device-plugin-missing"),
        ("", "device-plugin-missing"),
        (
            "E1120 11:10:00.1 Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1",
            "runtime-missing",
        ),
        ("Incompatible platform detected", "runtime-missing"),
        ("Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "driver-broken"),
    ],
)
def test_a_crashed_plugin_is_named_by_the_deepest_cause_in_its_log(log: str, cause: str) -> None:
    assert causes(crashed(log)) == [cause]


def test_a_library_that_is_missing_on_a_plain_image_is_the_image_s_fault() -> None:
    document = crashed("could not load NVML library: libnvidia-ml.so.1")
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    assert causes(document) == ["wrong-ami"]
    document["kubernetes"]["clusterpolicies"] = [policy(driver={"enabled": True})]
    assert causes(document) == ["runtime-missing"]
    document = crashed("could not load NVML library: libnvidia-ml.so.1")
    del document["aws"]["nodegroup"]["amiType"]
    document["kubernetes"]["nodes"][1]["status"]["nodeInfo"]["osImage"] = (
        "Bottlerocket OS 1.50.0 (aws-k8s-1.35)"
    )
    assert causes(document) == ["wrong-ami"]


def test_a_log_from_before_the_expectation_began_is_history() -> None:
    document = crashed("I1120 10:10:00.000000 1 main.go:1] Driver/library version mismatch")
    assert causes(document) == ["device-plugin-missing"]


def test_a_runtime_that_is_not_configured_is_named_by_its_event() -> None:
    document = one_without_gpus()
    replace(document, pod(PLUGIN, phase="Pending"))
    message = (
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: "
        'no runtime for "nvidia" is configured'
    )
    document["kubernetes"]["events"].append(event("Pod", PLUGIN, "FailedCreatePodSandBox", message))
    assert causes(document) == ["runtime-missing"]


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        (
            "RunContainerError",
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver",
            "driver-too-old",
        ),
        (
            "CreateContainerError",
            "CDI device injection failed: unresolvable CDI devices k8s.device-plugin.nvidia.com/gpu=0",
            "cdi-unresolvable",
        ),
        (
            "CreateContainerError",
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
            "driver-mismatch",
        ),
        ("ErrImagePull", "toomanyrequests", "image-pull-failed"),
    ],
)
def test_a_workload_is_named_by_what_the_runtime_says(reason: str, message: str, cause: str) -> None:
    document = healthy()
    replace(document, waiting(pod("train-0", "lab", 0, gpus=1), reason, message))
    found = judge(document)
    assert [each.cause.name for each in found.findings] == [cause]
    assert found.findings[0].about == "lab/train-0"


def test_of_a_workload_that_fails_by_itself_only_its_text_is_told() -> None:
    document = healthy()
    document["logs"]["lab/train-0"] = "ValueError: learning rate"
    replace(document, waiting(pod("train-0", "lab", 0, gpus=1), "CrashLoopBackOff", "back-off", restarts=4))
    said = (
        f"lab/train-0 on {NODES[0]} fails: CrashLoopBackOff back-off; its log ends: ValueError: learning rate"
    )
    assert told(document) == [("unknown", POOL, [said])]


def hardware(reason: str, status: str = "False") -> Document:
    document = healthy()
    document["kubernetes"]["nodes"][1]["status"]["conditions"].append(
        {"type": "AcceleratedHardwareReady", "status": status, "reason": reason, "message": "see dmesg"}
    )
    return document


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("NvidiaXID79Error", ["xid"]),
        ("NvidiaDoubleBitError", ["xid"]),
        ("DCGMDiagnosticFailure", ["xid"]),
        ("NvidiaDeviceCountMismatch", ["gpu-count-short"]),
        ("NvidiaXID13Error", []),
        ("NvidiaNVLinkError", ["unknown"]),
    ],
)
def test_the_node_monitoring_agent_s_condition(reason: str, found: list[str]) -> None:
    assert causes(hardware(reason)) == found
    assert causes(hardware(reason, "True")) == []


def eight(allocatable: int = 7, capacity: int = 8) -> Document:
    document = healthy(nodes=1)
    document["expected"] |= {"gpus_per_node": 8, "instance_type": "g5.xlarge"}
    status = document["kubernetes"]["nodes"][1]["status"]
    status["allocatable"]["nvidia.com/gpu"], status["capacity"]["nvidia.com/gpu"] = (
        str(allocatable),
        str(capacity),
    )
    document["kubernetes"]["nodes"][1]["metadata"]["labels"]["nvidia.com/gpu.count"] = "8"
    return document


def test_a_fatal_xid_wins_over_the_short_count_and_the_lost_gpu() -> None:
    document = eight()
    document["logs"][f"gpu-operator/{PLUGIN}"] = (
        "XidCriticalError: Xid=79 on Device=GPU-8f6d2f2e; marking device as unhealthy."
    )
    document["logs"]["lab/train-0"] = "Failed to initialize NVML: Unknown Error"
    assert causes(document) == ["xid"]


def test_an_ignored_xid_beside_all_gpus_is_none() -> None:
    document = eight(8)
    document["logs"][f"gpu-operator/{PLUGIN}"] = "NVRM: Xid (PCI:0000:00:1e): 31, pid=1, name=python"
    assert causes(document) == []


def test_a_short_count_alone_is_a_short_count() -> None:
    assert causes(eight()) == ["gpu-count-short"]
    assert causes(eight(7, 7)) == ["gpu-count-short"]
    assert causes(eight(8, 8)) == []


def test_shared_gpus_count_as_what_they_are() -> None:
    document = healthy(nodes=1)
    changed = document["kubernetes"]["nodes"][1]
    changed["metadata"]["labels"]["nvidia.com/gpu.replicas"] = "4"
    for which in ("capacity", "allocatable"):
        changed["status"][which] |= {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"}
    without(document, "train-waits")
    assert causes(document) == []
    changed["status"]["allocatable"]["nvidia.com/gpu.shared"] = "3"
    assert causes(document) == ["gpu-count-short"]


def test_only_a_pod_that_holds_a_gpu_can_lose_it() -> None:
    document = healthy()
    document["logs"]["lab/train-0"] = "Failed to initialize NVML: Unknown Error"
    assert causes(document) == ["gpu-lost"]
    debug = healthy()
    debug["kubernetes"]["pods"].append(pod("node-debugger-x", "default", 0))
    debug["logs"]["default/node-debugger-x"] = "Failed to initialize NVML: Unknown Error"
    assert causes(debug) == []


def test_a_stuck_validator_names_its_init_container() -> None:
    document = healthy()
    stuck = waiting(pod(VALIDATOR), "CrashLoopBackOff", "back-off 5m0s", restarts=6, init="plugin-validation")
    replace(document, stuck)
    document["kubernetes"]["clusterpolicies"] = [
        policy("notReady", reason="OperandNotReady", message="states not ready: [state-operator-validation]")
    ]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["validator-stuck"]
    assert "plugin-validation" in str(found.findings[0].evidence[0])


def test_a_stuck_validator_is_explained_by_what_it_prints() -> None:
    document = healthy()
    replace(document, waiting(pod(VALIDATOR), "CrashLoopBackOff", "", restarts=6, init="driver-validation"))
    document["logs_previous"][f"gpu-operator/{VALIDATOR}/driver-validation"] = (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    )
    assert causes(document) == ["driver-broken"]


def test_a_validator_under_way_is_in_progress() -> None:
    document = healthy()
    replace(document, waiting(pod(VALIDATOR, minute=18), "PodInitializing", init="cuda-validation"))
    assert (causes(document), stages(document)) == ([], ["validation"])


def test_an_operator_that_is_down_explains_the_missing_plugin() -> None:
    document = one_without_gpus()
    without(document, "nvidia-device", "nvidia-operator")
    document["kubernetes"]["daemonsets"] = []
    document["kubernetes"]["deployments"][0]["status"] = {"availableReplicas": 0}
    assert causes(document) == ["operator-not-ready"]


def test_an_operator_that_cannot_reconcile_explains_it_too() -> None:
    document = one_without_gpus()
    without(document, "nvidia-device", "nvidia-operator")
    document["kubernetes"]["daemonsets"] = []
    document["kubernetes"]["clusterpolicies"] = [
        policy("notReady", reason="ReconcileFailed", message="cannot create")
    ]
    assert causes(document) == ["operator-not-ready"]


def test_a_policy_that_is_not_ready_by_itself_is_said_once_it_is_late() -> None:
    document = healthy()
    document["kubernetes"]["clusterpolicies"] = [
        policy(
            "notReady", reason="OperandNotReady", message="states not ready: [state-dcgm-exporter]", minute=18
        )
    ]
    assert (causes(document), stages(document)) == ([], ["operator"])
    document["kubernetes"]["clusterpolicies"] = [
        policy("notReady", reason="OperandNotReady", message="x", minute=5)
    ]
    assert causes(document) == ["operator-not-ready"]


def test_a_plugin_that_runs_and_offers_nothing_counts_short() -> None:
    assert causes(one_without_gpus()) == ["gpu-count-short"]


def test_the_same_cause_on_two_nodes_is_one_finding_about_both() -> None:
    document = healthy()
    document["kubernetes"]["nodes"][1:] = [node(0, None, ready=False), node(1, None, ready=False)]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["node-not-ready"]
    assert found.findings[0].objects == tuple(NODES)
    assert daemonset()


def test_a_fatal_xid_is_said_even_while_the_node_still_offers_all() -> None:
    document = eight(8)
    document["logs"][f"gpu-operator/{PLUGIN}"] = "XidCriticalError: Xid=79 on Device=GPU-8f6d2f2e"
    assert causes(document) == ["xid"]


def test_a_pod_that_runs_on_over_a_broken_driver() -> None:
    document = healthy()
    document["logs"]["lab/train-0"] = "Failed to initialize NVML: Driver/library version mismatch"
    assert causes(document) == ["driver-mismatch"]
    document["logs"] = {
        f"gpu-operator/{PLUGIN}": "Failed to initialize NVML: Driver/library version mismatch"
    }
    assert causes(document) == [], "the plugin works now, so what it printed before is history"


def test_a_log_that_was_kept_without_its_pod_still_counts() -> None:
    document = one_without_gpus()
    without(document, "nvidia-device")
    document["logs"]["gpu-operator/nvidia-device-plugin-daemonset-gone"] = "could not load NVML library"
    assert causes(document) == ["runtime-missing"]


def test_a_runtime_class_that_is_missing_is_told_by_the_daemonset() -> None:
    document = one_without_gpus()
    without(document, "nvidia-device", "nvidia-operator", "gpu-feature")
    message = 'Error creating: pods "x" is forbidden: pod rejected: RuntimeClass "nvidia" not found'
    document["kubernetes"]["events"].append(
        event("DaemonSet", "nvidia-device-plugin-daemonset", "FailedCreate", message)
    )
    assert causes(document) == ["runtime-missing"]


@pytest.mark.parametrize("others", [True, False], ids=["the operator's wait", "the operator has made none"])
def test_feature_discovery_that_does_not_tolerate_the_taint_s_value_is_named(*, others: bool) -> None:
    """The chart tolerates nvidia.com/gpu=present. Without the node's features the operator labels no node."""
    document = healthy()
    for number, name in enumerate(NODES):
        no_gpus(document, number)
        labels = next(each for each in document["kubernetes"]["nodes"] if each["metadata"]["name"] == name)[
            "metadata"
        ]["labels"]
        for label in [each for each in labels if each.startswith("nvidia.com/")]:
            del labels[label]
    without(document, "nvidia-", "gpu-feature-discovery")
    worker = daemonset("gpu-operator-node-feature-discovery-worker", 1)
    worker["spec"]["template"]["spec"] = {
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
        ]
    }
    waiting_ones = document["kubernetes"]["daemonsets"] if others else []
    for each in waiting_ones:
        each["status"] = {"desiredNumberScheduled": 0, "numberReady": 0}
    document["kubernetes"]["daemonsets"] = [*waiting_ones, worker]
    said = "No NFD labels found"
    document["kubernetes"]["clusterpolicies"] = [policy("notReady", reason="NFDLabelsMissing", message=said)]

    [finding] = judge(document).findings

    assert finding.cause.name == "untolerated-taint"
    assert finding.objects == ("gpu-operator/gpu-operator-node-feature-discovery-worker",)
    assert "does not tolerate nvidia.com/gpu=true:NoSchedule" in str(finding.evidence[0])
    assert reason("finding.evidence.policy-ready") not in finding.evidence
