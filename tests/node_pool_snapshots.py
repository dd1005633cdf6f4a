"""Snapshots of a pool that a NodePool sizes, of Karpenter or EKS Auto Mode: a healthy one, and pieces to change.

The rest is as in snapshots.py: times are minutes after the nodes were expected, and `now` is 20 minutes after that.
Texts and timings are those of Karpenter 1.14.3.
"""

import json
from typing import Any

from tests.snapshots import INSTANCES, NODES, Document, at, healthy, pod

NODE_POOL = "gpu-lab-gpu"
DENIED = (
    "Error creating fleet request: User is not authorized to perform this operation because no identity-based policy "
    "allows it"
)
SHORTAGE = (
    "InsufficientInstanceCapacity: We currently do not have sufficient g5.xlarge capacity in the Availability Zone you "
    "requested (ap-northeast-2a)."
)
QUOTA = "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows"
BARRED = (
    'creating nodeclaims, creating node claim, nodeclaims.karpenter.sh "gpu-lab-gpu-x7k2p" is forbidden: '
    "ValidatingAdmissionPolicy 'gpu-lab-launch-bar' with binding 'gpu-lab-gpu' denied request: lamplighter: no lease "
    "for NodePool gpu-lab-gpu since 2026-11-20T10:30:00Z"
)


def condition(
    kind: str, status: str = "True", reason: str = "", message: str = "", minute: float = 1
) -> Document:
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": at(minute),
    }


def claim(number: int = 0, *conditions: Document, pool: str = NODE_POOL, **metadata: Any) -> Document:
    """A NodeClaim; without conditions, one whose node is initialized."""
    done = [
        condition("Launched", minute=0.1),
        condition("Registered", minute=1),
        condition("Initialized", minute=1.2),
    ]
    states = list(conditions) or done
    launched = any(state["type"] == "Launched" and state["status"] == "True" for state in states)
    registered = any(state["type"] == "Registered" and state["status"] == "True" for state in states)
    return {
        "metadata": {
            "name": f"{pool}-abc{number}1",
            "creationTimestamp": at(0),
            "labels": {"karpenter.sh/nodepool": pool, "node.kubernetes.io/instance-type": "g5.xlarge"},
            **metadata,
        },
        "spec": {"terminationGracePeriod": "10m0s"},
        "status": {
            "conditions": states,
            **({"providerID": f"aws:///ap-northeast-2a/{INSTANCES[number]}"} if launched else {}),
            **({"nodeName": NODES[number]} if registered else {}),
        },
    }


def node_pool(
    name: str = NODE_POOL, replicas: int | None = 2, *, auto: bool = False, **spec: Any
) -> Document:
    group, kind = ("eks.amazonaws.com", "NodeClass") if auto else ("karpenter.k8s.aws", "EC2NodeClass")
    template: Document = {
        "nodeClassRef": {"group": group, "kind": kind, "name": name},
        "requirements": [
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]},
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        ],
    }
    size = {} if replicas is None else {"replicas": replicas}
    return {
        "metadata": {"name": name},
        "spec": {**size, "limits": {"nodes": 2}, "template": {"spec": template}, **spec},
        "status": {"conditions": [condition("Ready", minute=-600)]},
    }


def node_class(*conditions: Document, name: str = NODE_POOL, ami: str = "", **spec: Any) -> Document:
    image = ami or "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260724"
    return {
        "metadata": {"name": name, "creationTimestamp": at(-600)},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@v20260724"}], **spec},
        "status": {
            "amis": [{"id": "ami-0aaa", "name": image}],
            "conditions": list(conditions) or [condition("Ready", minute=-600)],
        },
    }


def karpenter(available: int = 2, wanted: int = 2, minute: float = -600) -> Document:
    """The Deployment of Karpenter."""
    return {
        "metadata": {"name": "karpenter", "namespace": "kube-system", "creationTimestamp": at(-6000)},
        "spec": {"replicas": wanted},
        "status": {
            "availableReplicas": available,
            "conditions": [condition("Available", str(available > 0), minute=minute)],
        },
    }


def logged(document: Document, message: str, minute: float = 5) -> None:
    """One line of Karpenter's log."""
    line: Document = {
        "level": "ERROR",
        "time": at(minute),
        "logger": "controller",
        "message": "Reconciler error",
    }
    line |= {"controller": "static.provisioning", "error": message, "NodePool": {"name": NODE_POOL}}
    key = "kube-system/karpenter-5f9c/controller"
    text = json.dumps(line, separators=(",", ":"))
    document["logs"][key] = "\n".join(filter(None, [document["logs"].get(key), text]))


