"""Cases of the NVIDIA layer: driver, runtime, plugin, operator, validator, and the GPUs themselves."""

from tests.diagnosis_cases import Case, conditions, node_of
from tests.snapshots import Document, at, event, no_gpus, pod, policy, replace, waiting, without

PLUGIN = "nvidia-device-plugin-daemonset"
VALIDATOR = "nvidia-operator-validator"
LOST = "Failed to initialize NVML: Unknown Error"
XID = "XidCriticalError: Xid=79 on Device=GPU-8f6d2f2e-7a5f; marking device as unhealthy."


def _plugin_prints(document: Document, number: int, log: str) -> None:
    no_gpus(document, number)
    name = f"{PLUGIN}-{number}"
    replace(document, waiting(pod(name, number=number), "CrashLoopBackOff", "back-off 5m0s", restarts=7))
    document["logs"][f"gpu-operator/{name}/main"] = log


def _workload_fails(document: Document, number: int, reason: str, message: str) -> None:
    replace(document, waiting(pod(f"work-{number}", "lab", number, gpus=1), reason, message))


def _workload_prints(document: Document, log: str, number: int = 0) -> None:
    replace(document, pod(f"work-{number}", "lab", number, gpus=1))
    document["logs"][f"lab/work-{number}/main"] = log


def _no_runtime(document: Document, number: int) -> None:
    no_gpus(document, number)
    name = f"{PLUGIN}-{number}"
    replace(document, pod(name, number=number, phase="Pending"))
    said = (
        'Failed to create pod sandbox: failed to get sandbox runtime: no runtime for "nvidia" is configured'
    )
    document["kubernetes"]["events"].append(event("Pod", name, "FailedCreatePodSandBox", said))


def _no_sandbox(document: Document) -> None:
    """Another reason for a failed sandbox, which has lasted a short time."""
    replace(document, pod("train-0", "lab", 0, gpus=1, phase="Pending", minute=19.5))
    said = "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    document["kubernetes"]["events"].append(
        event("Pod", "train-0", "FailedCreatePodSandBox", said, 19.6, namespace="lab")
    )


def _sandbox_in_the_end(document: Document) -> None:
    """The toolkit was not there yet when the first pods came; now they run."""
    said = 'Failed to create pod sandbox: no runtime for "nvidia" is configured'
    document["kubernetes"]["events"].append(event("Pod", f"{PLUGIN}-0", "FailedCreatePodSandBox", said, 2.5))


def _condition(document: Document, number: int, reason: str, status: str = "False") -> None:
    conditions(document, number).append(
        {"type": "AcceleratedHardwareReady", "status": status, "reason": reason, "message": "see dmesg"}
    )


def _xid(document: Document, number: int) -> None:
    no_gpus(document, number)
    document["logs"][f"gpu-operator/{PLUGIN}-{number}/main"] = f"I1120 11:15:00.000001 1 health.go:159] {XID}"


def _lost_to_an_xid(document: Document) -> None:
    _xid(document, 0)
    _workload_prints(document, LOST)


def _debugged(document: Document) -> None:
    """The output of a debug pod on a healthy node is no evidence."""
    document["kubernetes"]["pods"].append(pod("node-debugger-ip-192-168-12-10-abcde", "default", 0))
    document["logs"]["default/node-debugger-ip-192-168-12-10-abcde/debugger"] = LOST


def _switched_off(document: Document, number: int) -> None:
    no_gpus(document, number)
    document["kubernetes"]["clusterpolicies"][0]["spec"]["devicePlugin"]["enabled"] = False
    document["kubernetes"]["daemonsets"] = [
        each for each in document["kubernetes"]["daemonsets"] if each["metadata"]["name"] != PLUGIN
    ]
    without(document, PLUGIN)


def _built_in(document: Document) -> None:
    """The operator's plugin is off because the node's image has its own plugin."""
    document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    without(document, PLUGIN)


def _missing(document: Document, number: int) -> None:
    no_gpus(document, number)
    without(document, f"{PLUGIN}-{number}", f"{VALIDATOR}-{number}")


def _restarted(document: Document) -> None:
    for each in document["kubernetes"]["pods"]:
        if each["metadata"]["name"] == f"{PLUGIN}-0":
            each["status"]["containerStatuses"][0] |= {
                "restartCount": 5,
                "lastState": {"terminated": {"exitCode": 1, "finishedAt": at(3)}},
            }


