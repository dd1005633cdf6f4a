"""Ready nodes without their GPUs, rule by rule: their pods, their DaemonSets, their image, and what ends the search."""

from typing import Any

from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at_work,
    daemonset,
    event,
    healthy,
    node,
    pod,
    policy,
    waiting,
    without_gpus,
    without_plugin,
)
from tests.unit.diagnosis.table import DEAD, UNREAD, given, table

NODE = NODES[0]
PLUGIN = "nvidia-device-plugin-daemonset"
MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"
SHORT = ("gpu-count-short", NODE, f"{NODE} offers 0 of its 1 GPUs")
UNCOUNTED = f"{NODE} offers 0 of its 1 GPUs"
BACK_OFF = ("CrashLoopBackOff", "back-off")
PLAIN = "AL2023_x86_64_STANDARD"
TOOLKIT = daemonset("nvidia-container-toolkit", 0, tolerates=False)


def pulling(name: str, namespace: str = "gpu-operator") -> Document:
    return event("Pod", name, "Pulling", "Pulling image", 4, namespace=namespace)


def by_itself(image: str, **parts: Any) -> Document:
    """A node of EKS Auto Mode, which brings its plugin; the operator's is switched off there by a label."""
    labels = {"eks.amazonaws.com/compute-type": "auto", "nvidia.com/gpu.deploy.operands": "false"}
    paths = {f"metadata labels {label}": value for label, value in labels.items()}
    return given(without_plugin(), node={**paths, "status nodeInfo osImage": image}, **parts)


def of_two_daemonsets() -> Document:
    first, second = daemonset("nvidia-gpu-device-plugin", 3), daemonset(desired=5)
    first["spec"]["template"]["spec"]["nodeSelector"] = {"lab": "first"}
    return given(without_plugin(), daemonsets=[first, second])


def of_two_containers() -> Document:
    broken = waiting(pod(f"{PLUGIN}-0"), *BACK_OFF, restarts=1)
    status = broken["status"]["containerStatuses"][0]
    broken["status"]["containerStatuses"] = [{**status, "name": name} for name in ("main", "sidecar")]
    return broken


SERVICE = (
    "its image ({}) runs the device plugin as a service of the node, without a pod or a log in the cluster"
)
ROCKET = "Bottlerocket OS 1.50.0 (aws-k8s-1.35-nvidia)"
MAIN = f"gpu-operator/{PLUGIN}-0: container main: back-off"