def pool_of(nodes: int = 2, now: float = 20, *, auto: bool = False) -> Document:
    """A healthy pool of a NodePool."""
    document = healthy(nodes, now)
    document["expected"] |= {
        "pool": "gpu",
        "kind": "auto-mode" if auto else "karpenter",
        "nodepool": NODE_POOL,
    }
    aws, kubernetes = document["aws"], document["kubernetes"]
    del aws["nodegroup"], aws["scaling_activities"]
    for instance in aws["instances"]:
        key = "eks:kubernetes-node-pool-name" if auto else "karpenter.sh/nodepool"
        instance["Tags"] = [{"Key": key, "Value": NODE_POOL}]
        instance["ImageId"] = "ami-0aaa"
    for node in kubernetes["nodes"][1:]:
        labels = node["metadata"]["labels"]
        del labels["eks.amazonaws.com/nodegroup"]
        labels |= {"karpenter.sh/nodepool": NODE_POOL, "kubernetes.io/arch": "amd64"}
    kubernetes["nodeclaims"] = [claim(number) for number in range(nodes)]
    kubernetes["nodepools"] = [node_pool(auto=auto, replicas=nodes)]
    kubernetes["nodeclasses" if auto else "ec2nodeclasses"] = [node_class()]
    if not auto:
        kubernetes["deployments"].append(karpenter())
        controller = pod("karpenter-5f9c", "kube-system", None, owner="ReplicaSet/karpenter-5f9c")
        controller["spec"]["nodeName"] = "ip-192-168-0-1.ap-northeast-2.compute.internal"
        kubernetes["pods"].append(controller)
    return document


def empty(now: float = 20, nodes: int = 1, **more: Any) -> Document:
    """The pool before its first node: replicas are ordered, and nothing is there."""
    document = pool_of(nodes, now, **more)
    kubernetes = document["kubernetes"]
    kubernetes["nodes"] = kubernetes["nodes"][:1]
    kubernetes["nodeclaims"] = []
    kubernetes["events"] = []
    kubernetes["pods"] = [
        each for each in kubernetes["pods"] if each["metadata"]["namespace"] == "kube-system"
    ]
    document["aws"]["instances"] = []
    return document


def capacity_error(
    inner: str, minute: float, *, name: str = f"{NODE_POOL}-x7k2p", kind: str = "NodeClaim"
) -> Document:
    """The event of a NodeClaim that is gone already."""
    unnamed = "all requested instance types were unavailable during launch"
    words = f"creating instance, insufficient capacity, with fleet error(s), {inner}" if inner else unnamed
    return {
        "involvedObject": {"kind": kind, "name": name},
        "reason": "InsufficientCapacityError",
        "message": f"NodeClaim {name} event: {words}",
        "lastTimestamp": at(minute),
        "reportingComponent": "kubelet",
    }


def of_everything() -> Document:
    """A pool about which every document says something: it is short, barred, denied, and cannot drain."""
    document = pool_of()
    aws, kubernetes = document["aws"], document["kubernetes"]
    aws["controller_policies"] = {"PolicyNames": ["lamplighter-lock-gpu-lab-gpu"]}
    aws["instances"].append(
        {
            **aws["instances"][0],
            "InstanceId": "i-0ccc",
            "State": {"Name": "terminated"},
            "StateTransitionReason": "User initiated (2026-11-20 11:15:30 GMT)",
        }
    )
    kubernetes["nodeclaims"] = [
        claim(0, condition("Launched", "Unknown", "Unauthorized", DENIED)),
        claim(
            1,
            condition("Launched"),
            condition("Registered"),
            condition("Drained", "Unknown", "Draining"),
            deletionTimestamp=at(5),
            annotations={"karpenter.sh/nodeclaim-termination-timestamp": at(25)},
        ),
    ]
    kubernetes["ec2nodeclasses"] = [node_class(condition("AMIsReady", "False", "AMINotFound", "none"))]
    kubernetes["nodepools"][0]["status"]["conditions"].append(
        condition("NodeRegistrationHealthy", "False", "RegistrationFailed")
    )
    kubernetes["nodepools"][0]["spec"]["replicas"] = 3
    kubernetes["customresourcedefinitions"] = [{"metadata": {"name": "nodepools.karpenter.sh"}}]
    kubernetes["configmaps"] = [
        {"metadata": {"name": NODE_POOL, "namespace": "lamplighter"}, "data": {"notAfter": at(10)}}
    ]
    kubernetes["events"] += [capacity_error(QUOTA, 4), capacity_error("", 5)]
    logged(document, BARRED)
    return document
