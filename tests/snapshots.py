"""Builds snapshots of a GPU pool as the CLIs of AWS and Kubernetes print them: a healthy one, and pieces to change.

Times are minutes after the nodes were expected. `now` is 20 minutes after that, unless a test says otherwise.
"""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.domain.diagnosis import Diagnosis, Snapshot, diagnose
from lamplighter.domain.diagnosis.findings import DiagnosisFinding
from lamplighter.domain.diagnosis.redaction import redacted

Document = dict[str, Any]
SINCE = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
POOL = "gpu-lab-ng-gpu"
NODES = (
    "ip-192-168-12-10.ap-northeast-2.compute.internal",
    "ip-192-168-12-11.ap-northeast-2.compute.internal",
)
INSTANCES = ("i-0aaaaaaaaaaaaaaa1", "i-0aaaaaaaaaaaaaaa2")
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def at(minutes: float) -> str:
    return (SINCE + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(number: int = 0, gpus: int | None = 1, *, ready: bool = True, minute: float = 2) -> Document:
    resources = {"cpu": "4", "memory": "15Gi", **({} if gpus is None else {"nvidia.com/gpu": str(gpus)})}
    labels = {
        "eks.amazonaws.com/nodegroup": POOL,
        "node.kubernetes.io/instance-type": "g5.xlarge",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.deploy.device-plugin": "true",
    }
    if gpus is not None:
        labels |= {"nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "1"}
    said = (
        {"reason": "KubeletReady"}
        if ready
        else {"reason": "KubeletNotReady", "message": "cni plugin not initialized"}
    )
    return {
        "metadata": {"name": NODES[number], "creationTimestamp": at(minute), "labels": labels},
        "spec": {"providerID": f"aws:///ap-northeast-2a/{INSTANCES[number]}", "taints": [TAINT]},
        "status": {
            "capacity": dict(resources),
            "allocatable": dict(resources),
            "conditions": [
                {"type": "Ready", "status": str(ready), "lastTransitionTime": at(minute + 0.5), **said}
            ],
            "nodeInfo": {"osImage": "Amazon Linux 2023.9.20260714"},
        },
    }


def pod(
    name: str,
    namespace: str = "gpu-operator",
    number: int | None = 0,
    *,
    gpus: int = 0,
    phase: str = "Running",
    minute: float = 3,
    owner: str = "",
    tolerates: bool = True,
) -> Document:
    running = phase == "Running"
    kind, _, owner_name = owner.partition("/")
    document: Document = {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": at(minute)},
        "spec": {
            "containers": [
                {"name": "main", **({"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}} if gpus else {})}
            ],
            "tolerations": [TOLERATION] if tolerates else [],
        },
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(running)}],
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": running,
                    "restartCount": 0,
                    "state": {"running": {}} if running else {},
                }
            ],
        },
    }
    if number is not None:
        document["spec"]["nodeName"] = NODES[number]
    if owner:
        document["metadata"]["ownerReferences"] = [{"kind": kind, "name": owner_name, "controller": True}]
    return document


