"""Every cause a diagnosis can name: its layer, one line of what it is, what to do, and its source.

The order is the order in which findings are listed: AWS, Kubernetes, NVIDIA, each root first.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One cause. `takes_supply`: while it holds, GPUs are missing, and pods that wait for one follow from it."""

    name: str
    layer: str
    summary: str
    shown_by: str
    advice: str
    source: str
    takes_supply: bool = True


_ALL = (
    Cause(
        "launch-denied",
        "aws",
        "AWS refuses to launch the instance: a permission, a key or a service-linked role is missing",
        "a launch activity, the node group's health or Karpenter's error that carries an authorisation text: "
        "UnauthorizedOperation, a KMS key that is refused, a missing service-linked role, an instance profile",
        "Read the refused action in the evidence; grant it to the role that Auto Scaling or Karpenter uses, "
        "allow AWSServiceRoleForAutoScaling on the KMS key of the volumes, or create the service-linked role.",
        "EC2 Auto Scaling user guide, troubleshooting launch failures",
    ),
    Cause(
        "vcpu-quota",
        "aws",
        "the account's vCPU quota for this kind of instance is used up",
        "VcpuLimitExceeded, MaxSpotInstanceCountExceeded or InstanceLimitExceeded, or their texts, in a launch "
        "activity, the node group's health or Karpenter's InsufficientCapacityError; or a quota smaller than what "
        "was asked, where nobody says more",
        "Ask for a higher quota in Service Quotas (G and VT: L-DB2E81BA, P: L-417A185B), or open fewer nodes.",
        "EC2 error codes; published lab transcripts",
    ),
    Cause(
        "no-addresses",
        "aws",
        "a subnet has no free address left",
        "InsufficientFreeAddresses in the node group's health or a launch activity; a subnet with 0 "
        "addresses beside missing nodes; a pod for which the network plugin has no address",
        "Free addresses in the subnet, or give the pool a larger one; prefix delegation needs whole /28 blocks.",
        "EKS managed node group health codes; amazon-vpc-cni-k8s",
    ),
    Cause(
        "no-capacity",
        "aws",
        "AWS has no capacity of this instance type in this zone now",
        "InsufficientInstanceCapacity or no Spot capacity in a launch activity or in the node group's health, "
        "Karpenter's InsufficientCapacityError with no other inner code",
        "Wait (the group keeps trying), use another zone or a similar instance type, or reserve capacity.",
        "EC2 error codes; karpenter-provider-aws",
    ),
    Cause(
        "node-not-joined",
        "aws",
        "the instance runs and has not become a node of the cluster",
        "an instance that runs for 5 minutes and is no node; NodeCreationFailure, AccessDenied or "
        "Ec2SubnetInvalidConfiguration in the node group's health",
        "Check the node role's access entry, the subnet's route to the cluster endpoint and the node security "
        "group; on the instance: `journalctl -u nodeadm-config -u kubelet` through SSM.",
        "EKS managed node group health codes; amazon-eks-ami",
    ),
    Cause(
        "wrong-ami",
        "aws",
        "the node's image has no NVIDIA driver",
        "a device plugin that cannot load NVML, or no GPU after 5 minutes, on an amiType or osImage "
        "without NVIDIA's driver, which the operator does not install either",
        "Give the node group an NVIDIA image (AL2023_x86_64_NVIDIA, BOTTLEROCKET_x86_64_NVIDIA), or let the "
        "operator install driver and toolkit.",
        "k8s-device-plugin; amazon-eks-ami",
    ),
    Cause(
        "nccl-path-blocked",
        "aws",
        "the nodes cannot reach each other on the ports that NCCL and its rendezvous use",
        "ranks on several nodes that time out in the rendezvous before NCCL prints a line, or in NCCL's "
        "own connect; or that print nothing for 3 minutes behind security groups that let no node reach "
        "another",
        "Allow 1025-65535/tcp from the node security group to itself (or the VPC in the auxiliary group).",
        "published lab transcripts; PyTorch c10d; NCCL",
        takes_supply=False,
    ),
    Cause(
        "bandwidth-throttled",
        "aws",
        "the instance used up its burst of network bandwidth and is held at its baseline",
        "event BandwidthInExceeded or BandwidthOutExceeded of the node",
        "Expect the baseline (g5.xlarge: 2.5 Gb/s), wait until the burst refills, or use a larger instance.",
        "eks-node-monitoring-agent",
        takes_supply=False,
    ),
    Cause(
        "node-not-ready",
        "kubernetes",
        "the node has joined and is not Ready",
        "Ready is not True for more than 3 minutes after the node came, or its kubelet is not heard any more",
        "Look at the reason of its Ready condition; for the network plugin: the aws-node pod on that node.",
        "kubelet; amazon-vpc-cni-k8s",
    ),
    Cause(
        "untolerated-taint",
        "kubernetes",
        "a taint of the GPU nodes is not tolerated, so nothing that needs the GPU is placed there",
        "a DaemonSet that the GPUs need, or a pod that asks for one, without a toleration for a taint of "
        "the pool's nodes; a ClusterPolicy may be ready all the same",
        "Add a toleration for exactly this key, value and effect: for the operator's DaemonSets in "
        "ClusterPolicy daemonsets.tolerations, for a workload in its pod.",
        "kube-scheduler; gpu-operator v26.3.1",
    ),
    Cause(
        "image-pull-failed",
        "kubernetes",
        "an image cannot be pulled",
        "ErrImagePull or ImagePullBackOff of a container, with no later success",
        "Check the image's name and tag, the registry's rate limit for your NAT address, and its credentials.",
        "kubelet",
    ),
    Cause(
        "image-pull-slow",
        "kubernetes",
        "an image takes very long to pull",
        "a Pulled event that took 2 minutes or more, or a pull that lasts as long",
        "Use a registry near by (public.ecr.aws, ECR with a pull-through cache) or a smaller image; the time "
        "does not come back, later starts on the same node are quick.",
        "kubelet's Pulled event",
        takes_supply=False,
    ),
    Cause(
        "admission-refused",
        "kubernetes",
        "the kubelet refused the pod because the GPU it was promised is not available there",
        "a pod that failed with UnexpectedAdmissionError, and none of its owner that took over",
        "Delete the pod so that it is placed again; if it repeats, restart the device plugin on that node.",
        "kubelet's device manager",
        takes_supply=False,
    ),
    Cause(
        "driver-mismatch",
        "nvidia",
        "the loaded driver and its library are of different versions",
        '"Driver/library version mismatch" from the device plugin, the validator, the runtime or a pod '
        "that holds a GPU",
        "Reboot or replace the node: its driver was updated while it was in use.",
        "NVML",
    ),
    Cause(
        "driver-broken",
        "nvidia",
        "the NVIDIA driver does not answer",
        '"couldn\'t communicate with the NVIDIA driver" or "driver not loaded" from the same; "nvidia-container-cli: '
        'initialization error" or "detection error" from the runtime; CUDA\'s error 802',
        "Replace the node; if it repeats with a fresh one, change the AMI release.",
        "nvidia-smi; libnvidia-container",
    ),
    Cause(
        "runtime-missing",
        "nvidia",
        "containers on the node do not get the NVIDIA runtime",
        '"no runtime for nvidia is configured" where a sandbox is made, a missing RuntimeClass or runtime, or a '
        "device plugin or workload that finds neither NVML nor nvidia-smi on an image that has the driver",
        "Enable the container toolkit (toolkit.enabled) or use an image that brings it; check that containerd "
        "has a runtime named nvidia.",
        "containerd; nvidia-container-toolkit",
    ),
    Cause(
        "xid",
        "nvidia",
        "the GPU reported a fatal hardware error",
        "condition AcceleratedHardwareReady=False with a fatal XID, a double bit error or a failed DCGM "
        "diagnostic; a fatal XID in the device plugin's log; an uncorrectable ECC or NVLink error, or a GPU that "
        "requires a reset, in the words of CUDA or of the runtime",
        "Drain and replace the node; report the XID to AWS support if it repeats on new instances.",
        "eks-node-monitoring-agent; k8s-device-plugin",
    ),
    Cause(
        "gpu-lost",
        "nvidia",
        "a running pod lost its GPU",
        '"Failed to initialize NVML: Unknown Error" from a pod that holds a GPU, or from the device plugin of a node '
        "that offers too few; a debug pod's word is none",
        "Delete the pod; if a new one on that node sees no GPU either, replace the node.",
        "NVML; nvidia-container-toolkit",
    ),
    Cause(
        "device-plugin-disabled",
        "nvidia",
        "the device plugin is switched off, so the nodes offer no GPU",
        "devicePlugin.enabled false in the ClusterPolicy, or a node label gpu.deploy.device-plugin or "
        "gpu.deploy.operands that is false, beside a node that offers no GPU",
        "Set devicePlugin.enabled to true in the operator's values, or take the label gpu.deploy away; "
        "the GPUs come back in about 40 seconds.",
        "gpu-operator v26.3.1",
    ),
    Cause(
        "operator-not-ready",
        "nvidia",
        "the GPU Operator is not ready",
        "no pod of the operator's own deployment for 5 minutes, or a ClusterPolicy that is notReady as "
        "long and nothing else explains it",
        "Look at the conditions of the ClusterPolicy and at the operator's own pod and log.",
        "gpu-operator v26.3.1",
    ),
    Cause(
        "device-plugin-missing",
        "nvidia",
        "no working device plugin runs on the node, so it offers no GPU",
        "a Ready node that offers no GPU after 5 minutes and has no pod of the device plugin, or one "
        "that crashes and says nothing deeper",
        "Install or restart the device plugin; look at its pod's log.",
        "k8s-device-plugin; gpu-operator v26.3.1",
    ),
    Cause(
        "gpu-count-short",
        "nvidia",
        "the node offers fewer GPUs than its instance type has",
        "allocatable below capacity, below what feature discovery counts or below the instance type; "
        "NvidiaDeviceCountMismatch alone",
        "Compare `nvidia-smi -L` on the node with the instance type; drain and replace the node.",
        "eks-node-monitoring-agent; k8s-device-plugin",
    ),
    Cause(
        "driver-too-old",
        "nvidia",
        "an image needs a newer CUDA than the node's driver supports",
        '"unsatisfied condition: cuda" from the runtime about a container; CUDA\'s errors 35, 222 and 804, or '
        "PyTorch's words for them, from a pod or the validator's workload",
        "Use an image for an older CUDA, or a newer AMI release.",
        "libnvidia-container",
        takes_supply=False,
    ),
    Cause(
        "cdi-unresolvable",
        "nvidia",
        "the container runtime does not know the GPU by the name it was given",
        '"unresolvable CDI devices", or "device error: unknown device" without CDI, from the runtime about a container',
        "Restart the container toolkit and the device plugin on the node, so that its CDI files are written anew.",
        "nvidia-container-toolkit; containerd",
        takes_supply=False,
    ),
    Cause(
        "validator-stuck",
        "nvidia",
        "the operator's validator does not get through",
        "an init container of the operator's validator that crashes again and again or lasts longer than "
        "5 minutes",
        "Read the log of the named init container: it says which part of the GPU's software does not work.",
        "gpu-operator v26.3.1",
        takes_supply=False,
    ),
    Cause(
        "unknown",
        "kubernetes",
        "what was expected is not there, and what was read does not say why",
        "something is not as expected and no rule names it: a pod that fails or waits, a refused launch and a "
        "condition of a node are told with their own text; the finding says what was not read",
        "Collect what the evidence names as missing and diagnose again.",
        "this diagnosis",
        takes_supply=False,
    ),
)

CAUSES = {cause.name: cause for cause in _ALL}
