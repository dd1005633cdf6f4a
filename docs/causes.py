"""The reference page of the causes that a diagnosis names, from the table of the rules and that of the stages."""

from dataclasses import dataclass

from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.diagnosis.stages import ProvisioningStage

HEAD = """# Causes

Generated from the diagnosis by `make docs`. These are all causes that `lamplighter diagnose`, an announcement, `why`
and a receipt can name. [How to read a finding](../../how-to/trouble/read-a-finding.md) explains its other parts.

Findings come in the order of this page: AWS, then Kubernetes, then NVIDIA, and within each the root cause first. A
diagnosis does not list symptoms that a cause explains. For example, missing nodes explain waiting pods, and a
switched-off device plugin explains `Insufficient nvidia.com/gpu`. A diagnosis lists both of two independent causes.
"""
LAYERS = {"aws": "AWS", "kubernetes": "Kubernetes", "nvidia": "NVIDIA"}
STAGES = """## Stages

A stage within its normal time is in progress and is no finding. Only this table decides that a stage is late.
`expected.since` and `now` of the snapshot give its duration so far.

| stage | normally done within |
|---|---|
"""


@dataclass(frozen=True)
class Rule:
    """How the diagnosis recognises a cause."""

    shown_by: str
    source: str
    """The source of the symptom."""