def _not_reconciled(document: Document, number: int) -> None:
    del number
    failed = policy("notReady", reason="ReconcileFailed", message="failed to create ServiceMonitor")
    document["kubernetes"]["clusterpolicies"][0]["status"] = failed["status"]


def _reconciles(document: Document) -> None:
    said = "ClusterPolicy is not ready, states not ready: [state-operator-validation]"
    document["kubernetes"]["clusterpolicies"] = [
        policy("notReady", reason="OperandNotReady", message=said, minute=18)
    ]


def _second_policy(document: Document) -> None:
    """The operator uses the first ClusterPolicy and ignores every other."""
    second = policy("ignored")
    second["metadata"]["name"] = "another"
    document["kubernetes"]["clusterpolicies"].insert(0, second)


def _validated_in_the_end(document: Document) -> None:
    """The validator retried until toolkit and plugin were ready."""
    for each in document["kubernetes"]["pods"]:
        if each["metadata"]["name"] == f"{VALIDATOR}-0":
            ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
            each["status"]["initContainerStatuses"] = [
                {"name": "cuda-validation", "ready": True, "restartCount": 4, "state": ended}
            ]


def _stuck(document: Document, number: int) -> None:
    name = f"{VALIDATOR}-{number}"
    stuck = waiting(
        pod(name, number=number), "CrashLoopBackOff", "back-off 5m0s", restarts=6, init="cuda-validation"
    )
    replace(document, stuck)


def _validates(document: Document) -> None:
    replace(document, waiting(pod(f"{VALIDATOR}-0", minute=18), "PodInitializing", init="cuda-validation"))


def _short(document: Document, number: int) -> None:
    """The device plugin found one GPU fewer than feature discovery and the instance type have."""
    _condition(document, number, "NvidiaDeviceCountMismatch")


def _shared(document: Document) -> None:
    """Four shared units of one GPU are not three extra GPUs, and a used unit is not a missing GPU."""
    for number in range(2):
        found = node_of(document, number)
        found["metadata"]["labels"]["nvidia.com/gpu.replicas"] = "4"
        for which in ("capacity", "allocatable"):
            found["status"][which]["nvidia.com/gpu"] = "4"
    without(document, "train-waits")


TOO_OLD = (
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver to a "
    "newer version, or use an earlier cuda container"
)
CDI = "CDI device injection failed: unresolvable CDI devices k8s.device-plugin.nvidia.com/gpu=GPU-8f6d2f2e"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
BROKEN = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is running."

CASES = (
    Case("driver-mismatch", lambda document, number: _plugin_prints(document, number, MISMATCH),
     lambda document: _plugin_prints(document, 0, BROKEN),
     lambda document: document["logs"].update({f"gpu-operator/{PLUGIN}-0/main": MISMATCH})),
    Case("driver-broken", lambda document, number: _plugin_prints(document, number, BROKEN),
     lambda document: _plugin_prints(document, 0, MISMATCH),
     lambda document: _workload_prints(document, "couldn't communicate with the parameter server, retrying")),
    Case("runtime-missing", _no_runtime, _no_sandbox, _sandbox_in_the_end),
    Case("xid", _xid, lambda document: _condition(document, 0, "NvidiaDeviceCountMismatch"),
     lambda document: document["logs"].update(
        {f"gpu-operator/{PLUGIN}-0/main": "NVRM: Xid (PCI:0000:00:1e): 31, pid=812, name=python"})),
    Case("gpu-lost", lambda document, number: _workload_prints(document, LOST, number), _lost_to_an_xid, _debugged),
    Case("device-plugin-disabled", _switched_off, lambda document: _missing(document, 0), _built_in),
    Case("operator-not-ready", _not_reconciled, _reconciles, _second_policy),
    Case("device-plugin-missing", _missing, lambda document: _switched_off(document, 0), _restarted),
    Case("gpu-count-short", _short, lambda document: _xid(document, 0), _shared),
    Case("driver-too-old", lambda document, number: _workload_fails(document, number, "RunContainerError", TOO_OLD),
     lambda document: _workload_fails(document, 0, "RunContainerError", MISMATCH),
     lambda document: _workload_prints(document, "cuda>=12.0 is satisfied")),
    Case("cdi-unresolvable", lambda document, number: _workload_fails(document, number, "CreateContainerError", CDI),
     lambda document: _workload_fails(document, 0, "CreateContainerError", TOO_OLD),
     lambda document: _workload_prints(document, "CDI devices resolved")),
    Case("validator-stuck", _stuck, _validates, _validated_in_the_end),
)  # fmt: skip
