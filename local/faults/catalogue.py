"""Every fault that the embedded cloud can play. Its name is the cause that a diagnosis then finds, if any does.

It explains to people what each fault does, whom it affects, when it shows, and what heals when it is off. local/aws and
local/fleet play the faults.
"""

from dataclasses import dataclass
from enum import Enum


class Reach(Enum):
    """What a fault affects: a pool of the lab (or each of them), or what all pools share."""

    POOL = "pool"
    CLUSTER = "cluster"
    ACCOUNT = "account"


@dataclass(frozen=True)
class Fault:
    """`does` and `expect` are sentences for people. `heals` says what works again once it is off."""

    name: str
    does: str
    on: str
    expect: str
    heals: str
    reach: Reach = Reach.POOL
    diagnosed: bool = True
    """Whether a diagnosis finds it; else only a check does."""


_RUNNING = "nodes that run and nodes to come"
_COMING = "nodes that start from now on"
_LAUNCHES = "launches from now on"
_PODS = "pods that ask for the pool's GPUs from now on"
_RETRY = "the Auto Scaling group, or Karpenter, tries again within five minutes"
_NEXT_TRY = "the kubelet's next try, within five minutes, succeeds"
_NEW_PODS = "new pods are well; one that has failed stays failed"

_ALL = (
    Fault(
        "no-capacity",
        "EC2 has no instance of the pool's type in any of its zones",
        _LAUNCHES,
        "InsufficientInstanceCapacity in the scaling activities, health issue AsgInstanceLaunchFailures; of a NodePool "
        "in the events of its NodeClaims",
        _RETRY,
    ),
    Fault(
        "vcpu-quota",
        "the account's vCPU quota for G and VT instances is what runs now, and not one more",
        _LAUNCHES,
        "VcpuLimitExceeded in the scaling activities, or in the first event of a NodeClaim; Service Quotas shows the "
        "lower L-DB2E81BA",
        _RETRY,
        Reach.ACCOUNT,
    ),
    Fault(
        "launch-denied",
        "IAM refuses ec2:RunInstances to Auto Scaling's service-linked role, or to Karpenter's",
        _LAUNCHES,
        "'You are not authorized to perform this operation' in the scaling activities, the node group DEGRADED; of a "
        "NodePool in the condition Launched of its NodeClaim",
        _RETRY,
    ),
    Fault(
        "no-addresses",
        "the pool's subnets have no free address",
        _LAUNCHES,
        "'not enough free addresses in subnet', health issue InsufficientFreeAddresses, AvailableIpAddressCount 0; of "
        "a NodePool in the events of its NodeClaims",
        _RETRY,
    ),
    Fault(
        "node-not-joined",
        "instances run and their kubelets cannot reach the cluster",
        _COMING,
        "running instances without a node; health issue NodeCreationFailure after 15 minutes",
        "waiting machines join within a minute",
    ),
    Fault(
        "node-not-ready",
        "the network plugin of the pool's nodes is gone",
        _RUNNING,
        "Ready=False 'cni plugin not initialized'",
        "the nodes are Ready within 15 seconds",
    ),
    Fault(
        "image-pull-failed",
        "registries answer 429 Too Many Requests to the pool's nodes",
        "images that a node does not have yet",
        "ErrImagePull, then ImagePullBackOff",
        _NEXT_TRY,
    ),
    Fault(
        "image-pull-slow",
        "registries give the pool's nodes 0.8 MB a second",
        "images that a node does not have yet; a running pool shows it with the next new image",
        "Pulled events of more than two minutes, the CUDA sample's 'in 2m18.5s'",
        "pulls that begin later are quick",
    ),
    Fault(
        "untolerated-taint",
        "the pool's nodes carry one taint more, dedicated=lamplighter:NoSchedule",
        _RUNNING,
        "on new nodes the operator's DaemonSets want no pod while its ClusterPolicy is ready; workloads wait with "
        "'had untolerated taint'",
        "the taint goes, and all that waited is placed",
    ),
    Fault(
        "device-plugin-missing",
        "the device plugin crashes on the pool's nodes",
        _RUNNING,
        "CrashLoopBackOff; allocatable nvidia.com/gpu absent, or 0 where it was there before",
        "its next start, within five minutes, brings the GPUs back",
    ),
    Fault(
        "device-plugin-disabled",
        "the device plugin is switched off: for all pools as by `kubectl patch clusterpolicy` with "
        "devicePlugin.enabled=false, for one by its nodes' label nvidia.com/gpu.deploy.device-plugin=false",
        _RUNNING,
        "the DaemonSet or its pods go, allocatable 0, and the ClusterPolicy is ready all the same",
        "what was set before is set again; the GPUs are back in about 40 seconds",
    ),
    Fault(
        "runtime-missing",
        "containerd on the pool's nodes has no runtime named nvidia",
        "pods of NVIDIA's software, and pods that ask for GPUs, from now on",
        "FailedCreatePodSandBox 'no runtime for \"nvidia\" is configured'",
        "the kubelet's next try succeeds",
    ),
    Fault(
        "wrong-ami",
        "the node group is as if made with amiType AL2023_x86_64_STANDARD: no NVIDIA driver",
        _COMING,
        "the device plugin's 'Incompatible platform detected', 'could not load NVML library: libnvidia-ml.so.1'",
        "the group is made anew, with the driver, once none of its machines is left: close the pool and open it",
    ),
    Fault(
        "driver-too-old",
        "the nodes' driver knows CUDA 12.4 and no newer one",
        _PODS,
        "containers do not start: 'unsatisfied condition: cuda>=13.0, please update your driver'",
        _NEW_PODS,
    ),
    Fault(
        "driver-mismatch",
        "the driver's library was updated under a loaded driver",
        "NVIDIA's pods and GPU tools that start from now on",
        "'Failed to initialize NVML: Driver/library version mismatch'; new nodes offer no GPU",
        "the next start of each succeeds",
    ),
    Fault(
        "driver-broken",
        "the NVIDIA driver does not answer",
        "NVIDIA's pods and GPU tools that start from now on",
        '"couldn\'t communicate with the NVIDIA driver"; new nodes offer no GPU',
        "the next start of each succeeds",
    ),
    Fault(
        "gpu-lost",
        "systemd reloads on the nodes and containers lose the GPU that they hold",
        "pods that hold a GPU now, and each that gets one later, after a moment (NVIDIA's own excepted)",
        "'Failed to initialize NVML: Unknown Error' in their logs",
        "new pods keep their GPU; one that lost it has lost it",
    ),
    Fault(
        "cdi-unresolvable",
        "the nodes' CDI files do not name the GPUs",
        _PODS,
        "CreateContainerError 'unresolvable CDI devices'",
        "the kubelet's next try succeeds",
    ),
    Fault(
        "admission-refused",
        "the kubelet's device manager counts every GPU as given away",
        _PODS,
        "pods fail with UnexpectedAdmissionError 'Requested: 1, Available: 0'",
        _NEW_PODS,
    ),
    Fault(
        "xid",
        "a GPU of each node reports XID 79 and is off the bus",
        _RUNNING,
        "the device plugin's 'XidCriticalError: Xid=79', allocatable one below capacity; with the node "
        "monitoring agent AcceleratedHardwareReady=False, NvidiaXID79Error",
        "new nodes are well; a GPU that is off the bus stays so until its node is replaced",
    ),
    Fault(
        "gpu-count-short",
        "the driver sees one GPU less than the instance type has",
        _COMING,
        "the node offers one GPU too few; with the node monitoring agent NvidiaDeviceCountMismatch",
        "new nodes are well; those that run stay short until they are replaced",
    ),
    Fault(
        "validator-stuck",
        "the operator's cuda-validation fails",
        "validator pods that start from now on",
        "Init:CrashLoopBackOff of nvidia-operator-validator, while the GPUs are offered",
        _NEXT_TRY,
    ),
    Fault(
        "operator-not-ready",
        "the GPU Operator's own pod crashes",
        "the operator: running nodes keep their GPUs, new ones are not looked after",
        "deployment gpu-operator with no pod available, found after five minutes",
        "its next start, within five minutes, goes on with its work",
        Reach.CLUSTER,
    ),
    Fault(
        "nccl-path-blocked",
        "the two security-group rules by which nodes reach each other are removed: 1025-65535/tcp of the node "
        "group to itself, and the VPC's in the auxiliary group",
        "connections between nodes from now on; what else goes from node to node breaks with it (webhooks)",
        "the ranks of a job on two nodes run and never meet: 'client socket has timed out' after 120 seconds",
        "the rules are put back; a job that gave up has to be started again",
        Reach.CLUSTER,
    ),
    Fault(
        "bandwidth-throttled",
        "the nodes have used up their burst and are held at the baseline",
        _RUNNING,
        "with the node monitoring agent, events BandwidthInExceeded and BandwidthOutExceeded; all_reduce at the "
        "instance's baseline",
        "no more events, full bandwidth",
    ),
    Fault(
        "nvlink-down",
        "every NVLink of the nodes is down, and their GPUs talk over PCIe",
        _RUNNING,
        "on types with NVLinks (p4, p5, p6) the check nvlink fails by what nvidia-smi prints, and all_reduce_node by "
        "its floor, while DCGM passes",
        "full bandwidth",
        diagnosed=False,
    ),
)

FAULTS = {fault.name: fault for fault in _ALL}
