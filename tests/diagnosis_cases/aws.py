"""Cases of the AWS layer: launches that are refused, nodes that do not join, images, and the network."""

from functools import partial

from tests.diagnosis_cases import Case, leave, vanish
from tests.snapshots import NODES, Document, activity, at, event, no_gpus, pod, replace, waiting, without

CAPACITY = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
    "g5.xlarge capacity in the Availability Zone you requested (ap-northeast-2a). Launching EC2 instance failed."
)
QUOTA = (
    "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your "
    "current vCPU limit of 4 allows for the instance bucket that the specified instance type belongs to."
)
DENIED = (
    "The default Service-Linked Role for Auto Scaling could not be created. "
    "Launching EC2 instance failed. You are not authorized to perform this operation."
)
ADDRESSES = (
    "There are not enough free addresses in subnet 'subnet-1' to satisfy the requested number of instances. "
    "Launching EC2 instance failed."
)
STORE = (
    "torch.distributed.DistNetworkError: The client socket has timed out after 120000ms while trying to connect "
    "to (nccl-0.nccl, 29500)."
)
RESULT = "  268435456 67108864 float sum -1 215000 1.24 1.24 0\n# Out of bounds values : 0 OK\n"


def _refused(message: str, document: Document, number: int) -> None:
    vanish(document, number)
    document["aws"]["scaling_activities"].append(activity(message))


def _refused_before(message: str, document: Document) -> None:
    """The refusal came before the expectation began, and everything since is fine."""
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "AsgInstanceLaunchFailures", "message": message}
    ]
    document["aws"]["scaling_activities"].append(activity(message, minute=-20))


def _refused_once(message: str, document: Document) -> None:
    """A failure that was followed by success."""
    document["aws"]["scaling_activities"].append(activity(message, minute=0.1))


def _karpenter(document: Document, inner: str) -> None:
    vanish(document, 1)
    said = f"creating instance, insufficient capacity, with fleet error(s), {inner}"
    condition = {
        "type": "Launched",
        "status": "False",
        "reason": "InsufficientCapacityError",
        "message": said,
    }
    document["kubernetes"]["nodeclaims"] = [
        {
            "metadata": {"name": "gpu-abc"},
            "status": {"conditions": [{**condition, "lastTransitionTime": at(2)}]},
        }
    ]


def _not_joined(document: Document, number: int) -> None:
    leave(document, number)
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {
            "code": "NodeCreationFailure",
            "message": "Instances failed to join the kubernetes cluster",
            "resourceIds": [f"i-0aaaaaaaaaaaaaaa{number + 1}"],
        }
    ]


def _boots(document: Document) -> None:
    leave(document, 1)
    document["now"] = at(3)


def _joined_in_the_end(document: Document) -> None:
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "NodeCreationFailure", "message": "Instances failed to join the kubernetes cluster"}
    ]


def _without_library(document: Document, number: int) -> None:
    no_gpus(document, number)
    name = f"nvidia-device-plugin-daemonset-{number}"
    replace(document, waiting(pod(name, number=number), "CrashLoopBackOff", "back-off 5m0s", restarts=7))
    document["logs"][f"gpu-operator/{name}/main"] = (
        "Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file\n"
        "Incompatible platform detected"
    )


def _wrong_image(document: Document, number: int) -> None:
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    _without_library(document, number)


def _operator_installs_the_driver(document: Document) -> None:
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    document["kubernetes"]["clusterpolicies"][0]["spec"]["driver"]["enabled"] = True


def ranks(
    document: Document, log: str, *, called: str = "nccl", minute: float = 10, phase: str = "Running"
) -> None:
    """A job of two ranks, one on each node, that printed this log."""
    without(document, "train-0", "train-1", "train-waits")
    for number in range(2):
        rank = pod(
            f"{called}-{number}", "lab", number, gpus=1, phase=phase, owner=f"Job/{called}", minute=minute
        )
        document["kubernetes"]["pods"].append(rank)
        document["logs"][f"lab/{called}-{number}/main"] = log


def _blocked(document: Document, number: int) -> None:
    del number
    ranks(document, STORE)
    document["aws"]["security_groups"][0]["IpPermissions"] = []


def _other_rank_failed(document: Document) -> None:
    """One rank waits for another that cannot start. The path is not blocked."""
    ranks(document, STORE)
    replace(
        document,
        waiting(
            pod("nccl-1", "lab", 1, gpus=1, owner="Job/nccl"), "ErrImagePull", "not found: manifest unknown"
        ),
    )
    del document["logs"]["lab/nccl-1/main"]


def _throttled(document: Document, number: int) -> None:
    document["kubernetes"]["events"].append(
        event(
            "Node",
            NODES[number],
            "BandwidthOutExceeded",
            "bw_out_allowance_exceeded increased from 0 to 1287",
        )
    )


def _slow_by_itself(document: Document) -> None:
    document["kubernetes"]["events"].append(
        event("Node", NODES[0], "ConntrackExceeded", "conntrack_allowance_exceeded increased from 0 to 3")
    )


CASES = (
    Case("launch-denied", partial(_refused, DENIED), lambda document: _karpenter(document, QUOTA),
     partial(_refused_before, DENIED)),
    Case("vcpu-quota", partial(_refused, QUOTA), lambda document: _karpenter(document,
     "UnauthorizedOperation: You are not authorized to perform this operation"), partial(_refused_before, QUOTA)),
    Case("no-addresses", partial(_refused, ADDRESSES), lambda document: _refused(CAPACITY, document, 1),
     lambda document: document["aws"]["subnets"][0].update(AvailableIpAddressCount=0)),
    Case("no-capacity", partial(_refused, CAPACITY), lambda document: _karpenter(document,
     "VCPULimitExceeded: You have requested more vCPU capacity"), partial(_refused_once, CAPACITY)),
    Case("node-not-joined", _not_joined, _boots, _joined_in_the_end),
    Case("wrong-ami", _wrong_image, lambda document: _without_library(document, 0), _operator_installs_the_driver),
    Case("nccl-path-blocked", _blocked, _other_rank_failed, lambda document: ranks(document, RESULT)),
    Case("bandwidth-throttled", _throttled, _slow_by_itself,
     lambda document: document["kubernetes"]["events"].append(event("Node", NODES[0], "BandwidthInExceeded",
     "bw_in_allowance_exceeded", minute=-5))),
)  # fmt: skip
