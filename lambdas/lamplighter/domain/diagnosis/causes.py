"""Every cause that a diagnosis can name: its layer, its summary, what to do, and its source.

Findings are listed in this order: AWS, Kubernetes, NVIDIA, and within each layer the root first.
"""

from dataclasses import dataclass

from lamplighter.reasons.reason import Reason, reason


@dataclass(frozen=True)
class Cause:
    """One cause."""

    name: str
    layer: str
    summary: Reason
    shown_by: str
    """What its rule looks for. Like `source`, only the reference page has it, which is in English."""
    advice: Reason
    source: str
    takes_supply: bool = True
    """Whether GPUs are missing because of it, so that pods which wait for a GPU follow from it."""


_ALL = (
    Cause(
        "launch-denied",
        "aws",
        reason("finding.launch-denied"),
        "a launch activity, the node group's health or Karpenter's error that carries an authorisation text: "
        "UnauthorizedOperation, a KMS key that is refused, a missing service-linked role, an instance profile",
        reason("finding.launch-denied.advice"),
        "EC2 Auto Scaling user guide, troubleshooting launch failures",
    ),
    Cause(
        "vcpu-quota",
        "aws",
        reason("finding.vcpu-quota"),
        "VcpuLimitExceeded, MaxSpotInstanceCountExceeded or InstanceLimitExceeded, or their texts, in a launch "
        "activity, the node group's health or Karpenter's InsufficientCapacityError; or a quota smaller than what "
        "was asked, where nobody says more",
        reason("finding.vcpu-quota.advice"),
        "EC2 error codes; published lab transcripts",
    ),
    Cause(
        "no-addresses",
        "aws",
        reason("finding.no-addresses"),
        "InsufficientFreeAddresses in the node group's health or a launch activity; a subnet with 0 "
        "addresses beside missing nodes; a pod for which the network plugin has no address",
        reason("finding.no-addresses.advice"),
        "EKS managed node group health codes; amazon-vpc-cni-k8s",
    ),
    Cause(
        "no-capacity",
        "aws",
        reason("finding.no-capacity"),
        "InsufficientInstanceCapacity or no Spot capacity in a launch activity or in the node group's health, "
        "Karpenter's InsufficientCapacityError with no other inner code",
        reason("finding.no-capacity.advice"),
        "EC2 error codes; karpenter-provider-aws",
    ),
    Cause(
        "node-not-joined",
        "aws",
        reason("finding.node-not-joined"),
        "an instance that runs for 5 minutes and is no node; NodeCreationFailure, AccessDenied or "
        "Ec2SubnetInvalidConfiguration in the node group's health",
        reason("finding.node-not-joined.advice"),
        "EKS managed node group health codes; amazon-eks-ami",
    ),
    Cause(
        "wrong-ami",
        "aws",
        reason("finding.wrong-ami"),
        "a device plugin that cannot load NVML, or no GPU after 5 minutes, on an amiType or osImage "
        "without NVIDIA's driver, which the operator does not install either",
        reason("finding.wrong-ami.advice"),
        "k8s-device-plugin; amazon-eks-ami",
    ),
    Cause(
        "nccl-path-blocked",
        "aws",
        reason("finding.nccl-path-blocked"),
        "ranks on several nodes that time out in the rendezvous before NCCL prints a line, or in NCCL's "
        "own connect; or that print nothing for 3 minutes behind security groups that let no node reach "
        "another",
        reason("finding.nccl-path-blocked.advice"),
        "published lab transcripts; PyTorch c10d; NCCL",
        takes_supply=False,
    ),
    Cause(
        "bandwidth-throttled",
        "aws",
        reason("finding.bandwidth-throttled"),
        "event BandwidthInExceeded or BandwidthOutExceeded of the node",
        reason("finding.bandwidth-throttled.advice"),
        "eks-node-monitoring-agent",
        takes_supply=False,
    ),
    Cause(
        "node-not-ready",
        "kubernetes",
        reason("finding.node-not-ready"),
        "Ready is not True for more than 3 minutes after the node came, or its kubelet is not heard any more",
        reason("finding.node-not-ready.advice"),
        "kubelet; amazon-vpc-cni-k8s",
    ),
    Cause(
        "untolerated-taint",
        "kubernetes",
        reason("finding.untolerated-taint"),
        "a DaemonSet that the GPUs need, or a pod that asks for one, without a toleration for a taint of "
        "the pool's nodes; a ClusterPolicy may be ready all the same",
        reason("finding.untolerated-taint.advice"),
        "kube-scheduler; gpu-operator v26.3.1",
    ),
    Cause(
        "image-pull-failed",
        "kubernetes",
        reason("finding.image-pull-failed"),
        "ErrImagePull or ImagePullBackOff of a container, with no later success",
        reason("finding.image-pull-failed.advice"),
        "kubelet",
    ),
    Cause(
        "image-pull-slow",
        "kubernetes",
        reason("finding.image-pull-slow"),
        "a Pulled event that took 2 minutes or more, or a pull that lasts as long",
        reason("finding.image-pull-slow.advice"),
        "kubelet's Pulled event",
        takes_supply=False,
    ),
    Cause(
        "admission-refused",
        "kubernetes",
        reason("finding.admission-refused"),
        "a pod that failed with UnexpectedAdmissionError, and none of its owner that took over",
        reason("finding.admission-refused.advice"),
        "kubelet's device manager",
        takes_supply=False,
    ),
    Cause(
        "driver-mismatch",
        "nvidia",
        reason("finding.driver-mismatch"),
        '"Driver/library version mismatch" from the device plugin, the validator, the runtime or a pod '
        "that holds a GPU",
        reason("finding.driver-mismatch.advice"),
        "NVML",
    ),
    Cause(
        "driver-broken",
        "nvidia",
        reason("finding.driver-broken"),
        '"couldn\'t communicate with the NVIDIA driver" or "driver not loaded" from the same; "nvidia-container-cli: '
        'initialization error" or "detection error" from the runtime; CUDA\'s error 802',
        reason("finding.driver-broken.advice"),
        "nvidia-smi; libnvidia-container",
    ),
    Cause(
        "runtime-missing",
        "nvidia",
        reason("finding.runtime-missing"),
        '"no runtime for nvidia is configured" where a sandbox is made, a missing RuntimeClass or runtime, or a '
        "device plugin or workload that finds neither NVML nor nvidia-smi on an image that has the driver",
        reason("finding.runtime-missing.advice"),
        "containerd; nvidia-container-toolkit",
    ),
    Cause(
        "xid",
        "nvidia",
        reason("finding.xid"),
        "condition AcceleratedHardwareReady=False with a fatal XID, a double bit error or a failed DCGM "
        "diagnostic; a fatal XID in the device plugin's log; an uncorrectable ECC or NVLink error, or a GPU that "
        "requires a reset, in the words of CUDA or of the runtime",
        reason("finding.xid.advice"),
        "eks-node-monitoring-agent; k8s-device-plugin",
    ),
    Cause(
        "gpu-lost",
        "nvidia",
        reason("finding.gpu-lost"),
        '"Failed to initialize NVML: Unknown Error" from a pod that holds a GPU, or from the device plugin of a node '
        "that offers too few; a debug pod's word is none",
        reason("finding.gpu-lost.advice"),
        "NVML; nvidia-container-toolkit",
    ),
    Cause(
        "device-plugin-disabled",
        "nvidia",
        reason("finding.device-plugin-disabled"),
        "devicePlugin.enabled false in the ClusterPolicy, or a node label gpu.deploy.device-plugin or "
        "gpu.deploy.operands that is false, beside a node that offers no GPU",
        reason("finding.device-plugin-disabled.advice"),
        "gpu-operator v26.3.1",
    ),
    Cause(
        "operator-not-ready",
        "nvidia",
        reason("finding.operator-not-ready"),
        "no pod of the operator's own deployment for 5 minutes, or a ClusterPolicy that is notReady as "
        "long and nothing else explains it",
        reason("finding.operator-not-ready.advice"),
        "gpu-operator v26.3.1",
    ),
    Cause(
        "device-plugin-missing",
        "nvidia",
        reason("finding.device-plugin-missing"),
        "a Ready node that offers no GPU after 5 minutes and has no pod of the device plugin, or one "
        "that crashes and says nothing deeper",
        reason("finding.device-plugin-missing.advice"),
        "k8s-device-plugin; gpu-operator v26.3.1",
    ),
    Cause(
        "gpu-count-short",
        "nvidia",
        reason("finding.gpu-count-short"),
        "allocatable below capacity, below what feature discovery counts or below the instance type; "
        "NvidiaDeviceCountMismatch alone",
        reason("finding.gpu-count-short.advice"),
        "eks-node-monitoring-agent; k8s-device-plugin",
    ),
    Cause(
        "driver-too-old",
        "nvidia",
        reason("finding.driver-too-old"),
        '"unsatisfied condition: cuda" from the runtime about a container; CUDA\'s errors 35, 222 and 804, or '
        "PyTorch's words for them, from a pod or the validator's workload",
        reason("finding.driver-too-old.advice"),
        "libnvidia-container",
        takes_supply=False,
    ),
    Cause(
        "cdi-unresolvable",
        "nvidia",
        reason("finding.cdi-unresolvable"),
        '"unresolvable CDI devices", or "device error: unknown device" without CDI, from the runtime about a container',
        reason("finding.cdi-unresolvable.advice"),
        "nvidia-container-toolkit; containerd",
        takes_supply=False,
    ),
    Cause(
        "validator-stuck",
        "nvidia",
        reason("finding.validator-stuck"),
        "an init container of the operator's validator that crashes again and again or lasts longer than "
        "5 minutes",
        reason("finding.validator-stuck.advice"),
        "gpu-operator v26.3.1",
        takes_supply=False,
    ),
    Cause(
        "unknown",
        "kubernetes",
        reason("finding.unknown"),
        "something is not as expected and no rule names it: a pod that fails or waits, a refused launch and a "
        "condition of a node are told with their own text; the finding says what was not read",
        reason("finding.unknown.advice"),
        "this diagnosis",
        takes_supply=False,
    ),
)

CAUSES = {cause.name: cause for cause in _ALL}