RULES = {
    "launch-denied": Rule(
        "an authorisation text in a launch activity, the node group's health or Karpenter's error: "
        "UnauthorizedOperation, a refused KMS key, an instance profile; or AWS's words about an account that is held "
        "back: the Free plan, a pending verification, a block or a missing service-linked role, each with its own "
        "advice",
        "EC2 Auto Scaling user guide, troubleshooting launch failures",
    ),
    "vcpu-quota": Rule(
        "VcpuLimitExceeded, MaxSpotInstanceCountExceeded or InstanceLimitExceeded, or their texts, in a launch "
        "activity, the node group's health or Karpenter's InsufficientCapacityError; or, without such a text, a quota "
        "smaller than the order",
        "EC2 error codes; published lab transcripts",
    ),
    "no-addresses": Rule(
        "InsufficientFreeAddresses in the node group's health or a launch activity; a subnet with 0 "
        "addresses while nodes are missing; a pod for which the network plugin has no address",
        "EKS managed node group health codes; amazon-vpc-cni-k8s",
    ),
    "no-capacity": Rule(
        "InsufficientInstanceCapacity or no Spot capacity in a launch activity or in the node group's health, "
        "Karpenter's InsufficientCapacityError with no other inner code",
        "EC2 error codes; karpenter-provider-aws",
    ),
    "node-class-not-ready": Rule(
        "a condition of the EC2NodeClass or NodeClass that is False, such as AMIsReady with AMINotFound, or a class "
        "that is not Ready after 2 minutes; a NodePool whose class does not exist. A right that Karpenter's dry runs "
        "miss is `launch-denied`",
        "karpenter-provider-aws v1.14.3",
    ),
    "node-not-joined": Rule(
        "an instance that has run for 5 minutes and is no node, or a younger one if Karpenter gave up another after 15 "
        "minutes; NodeCreationFailure, AccessDenied or Ec2SubnetInvalidConfiguration in the node group's health",
        "EKS managed node group health codes; amazon-eks-ami; karpenter",
    ),
    "wrong-ami": Rule(
        "a device plugin that cannot load NVML, or no GPU after 5 minutes, on an amiType or osImage "
        "without NVIDIA's driver, if the operator does not install the driver; an instance with a Deep Learning AMI "
        "that is no node after 5 minutes",
        "k8s-device-plugin; amazon-eks-ami; document 001",
    ),
    "wrong-instance-type": Rule(
        'a node of a NodePool whose instance type has no NVIDIA GPU; "exec format error" from a container; a launch '
        'that EC2 refuses because the type "is not supported in your requested Availability Zone"',
        "documents 000 and 001; karpenter-provider-aws; EC2",
    ),
    "nccl-path-blocked": Rule(
        "ranks on several nodes that time out in the rendezvous before NCCL prints a line, or in NCCL's "
        "own connect; or ranks that print nothing for 3 minutes, while the security groups block traffic "
        "between nodes",
        "published lab transcripts; PyTorch c10d; NCCL",
    ),
    "bandwidth-throttled": Rule(
        "event BandwidthInExceeded or BandwidthOutExceeded of the node",
        "eks-node-monitoring-agent",
    ),
    "interruptions-unheard": Rule(
        "a line of Karpenter's log in the last 20 minutes with `NonExistentQueue` or `QueueDoesNotExist`, if the "
        "pool is Karpenter's",
        "karpenter-provider-aws v1.14.3; SQS",
    ),
    "karpenter-not-ready": Rule(
        "a Deployment of Karpenter that has no available pod for 5 minutes, has 0 replicas, crashes or is absent, or "
        "absent CustomResourceDefinitions, if the pool is Karpenter's",
        "karpenter-provider-aws v1.14.3",
    ),
    "launch-barred": Rule(
        "a NodePool that asks for more nodes than it has NodeClaims, beside a refusal by the launch bar in Karpenter's "
        "log, or a bar that is shut",
        "Kubernetes, ValidatingAdmissionPolicy; karpenter",
    ),
    "node-not-ready": Rule(
        "Ready is not True for more than 3 minutes after the node came, or its kubelet no longer reports",
        "kubelet; amazon-vpc-cni-k8s",
    ),
    "untolerated-taint": Rule(
        "a DaemonSet that the GPUs need, or a pod that asks for one, without a toleration for a taint of "
        "the pool's nodes; the ClusterPolicy may still be ready. Also the worker of Node Feature Discovery in "
        "the device-plugin chart, beside a GPU feature discovery whose labels are missing",
        "kube-scheduler; gpu-operator v26.3.1; values.yaml of nvidia-device-plugin 0.18.2",
    ),
    "image-pull-failed": Rule(
        "ErrImagePull or ImagePullBackOff of a container, with no later success",
        "kubelet",
    ),
    "image-pull-slow": Rule(
        "a Pulled event of 2 minutes or more, or a pull that has lasted 2 minutes",
        "kubelet's Pulled event",
    ),
    "admission-refused": Rule(
        "a pod that failed with UnexpectedAdmissionError, without a new pod of its owner",
        "kubelet's device manager",
    ),
    "pods-not-evicted": Rule(
        "PodEvictionFailure in the node group's health, or in an update of its version that no later one made history; "
        "a NodeClaim that has drained its node for more than 2 minutes",
        "EKS user guide, managed-node-update-behavior; EKS service model; karpenter",
    ),
    "driver-mismatch": Rule(
        '"Driver/library version mismatch" from the device plugin, the validator, the runtime or a pod '
        "that holds a GPU",
        "NVML",
    ),
    "driver-broken": Rule(
        "FabricManagerNotRunning of the node monitoring agent; "
        '"couldn\'t communicate with the NVIDIA driver" or "driver not loaded" from the same sources; '
        '"nvidia-container-cli: initialization error" or "detection error" from the runtime; CUDA\'s error 802',
        "nvidia-smi; libnvidia-container",
    ),
    "runtime-missing": Rule(
        '"no runtime for nvidia is configured" when a sandbox is created, a missing RuntimeClass or runtime, or a '
        "device plugin or workload that finds neither NVML nor nvidia-smi on an image that has the driver",
        "containerd; nvidia-container-toolkit",
    ),
    "xid": Rule(
        "condition AcceleratedHardwareReady=False with an XID, a memory, NVLink or fabric error, a failed DCGM "
        "diagnostic or a DCGM health code of hardware; an XID in a log for which NVIDIA's table asks for a reset, a "
        "reboot or a new machine; an uncorrectable ECC or NVLink error, or a GPU that requires a reset, in a message "
        "of CUDA or of the runtime. The advice follows NVIDIA's table: isolate, reboot, reset or watch; XID 154 "
        "brings its own, and an SXid beside XID 74 is quoted. An XID that the table does not have is `unknown`, and so "
        "is DCGMError, a fault of the monitoring itself",
        "NVIDIA's XID catalog; DCGM; eks-node-monitoring-agent; k8s-device-plugin",
    ),
    "gpu-lost": Rule(
        '"Failed to initialize NVML: Unknown Error" from a pod that holds a GPU, or from the device plugin of a node '
        "that offers too few; messages of a debug pod do not count",
        "NVML; nvidia-container-toolkit",
    ),
    "device-plugin-disabled": Rule(
        "devicePlugin.enabled false in the ClusterPolicy, or a node label gpu.deploy.device-plugin or "
        "gpu.deploy.operands that is false, while a node offers no GPU",
        "gpu-operator v26.3.1",
    ),
    "operator-not-ready": Rule(
        "no pod of the operator's own deployment for 5 minutes, or a ClusterPolicy that is notReady for "
        "5 minutes without another explanation",
        "gpu-operator v26.3.1",
    ),
    "device-plugin-missing": Rule(
        "a Ready node that offers no GPU after 5 minutes and has no pod of the device plugin, with the reason where "
        "Kubernetes refuses to create it (FailedCreate: Pod Security, a quota); or one that crashes without a known "
        "message",
        "k8s-device-plugin; gpu-operator v26.3.1",
    ),
    "gpu-count-short": Rule(
        "allocatable below capacity, below the count of feature discovery or below the instance type; "
        "NvidiaDeviceCountMismatch alone",
        "eks-node-monitoring-agent; k8s-device-plugin",
    ),
    "driver-too-old": Rule(
        '"unsatisfied condition: cuda" from the runtime about a container; CUDA\'s errors 35, 222 and 804, or '
        "PyTorch's messages for them, from a pod or the validator's workload. A node without GPUs whose type needs a "
        "newer driver (g7: 595) than its labels, its Bottlerocket image or the release of its AL2023 image has",
        "libnvidia-container; awslabs/amazon-eks-ami release v20260917",
    ),
    "cdi-unresolvable": Rule(
        '"unresolvable CDI devices", or "device error: unknown device" without CDI, from the runtime about a container',
        "nvidia-container-toolkit; containerd",
    ),
    "validator-stuck": Rule(
        "an init container of the operator's validator that crashes repeatedly or runs longer than 5 minutes",
        "gpu-operator v26.3.1",
    ),
    "unknown": Rule(
        "something is not as expected and no rule names it: the finding quotes the text of a failed or waiting pod, "
        "of a refused launch or of a node's condition, and says what was not read",
        "this diagnosis",
    ),
}
"""By cause."""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for layer, title in LAYERS.items():
        parts.append(f"## {title}\n")
        for cause in CAUSES.values():
            if cause.layer == layer:
                summary = str(cause.summary)
                parts += [
                    f"### {cause.name}\n",
                    f"{summary[0].upper()}{summary[1:]}.\n",
                    f"- Shown by: {RULES[cause.name].shown_by}.",
                    f"- What to do: {cause.advice}",
                    f"- Known from: {RULES[cause.name].source}.\n",
                ]
    rows = [f"| {stage.label} | {int(stage.normal.total_seconds())} s |" for stage in ProvisioningStage]
    return "\n".join([*parts, STAGES + "\n".join(rows)]) + "\n"
