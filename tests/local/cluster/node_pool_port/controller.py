"""A small stand-in for Karpenter's controller: static NodePools, through the real API server, on instances of EC2.

It stands for what the port relies on. Claims go through admission; a refused launch leaves an event and no claim, or a
condition; a deleted claim waits for its instance. The real controller has tests of its own.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from lamplighter.domain.capacity.launch_cause import LaunchCause
from local.kubernetes.api import ApiError, KubernetesApi, Object
from tests.local.conftest import Aws

POOLS, CLAIMS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims"
EVENTS = "/api/v1/namespaces/default/events"
FINALIZER, LABEL = "karpenter.sh/termination", "karpenter.sh/nodepool"
MERGE = "application/merge-patch+json"
ZONE = "ap-northeast-2a"
FLEET_ERRORS = {
    LaunchCause.NO_CAPACITY: "InsufficientInstanceCapacity: We currently do not have sufficient g5.xlarge capacity in"
    f" the Availability Zone you requested ({ZONE}).",
    LaunchCause.VCPU_QUOTA: "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of"
    " 8 allows.",
}
ALL_SHUT = "all requested instance types were unavailable during launch"
DENIED = (
    "Error creating fleet request: User is not authorized to perform this operation because no identity-based policy"
    " allows it"
)


@dataclass
class StandIn:
    """The controller of one cluster. `role` is the role that it launches with."""

    kubernetes: KubernetesApi
    aws: Aws
    role: str
    alive: bool = True
    refusal: LaunchCause | None = None
    refused_claims: list[str] = field(default_factory=list)
    """What admission said to claims."""
    _told: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: count(10000))

    def reconcile(self) -> None:
        """One round over every NodePool."""
        if not self.alive:
            return
        for claim in self.kubernetes.get(CLAIMS)["items"]:
            self._follow(claim)
        for pool in self.kubernetes.get(POOLS)["items"]:
            if "replicas" in pool["spec"]:
                self._size(pool)

    def _follow(self, claim: Object) -> None:
        """To its instance, and out of the cluster after it."""
        path, instance = f"{CLAIMS}/{claim['metadata']['name']}", _instance(claim)
        state = self._state(instance) if instance else None
        if "deletionTimestamp" in claim["metadata"]:
            if state not in {None, "terminated", "shutting-down"}:
                self.aws.call("ec2", "terminate_instances", InstanceIds=[instance])
            elif state != "shutting-down":
                self.kubernetes.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        elif state in {"terminated", "shutting-down"}:
            self.kubernetes.delete(path)
        elif not instance:
            self._launch(claim)

    def _size(self, pool: Object) -> None:
        name, wanted = pool["metadata"]["name"], pool["spec"]["replicas"]
        every = [each for each in self.kubernetes.get(CLAIMS)["items"] if _pool(each) == name]
        running = [each for each in every if "deletionTimestamp" not in each["metadata"]]
        for claim in sorted(running, key=_created)[: max(0, len(running) - wanted)]:
            self.kubernetes.delete(f"{CLAIMS}/{claim['metadata']['name']}")
        room = int(pool["spec"].get("limits", {}).get("nodes", "1000")) - len(every)
        for _ in range(min(wanted - len(running), room)):
            claim = self._claimed(pool)
            if claim is not None:
                self._launch(claim)

    def _claimed(self, pool: Object) -> Object | None:
        template, name = pool["spec"]["template"]["spec"], pool["metadata"]["name"]
        spec = {key: value for key, value in template.items() if key != "expireAfter"}
        metadata = {
            "name": f"{name}-{next(self._numbers)}",
            "labels": {LABEL: name, "topology.kubernetes.io/zone": ZONE},
            "finalizers": [FINALIZER],
        }
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata, "spec": spec}
        try:
            return self.kubernetes.request("POST", CLAIMS, body)
        except ApiError as error:
            self.refused_claims.append(str(error))
            return None

    def _launch(self, claim: Object) -> None:
        metadata = claim["metadata"]
        if self.refusal is LaunchCause.LAUNCH_DENIED or self._locked(_pool(claim)):
            self._status(
                claim,
                {"conditions": [_condition("Launched", "Unknown", "Unauthorized", DENIED, self._now())]},
            )
            return
        if self.refusal is not None:
            fleet = f"with fleet error(s), {FLEET_ERRORS[self.refusal]}"
            self._insufficient(claim, ALL_SHUT if self._told else fleet)
            self._told = True
            return
        tags = {
            LABEL: _pool(claim),
            "eks:eks-cluster-name": "lab",
            "kubernetes.io/cluster/lab": "owned",
            "karpenter.sh/nodeclaim": metadata["name"],
        }
        instance = run_instance(self.aws, tags)
        conditions = [
            _condition(kind, "True", kind, "", self._now())
            for kind in ("Launched", "Registered", "Initialized")
        ]
        self._status(claim, {"providerID": f"aws:///{ZONE}/{instance}", "conditions": conditions})

    def _insufficient(self, claim: Object, error: str) -> None:
        name = claim["metadata"]["name"]
        message = f"NodeClaim {name} event: creating instance, insufficient capacity, {error}"
        event = {
            "metadata": {"generateName": f"{name}.", "namespace": "default"},
            "involvedObject": {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": name},
            "reason": "InsufficientCapacityError",
            "message": message,
            "type": "Warning",
            "firstTimestamp": self._now(),
            "lastTimestamp": self._now(),
            "source": {"component": "karpenter"},
        }
        self.kubernetes.request("POST", EVENTS, event)
        path = f"{CLAIMS}/{name}"
        self.kubernetes.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        self.kubernetes.delete(path)

    def _status(self, claim: Object, status: Object) -> None:
        path = f"{CLAIMS}/{claim['metadata']['name']}/status"
        self.kubernetes.request("PATCH", path, {"status": status}, MERGE)

    def _locked(self, pool: str) -> bool:
        for name in self.aws.call("iam", "list_role_policies", RoleName=self.role)["PolicyNames"]:
            document = self.aws.call("iam", "get_role_policy", RoleName=self.role, PolicyName=name)[
                "PolicyDocument"
            ]
            text = document if isinstance(document, str) else json.dumps(document)
            if '"Deny"' in text and f'"{pool}"' in text:
                return True
        return False

    def _state(self, instance: str) -> str | None:
        with suppress(Exception):
            found = self.aws.call("ec2", "describe_instances", InstanceIds=[instance])["Reservations"]
            return found[0]["Instances"][0]["State"]["Name"]
        return None

    def _now(self) -> str:
        return datetime.fromtimestamp(int(self.aws.clock.time()), UTC).isoformat().replace("+00:00", "Z")


def run_instance(aws: Aws, tags: dict[str, str]) -> str:
    written = [{"Key": key, "Value": value} for key, value in tags.items()]
    made = aws.call(
        "ec2",
        "run_instances",
        ImageId="ami-12c6146b",
        InstanceType="g5.xlarge",
        MinCount=1,
        MaxCount=1,
        Placement={"AvailabilityZone": ZONE},
        TagSpecifications=[{"ResourceType": "instance", "Tags": written}],
    )
    return made["Instances"][0]["InstanceId"]


def _instance(claim: Object) -> str:
    return claim.get("status", {}).get("providerID", "").rpartition("/")[2]


def _pool(claim: Object) -> str:
    return claim["metadata"]["labels"].get(LABEL, "")


def _created(claim: Object) -> tuple[str, str]:
    return claim["metadata"]["creationTimestamp"], claim["metadata"]["name"]


def _condition(kind: str, status: str, reason: str, message: str, at: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}