def waiting(
    document: Document, reason: str, message: str = "", *, restarts: int = 0, init: str = ""
) -> Document:
    """The pod's (init) container waits for this reason."""
    changed = deepcopy(document)
    status = {
        "name": init or "main",
        "ready": False,
        "restartCount": restarts,
        "state": {"waiting": {"reason": reason, "message": message}},
    }
    changed["status"]["phase"] = "Pending" if init or not restarts else "Running"
    changed["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    changed["status"]["initContainerStatuses" if init else "containerStatuses"] = [status]
    return changed


def event(
    kind: str, name: str, reason: str, message: str, minute: float = 10, *, namespace: str = "gpu-operator"
) -> Document:
    return {
        "involvedObject": {"kind": kind, "name": name, "namespace": "" if kind == "Node" else namespace},
        "reason": reason,
        "message": message,
        "lastTimestamp": at(minute),
        "reportingComponent": "kubelet",
    }


def daemonset(
    name: str = "nvidia-device-plugin-daemonset", desired: int = 2, *, tolerates: bool = True
) -> Document:
    return {
        "metadata": {"name": name, "namespace": "gpu-operator"},
        "spec": {
            "template": {
                "spec": {
                    "nodeSelector": {"nvidia.com/gpu.deploy.device-plugin": "true"},
                    "tolerations": [TOLERATION] if tolerates else [],
                }
            }
        },
        "status": {"desiredNumberScheduled": desired, "numberReady": desired},
    }


def policy(
    state: str = "ready", *, reason: str = "", message: str = "", minute: float = 5, **spec: Any
) -> Document:
    conditions = [{"type": "Ready", "status": str(state == "ready"), "lastTransitionTime": at(minute)}]
    if reason:
        conditions.append(
            {
                "type": "Error",
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": at(minute),
            }
        )
    return {
        "metadata": {"name": "cluster-policy"},
        "spec": {"devicePlugin": {"enabled": True}, "driver": {"enabled": False}, **spec},
        "status": {"state": state, "conditions": conditions},
    }


def activity(message: str, status: str = "Failed", minute: float = 1) -> Document:
    return {
        "StatusCode": status,
        "StatusMessage": message,
        "Description": "Launching a new EC2 instance.  Status Reason: " + message,
        "StartTime": at(minute),
    }


def instance(number: int = 0, minute: float = 0.5) -> Document:
    return {
        "InstanceId": INSTANCES[number],
        "InstanceType": "g5.xlarge",
        "LaunchTime": at(minute),
        "State": {"Name": "running"},
        "Tags": [{"Key": "eks:nodegroup-name", "Value": POOL}],
        "SecurityGroups": [{"GroupId": "sg-node"}],
    }


def healthy(nodes: int = 2, now: float = 20) -> Document:
    """Everything expected exists: nodes, GPU software, a workload on each GPU, and a pod that waits for one."""
    system = node(0, None)
    system["metadata"] = {
        "name": "ip-192-168-0-1.ap-northeast-2.compute.internal",
        "labels": {
            "eks.amazonaws.com/nodegroup": "gpu-lab-ng-1",
            "node.kubernetes.io/instance-type": "t3.medium",
        },
    }
    pods = [
        pod(f"{name}-{number}", number=number)
        for number in range(nodes)
        for name in ("nvidia-device-plugin-daemonset", "nvidia-operator-validator", "gpu-feature-discovery")
    ]
    pods += [pod(f"train-{number}", "lab", number, gpus=1) for number in range(nodes)]
    pods.append(pod("train-waits", "lab", None, gpus=1, phase="Pending"))
    pods.append(pod("web", "default", None, phase="Pending"))
    return {
        "now": at(now),
        "expected": {
            "pool": POOL,
            "instance_type": "g5.xlarge",
            "nodes": nodes,
            "gpus_per_node": 1,
            "since": at(0),
        },
        "aws": {
            "nodegroup": {
                "nodegroupName": POOL,
                "amiType": "AL2023_x86_64_NVIDIA",
                "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": nodes},
                "health": {"issues": []},
                "subnets": ["subnet-1"],
            },
            "scaling_activities": [activity("", "Successful", 0.4) for _ in range(nodes)],
            "instances": [instance(number) for number in range(nodes)],
            "security_groups": [
                {
                    "GroupId": "sg-node",
                    "IpPermissions": [
                        {
                            "IpProtocol": "tcp",
                            "FromPort": 1025,
                            "ToPort": 65535,
                            "UserIdGroupPairs": [{"GroupId": "sg-node"}],
                        }
                    ],
                }
            ],
            "subnets": [{"SubnetId": "subnet-1", "AvailableIpAddressCount": 900}],
            "quotas": [{"QuotaCode": "L-DB2E81BA", "Value": 8.0}],
        },
        "kubernetes": {
            "nodes": [system, *(node(number) for number in range(nodes))],
            "pods": pods,
            "events": [
                event(
                    "Pod",
                    "train-waits",
                    "FailedScheduling",
                    "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 1 node(s) didn't match",
                    namespace="lab",
                )
            ],
            "daemonsets": [daemonset(), daemonset("nvidia-operator-validator")],
            "deployments": [
                {
                    "metadata": {
                        "name": "gpu-operator",
                        "namespace": "gpu-operator",
                        "creationTimestamp": at(-600),
                    },
                    "spec": {"replicas": 1},
                    "status": {"availableReplicas": 1},
                }
            ],
            "jobs": [],
            "clusterpolicies": [policy()],
            "runtimeclasses": [{"metadata": {"name": "nvidia"}}],
            "configmaps": [],
            "nodeclaims": [],
        },
        "logs": {},
        "logs_previous": {},
    }