test_a_node_without_gpus = table(
    ("it is waited for since its plugin was made and not since any other pod",
     given(without_gpus(8), pod("gpu-feature-discovery-0", minute=6)), [("gpus-announced", NODE, "11:03:00")]),
    *((f"no label switches off a plugin that the node brings: {image or 'EKS Auto Mode'}", by_itself(image),
       [("device-plugin-missing", NODE, MISSING, SERVICE.format(image or "EKS Auto Mode"))]) for image in (ROCKET, "")),
    *((f"unless its GPU is dead: {image or 'EKS Auto Mode'}", by_itself(image, conditions=[DEAD]), ["xid"])
      for image in (ROCKET, "")),
    ("a plugin that runs after it was switched off is not off",
     given(without_gpus(), clusterpolicies=[policy(devicePlugin={"enabled": False})]), [SHORT]),
    ("of two DaemonSets the one that a GPU needs is named",
     given(without_plugin(6), daemonsets=[daemonset("nvidia-dcgm", 0, tolerates=False), TOOLKIT]),
     [("untolerated-taint", "gpu-operator/nvidia-container-toolkit")]),
    ("a taint is not blamed on a node that has its plugin", given(without_gpus(), daemonsets=[TOOLKIT]), [SHORT]),
    ("what the policy does not tolerate ends the search",
     given(without_plugin(), daemonsets=UNREAD, clusterpolicies=[policy(daemonsets={"tolerations": []})]),
     ["untolerated-taint"]),
    ("a slow pull ends the search", given(without_gpus(6.5), pod(f"{PLUGIN}-0", phase="Pending", minute=5),
     gone="train", events=[pulling(f"{PLUGIN}-0")]), ["image-pull-slow"]),
    ("a failed pull ends the search", given(without_gpus(6), waiting(pod(f"{PLUGIN}-0", minute=5), "ErrImagePull",
     "gone"), gone="train"), ["image-pull-failed"]),
    ("also with NVIDIA's own words", given(healthy(1), waiting(pod(f"{PLUGIN}-0"), "ImagePullBackOff",
     'Back-off pulling image "nvcr.io/nvidia/k8s-device-plugin:v0"'), node={"status allocatable nvidia.com/gpu": "0"},
     gone="train-0"), ["image-pull-failed"]),
    ("a pull of a workload or of a plugin that works does not",
     given(without_gpus(), pod("train-9", "lab", gpus=1, phase="Pending"),
           events=[pulling("train-9", "lab"), pulling(f"{PLUGIN}-0")]), [SHORT]),
    ("a plugin's DaemonSet says nothing where pods were not read", given(without_plugin(), pods=UNREAD, events=[]),
     [("unknown", POOL, UNCOUNTED, "not read: kubernetes.pods")]),
    ("no DaemonSet is missed where they were not read", given(without_plugin(), daemonsets=UNREAD),
     [("unknown", POOL, UNCOUNTED, "not read: kubernetes.daemonsets")]),
    ("of two DaemonSets of the plugin the first is asked for its pod", of_two_daemonsets(),
     [("device-plugin-missing", NODE, MISSING,
       f"DaemonSet nvidia-gpu-device-plugin has no pod on {NODE}; desired pods in the cluster: 3",
       f"{NODE} lacks the label lab=first")]),
    ("of two containers that crash the first speaks for the plugin", given(at_work(), of_two_containers()),
     [("device-plugin-missing", NODE, MAIN)]),
    ("with its restarts where the node offers none", given(without_gpus(), of_two_containers()),
     [("device-plugin-missing", NODE, f"{MAIN}, 1 restart")]),
)  # fmt: skip


NVML = waiting(pod("train-0", "lab", gpus=1), "RunContainerError", "libnvidia-ml.so.1 is missing")


def printed(log: str, *, crashes: bool = True, **parts: Any) -> Document:
    """A plugin that crashed and printed this, on a node that offers no GPU."""
    pods = [waiting(pod(f"{PLUGIN}-0"), *BACK_OFF, restarts=7)] if crashes else []
    return given(without_gpus(), *pods, logs={f"gpu-operator/{PLUGIN}-0": log}, **parts)


LOGS = (
    # k8s-device-plugin, factory.go, where its own container may not open the device: its issue 1302.
    ("Failed to initialize NVML: Unknown Error\nNo devices found. Waiting indefinitely.", False, "gpu-lost"),
    ("error getting device handle for index '0': GPU is lost", True, "gpu-lost"),
    ("nvml init failed: ERROR_LIBRARY_NOT_FOUND", True, "runtime-missing"),
    ("Failed to initialize NVML: Driver Not Loaded", True, "driver-broken"),
    ("Starting GRPC server for 'nvidia.com/gpu'", False, "gpu-count-short"),
    ("failed to create FS watcher: too many open files", True, "device-plugin-missing"),
    ("panic: runtime error", True, "device-plugin-missing"),
    ("", True, "device-plugin-missing"),
    ("E1120 11:10:00.1 Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1", True,
     "runtime-missing"),
    ("Incompatible platform detected", True, "runtime-missing"),
    ("Failed to initialize NVML: Driver/library version mismatch", True, "driver-mismatch"),
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", True, "driver-broken"),
    # From before the expectation began.
    ("I1120 10:10:00.000000 1 main.go:1] Driver/library version mismatch", True, "device-plugin-missing"),
    (("Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1\n"
      "Registered device plugin for 'nvidia.com/gpu' with Kubelet\n"), False, "gpu-count-short"),
)  # fmt: skip


