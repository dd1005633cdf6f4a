"""Ready nodes with other problems, and launch errors that no rule knows."""

import pytest

from tests.diagnosis_cases import conditions
from tests.diagnosis_cases.aws import ranks
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    activity,
    at,
    at_work,
    causes,
    event,
    healthy,
    node,
    pod,
    replace,
    told,
    waiting,
    without_gpus,
)

NODE = NODES[0]
PLUGIN = "nvidia-device-plugin-daemonset-0"
CALLED = f"gpu-operator/{PLUGIN}"


@pytest.mark.parametrize(
    ("kind", "status", "found"),
    [
        # eks-node-monitoring-agent, beside AcceleratedHardwareReady.
        ("KernelReady", "False", True),
        ("StorageReady", "False", True),
        ("NetworkingReady", "False", True),
        ("ContainerRuntimeReady", "False", True),
        ("KernelReady", "True", False),
        ("KernelReady", "Unknown", False),
        # The kubelet.
        ("DiskPressure", "True", True),
        ("MemoryPressure", "True", True),
        ("PIDPressure", "True", True),
        ("NetworkUnavailable", "True", True),
        ("DiskPressure", "False", False),
        ("SomebodyElses", "False", False),
    ],
)
def test_a_ready_node_of_which_another_condition_says_that_it_is_not_well_is_told(
    kind: str, status: str, *, found: bool
) -> None:
    document = at_work()
    conditions(document, 0).append({"type": kind, "status": status, "reason": "Odd", "message": "see there"})
    said = f"{NODE} {kind}={status}, Odd: see there"
    assert told(document) == ([("unknown", POOL, [said])] if found else [])


def test_what_explains_a_node_explains_its_other_conditions_too() -> None:
    document = at_work()
    conditions(document, 0).append({"type": "KernelReady", "status": "False", "reason": "SoftLockup"})
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    conditions(document, 0).append(fault)
    assert causes(document) == ["xid"]


@pytest.mark.parametrize(
    ("log", "crashes", "cause"),
    [
        # k8s-device-plugin, factory.go, where its own container may not open the device: its issue 1302.
        (
            "Failed to initialize NVML: Unknown Error\nNo devices found. Waiting indefinitely.",
            False,
            "gpu-lost",
        ),
        ("error getting device handle for index '0': GPU is lost", True, "gpu-lost"),
        ("nvml init failed: ERROR_LIBRARY_NOT_FOUND", True, "runtime-missing"),
        ("Failed to initialize NVML: Driver Not Loaded", True, "driver-broken"),
        ("Starting GRPC server for 'nvidia.com/gpu'", False, "gpu-count-short"),
        ("failed to create FS watcher: too many open files", True, "device-plugin-missing"),
    ],
)
def test_a_device_plugin_that_sees_no_gpu_says_why(log: str, *, crashes: bool, cause: str) -> None:
    document = without_gpus()
    if crashes:
        replace(document, waiting(pod(PLUGIN), "CrashLoopBackOff", "back-off", restarts=7))
    document["logs"][CALLED] = log
    assert causes(document) == [cause]


def test_what_a_plugin_lost_before_it_registered_is_history() -> None:
    document = at_work()
    document["logs"][CALLED] = (
        "Failed to initialize NVML: Unknown Error\nRegistered device plugin for 'nvidia.com/gpu' with Kubelet"
    )
    assert told(document) == []


def test_a_plugin_without_a_library_is_the_image_s_fault_where_that_has_no_driver() -> None:
    document = without_gpus()
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    replace(document, waiting(pod(PLUGIN), "CrashLoopBackOff", "back-off", restarts=7))
    document["logs"][CALLED] = "nvml init failed: ERROR_LIBRARY_NOT_FOUND"
    assert causes(document) == ["wrong-ami"]


def test_a_network_plugin_that_waits_for_nvidia_s_runtime_is_not_the_root() -> None:
    def unready(said: str) -> Document:
        document = at_work()
        document["kubernetes"]["nodes"][1] = node(0, ready=False)
        document["kubernetes"]["events"] = [
            event("Pod", "aws-node-1", "FailedCreatePodSandBox", said, namespace="kube-system")
        ]
        return document

    # amazon-vpc-cni-k8s, issue 3104.
    missing = (
        "OCI runtime create failed: fork/exec /usr/bin/nvidia-container-runtime: no such file or directory"
    )
    assert [(cause, about) for cause, about, _ in told(unready(missing))] == [("runtime-missing", NODE)]
    assert causes(unready("plugin type aws-cni failed")) == ["node-not-ready"]


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        # PyTorch: its issues 80772, 69197 and 79388.
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "nccl-path-blocked"),
        ("RuntimeError: connect() timed out. Original timeout was 60000 ms.", "nccl-path-blocked"),
        (
            (
                "[c10d] The IPv4 network addresses of (nccl-0.nccl, 29500) cannot be retrieved (gai error: -2)\n"
                "[c10d] The client socket has timed out after 60s while trying to connect to (nccl-0.nccl, 29500)."
            ),
            "unknown",
        ),
        (
            (
                "[c10d] The IPv6 network addresses of (nccl-0.nccl, 29500) cannot be retrieved (gai error: -9)\n"
                "[c10d] The client socket has timed out after 60s while trying to connect to (nccl-0.nccl, 29500)."
            ),
            "nccl-path-blocked",
        ),
    ],
)
def test_ranks_that_never_met_were_kept_apart_unless_one_had_no_address(log: str, cause: str) -> None:
    document = healthy()
    ranks(document, log, phase="Failed")
    assert causes(document) == [cause]


def none_came() -> Document:
    document = healthy(nodes=1)
    kubernetes = document["kubernetes"]
    kubernetes["nodes"] = kubernetes["nodes"][:1]
    kubernetes["pods"] = [each for each in kubernetes["pods"] if "nodeName" not in each["spec"]]
    document["aws"] |= {"instances": [], "scaling_activities": []}
    return document


def test_what_karpenter_says_is_quoted_where_no_rule_knows_it() -> None:
    document = none_came()
    said = "getting launch templates, no instance types satisfy requirements of amis ami-1"
    state = {"type": "Launched", "status": "Unknown", "reason": "LaunchFailed", "message": said}
    document["kubernetes"]["nodeclaims"] = [
        {"metadata": {"name": "gpu-a"}, "status": {"conditions": [{**state, "lastTransitionTime": at(2)}]}}
    ]
    quoted = f"0 of 1 expected instances are there; Karpenter says: {said}"
    assert told(document) == [("unknown", POOL, [quoted])]


def test_figures_of_a_quota_speak_only_where_aws_says_nothing() -> None:
    document = none_came()
    document["aws"]["quotas"] = [{"QuotaCode": "L-DB2E81BA", "Value": 0.0}]
    assert causes(document) == ["vcpu-quota"]
    document["aws"]["scaling_activities"] = [activity("The key pair 'lab' does not exist.")]
    assert causes(document) == ["unknown"]