def without(document: Document, *names: str) -> None:
    """Takes pods, by the beginning of their names, out of the snapshot."""
    kubernetes = document["kubernetes"]
    kubernetes["pods"] = [
        each for each in kubernetes["pods"] if not each["metadata"]["name"].startswith(names)
    ]


def no_gpus(document: Document, number: int = 0) -> None:
    """The node offers no GPU: allocatable is "0", and no pod holds one there."""
    found = next(
        each for each in document["kubernetes"]["nodes"] if each["metadata"]["name"] == NODES[number]
    )
    found["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    without(document, f"train-{number}")


def replace(document: Document, changed: Document) -> None:
    """Replaces the pod of the same name."""
    without(document, changed["metadata"]["name"])
    document["kubernetes"]["pods"].append(changed)


def judge(document: Document) -> Diagnosis:
    found = diagnose(Snapshot.read(document))
    # Removing secrets removes nothing that a rule reads.
    saved = diagnose(Snapshot.read(redacted(document)))
    assert [(each.cause.name, each.objects) for each in saved.findings] == [
        (each.cause.name, each.objects) for each in found.findings
    ]
    assert saved.in_progress == found.in_progress
    return found


def causes(document: Document) -> list[str]:
    return [finding.cause.name for finding in judge(document).findings]


def stages(document: Document) -> list[str]:
    return [each.stage.label for each in judge(document).in_progress]


def told(document: Document) -> list[tuple[str, str, list[str]]]:
    """Each finding in full: its cause, its objects, and its evidence as English readers see it."""
    return [
        (finding.cause.name, str(finding.about), evidence(finding)) for finding in judge(document).findings
    ]


def evidence(finding: DiagnosisFinding) -> list[str]:
    """Without the reporter of an event, which is the same for all events here: test_reporters.py has others."""
    return [str(line).replace("(reported by kubelet) ", "") for line in finding.evidence]


def under_way(document: Document) -> list[tuple[str, str, str]]:
    """Each stage with its object and its begin. There is no finding."""
    found = judge(document)
    assert found.findings == ()
    return [(each.stage.label, each.about, each.since.strftime("%H:%M:%S")) for each in found.in_progress]


def at_work(work: Document | None = None, now: float = 20, **logs: str) -> Document:
    """A healthy pool of one node; `work` replaces its pod lab/train-0."""
    document = healthy(nodes=1, now=now)
    without(document, "train-waits")
    document["kubernetes"]["events"] = []
    if work is not None:
        replace(document, work)
    document["logs"] = {f"lab/{name.replace('_', '-')}": text for name, text in logs.items()}
    return document


def train(phase: str = "Pending", number: int | None = 0, **more: Any) -> Document:
    return pod("train-0", "lab", number, gpus=1, phase=phase, **more)


def refused_launch(
    message: str = "UnauthorizedOperation: denied", status: str = "Failed", minute: float = 1, **more: Any
) -> Document:
    return {
        "StatusCode": status,
        "StatusMessage": message,
        "Description": "Launching",
        "StartTime": at(minute),
    } | more


def without_gpus(now: float = 20) -> Document:
    """A pool of one node that offers no GPU, although its plugin runs."""
    document = healthy(nodes=1, now=now)
    no_gpus(document)
    return document


def without_plugin(now: float = 20) -> Document:
    """The same without a pod of the plugin."""
    document = without_gpus(now)
    without(document, "nvidia-", "gpu-feature")
    return document