test_a_plugin_that_sees_no_gpu_says_why = table(
    *((f"its log: {log[:60]!r}", printed(log, crashes=crashes), [cause]) for log, crashes, cause in LOGS),
    ("not what it printed before it registered", given(at_work(), logs={f"gpu-operator/{PLUGIN}-0":
     "Failed to initialize NVML: Unknown Error\nRegistered device plugin for 'nvidia.com/gpu' with Kubelet"}), []),
    ("not a mismatch of before, for it works now",
     given(healthy(), logs={f"gpu-operator/{PLUGIN}-0": "Driver/library version mismatch"}), []),
    ("a log that was kept without its pod", given(without_gpus(), gone="nvidia-device",
     logs={f"gpu-operator/{PLUGIN}-gone": "could not load NVML library"}), ["runtime-missing"]),
    ("a missing library on a plain image is the image's fault",
     printed("nvml init failed: ERROR_LIBRARY_NOT_FOUND", group={"amiType": PLAIN}), ["wrong-ami"]),
    ("not where the operator installs the driver", printed("could not load NVML library: libnvidia-ml.so.1",
     group={"amiType": PLAIN}, clusterpolicies=[policy(driver={"enabled": True})]), ["runtime-missing"]),
    ("an image is known by its system too", printed("could not load NVML library: libnvidia-ml.so.1",
     group={"amiType": UNREAD}, node={"status nodeInfo osImage": "Bottlerocket OS 1.50.0 (aws-k8s-1.35)"}),
     ["wrong-ami"]),
    *((f"of a workload: {image}", given(at_work(NVML), group={"amiType": UNREAD},
       node={"status nodeInfo osImage": f"Bottlerocket OS 1.50.0 {image}"}), [cause])
      for image, cause in (("(aws-k8s-1.35-nvidia)", "runtime-missing"), ("(aws-k8s-1.35)", "wrong-ami"))),
)  # fmt: skip


def kinds(kind: str, status: str) -> Document:
    return given(
        at_work(), conditions=[{"type": kind, "status": status, "reason": "Odd", "message": "see there"}]
    )


def unready(said: str) -> Document:
    """A node that is not Ready, and whose network plugin says this."""
    document = given(
        at_work(),
        events=[event("Pod", "aws-node-1", "FailedCreatePodSandBox", said, namespace="kube-system")],
    )
    document["kubernetes"]["nodes"][1] = node(0, ready=False)
    return document


test_another_condition_of_a_node_is_told = table(
    *((f"{kind}={status}", kinds(kind, status), [("unknown", POOL, f"{NODE} {kind}={status}, Odd: see there")])
      for kind, status in (
        # eks-node-monitoring-agent, beside AcceleratedHardwareReady; then the kubelet.
        ("KernelReady", "False"), ("StorageReady", "False"), ("NetworkingReady", "False"),
        ("ContainerRuntimeReady", "False"), ("DiskPressure", "True"), ("MemoryPressure", "True"),
        ("PIDPressure", "True"), ("NetworkUnavailable", "True"))),
    *((f"not {kind}={status}", kinds(kind, status), []) for kind, status in (
        ("KernelReady", "True"), ("KernelReady", "Unknown"), ("DiskPressure", "False"), ("SomebodyElses", "False"))),
    # amazon-vpc-cni-k8s, issue 3104.
    ("a network plugin that waits for NVIDIA's runtime is not the root", unready("OCI runtime create failed: fork/exec "
     "/usr/bin/nvidia-container-runtime: no such file or directory"), [("runtime-missing", NODE)]),
    ("but one that fails by itself", unready("plugin type aws-cni failed"), ["node-not-ready"]),
)  # fmt: skip
