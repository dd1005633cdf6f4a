"""NodePools, their claims and their launch bars in the API server, as documents and as answers to requests.

The bar is the API server's own: lamplighter/domain/capacity/node_pool/launch_bar.py has its policies, and
tests/local/cluster/node_pools tries them at a real API server. capacity/karpenter.py is the controller.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.domain.capacity.node_pool.launch_bar import FORM
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import ZONE, Machine
from tests.world.kubernetes.go_time import timestamp

Json = dict[str, Any]
Answer = tuple[int, Any]
LABEL, ENDS_AT = "karpenter.sh/nodepool", "karpenter.sh/nodeclaim-termination-timestamp"
KEPT_EVENTS = timedelta(hours=1)
GONE: Answer = (404, {"message": "not found"})
CONTROLLER: Json = {
    "image": "public.ecr.aws/karpenter/controller:1.14.3",
    "env": [
        {"name": "INTERRUPTION_QUEUE", "value": "gpu-lab-karpenter"},
        {"name": "FEATURE_GATES", "value": "StaticCapacity=true"},
    ],
}


@dataclass
class Claim:
    """A NodeClaim: the request for one node, until that node is gone."""

    name: str
    node_pool: str
    pool: str
    created: datetime
    grace: timedelta
    machine: Machine | None = None
    stages: dict[str, datetime] = field(default_factory=dict)
    trouble: tuple[str, str] | None = None
    """Why it is not launched: a reason and a message."""
    deleted: datetime | None = None
    ends_at: datetime | None = None
    """From then on no pod holds its node."""
    notes: dict[str, str] = field(default_factory=dict)
    """The annotations that somebody wrote."""
    tries: int = 0
    """How often a launch was refused."""

    def document(self) -> Json:
        metadata: Json = {
            "name": self.name,
            "creationTimestamp": written(self.created),
            "labels": {LABEL: self.node_pool, "topology.kubernetes.io/zone": ZONE},
        }
        if self.deleted is not None:
            metadata["deletionTimestamp"] = written(self.deleted)
        if self.ends_at is not None:
            metadata["annotations"] = {**self.notes, ENDS_AT: written(self.ends_at)}
        conditions = [
            {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": written(at)}
            for kind, at in self.stages.items()
        ]
        if self.trouble is not None:
            reason, message = self.trouble
            conditions.append(
                {"type": "Launched", "status": "Unknown", "reason": reason, "message": message,
                 "lastTransitionTime": written(self.created)}
            )  # fmt: skip
        status: Json = {"conditions": conditions}
        if self.machine is not None:
            status |= {"providerID": f"aws:///{ZONE}/{self.machine.id}", "nodeName": self.machine.node}
        spec = {"terminationGracePeriod": f"{int(self.grace.total_seconds())}s"}
        return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata, "spec": spec,
                "status": status}  # fmt: skip


@dataclass
class Admission:
    """The launch bar of one NodePool: its ConfigMap, and whether its binding denies."""

    policy: str
    config_map: str
    acts: bool
    """Whether it denies: the API server only notes what the bar of a watched pool would refuse."""
    data: Json | None = field(default_factory=dict)
    """None where somebody deleted the ConfigMap."""
    any_form: bool = False
    """Whether the cluster has a policy that takes every text which CEL reads, as the owner of an adopted one may."""

    def refusal(self, name: str, now: datetime, *, ends: bool) -> Answer | None:
        """What a claim is refused with now."""
        if not self.acts:
            return None
        until = (self.data or {}).get("notAfter")
        said = f"ValidatingAdmissionPolicy '{self.policy}' with binding '{self.config_map}' denied request: "
        if self.data is None:
            return 422, {"message": f"{said}failed to configure binding: no params found for policy binding"}
        if until is not None and (self.any_form or re.search(FORM, str(until))):
            open_until = timestamp(str(until))
            if open_until is None:
                return 422, {"message": f"{said}expression resulted in error: type conversion error"}
            if now.replace(microsecond=0) < open_until:
                return (
                    None if ends else (422, {"message": f"{said}lamplighter: needs a terminationGracePeriod"})
                )
        return 403, {"message": f"{said}lamplighter: no lease for NodePool {name}"}


class NodePoolObjects:
    """The objects of a cluster. Who follows them is told of every change."""

    def __init__(self, event_queue: EventQueue) -> None:
        self._queue = event_queue
        self.node_pools: dict[str, Json] = {}
        self.bars: dict[str, Admission] = {}
        """By NodePool."""
        self.claims: dict[str, Claim] = {}
        self.events: list[tuple[datetime, Json]] = []
        self.sized: Callable[[str], None] = lambda _node_pool: None
        """Called after a NodePool was written."""
        self.ordered: Callable[[str, int, int], None] = lambda _node_pool, _before, _after: None
        """Called with its replicas before and after. A limit alone orders nothing."""
        self.leaves: Callable[[Claim], None] = lambda _claim: None
        """Called before somebody deletes a claim."""
        self.deleted: Callable[[Claim], None] = lambda _claim: None
        """Called when somebody deletes a claim."""
        self.node_deleted: Callable[[str], None] = lambda _node: None
        self.controller_runs: Callable[[], bool] = lambda: True

    def of(self, node_pool: str) -> list[Claim]:
        """The claims of a NodePool, the oldest first."""
        return [claim for claim in self.claims.values() if claim.node_pool == node_pool]

    def size(self, node_pool: str) -> int:
        return min(self.replicas(node_pool), self.limit(node_pool))

    def replicas(self, node_pool: str) -> int:
        return int(self.node_pools[node_pool]["spec"]["replicas"])

    def limit(self, node_pool: str) -> int:
        """`limits.nodes`; a large number where there is none."""
        return int((self.node_pools[node_pool]["spec"].get("limits") or {}).get("nodes", 1000))

    def write(self, node_pool: str, patch: Mapping[str, Any], manager: str = "kubectl") -> None:
        """A merge patch of a NodePool."""
        document, before = self.node_pools[node_pool], self.replicas(node_pool)
        _merge(document, patch)
        managed = document["metadata"].setdefault("managedFields", {})
        managed[manager] = written(self._queue.now)
        self.sized(node_pool)
        self.ordered(node_pool, before, self.replicas(node_pool))

    def refusal(self, node_pool: str, *, ends: bool = True) -> Answer | None:
        """What the API server would refuse a claim of this NodePool with now; None where it takes it."""
        bar = self.bars.get(node_pool)
        return bar.refusal(node_pool, self._queue.now, ends=ends) if bar else None

    def delete(self, claim: Claim) -> None:
        if claim.deleted is None and self.claims.get(claim.name) is claim:
            self.leaves(claim)
            claim.deleted = self._queue.now
            self.deleted(claim)

    def tell(self, claim: Claim, reason: str, message: str) -> None:
        """A warning about a claim. Kubernetes keeps it for an hour."""
        now = self._queue.now
        about = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": claim.name}
        event = {
            "metadata": {"name": f"{claim.name}.{len(self.events)}", "creationTimestamp": written(now)},
            "involvedObject": about,
            "type": "Warning",
            "reason": reason,
            "message": f"NodeClaim {claim.name} event: {message}"[:350],
            "lastTimestamp": written(now),
        }
        self.events = [each for each in self.events if now - each[0] < KEPT_EVENTS]
        self.events.append((now, event))

    def answer(self, method: str, parts: list[str], body: Any, query: Mapping[str, str]) -> Answer | None:
        """The answer to a request; None where it is about something else."""
        match (method, parts):
            case (_, ["apis", "karpenter.sh", "v1", "nodepools", name, *scale]):
                return self._node_pool(method, name, body, query, scale=bool(scale))
            case (_, ["apis", "karpenter.sh", "v1", "nodeclaims", *name]):
                return self._claims(method, name, body, query)
            case ("GET", ["apis", "karpenter.sh", "v1", "nodepools"]):
                return 200, {"items": [_shown(each) for each in self.node_pools.values()]}
            case (_, ["api", "v1", "namespaces", "lamplighter", "configmaps", *name]):
                return self._config_map(method, name, body)
            case ("GET", ["api", "v1", "namespaces", "default", "events"]):
                since = self._queue.now - KEPT_EVENTS
                return 200, {"items": [event for at, event in self.events if at > since]}
            case ("DELETE", ["api", "v1", "nodes", name]):
                self.node_deleted(name)
                return 200, {}
            case ("GET", ["apis", "apps", "v1", "namespaces", "kube-system", "deployments", "karpenter"]):
                return 200, self._deployment()
            case ("GET", ["apis", "apps", "v1", "deployments"]):
                return 200, {"items": [self._deployment()]}
            case ("GET", ["apis", "karpenter.sh" | "karpenter.k8s.aws", "v1"]):
                kinds = ("nodepools", "nodeclaims", "ec2nodeclasses")
                return 200, {"resources": [{"name": kind} for kind in kinds]}
        return None

    def _deployment(self) -> Json:
        """Karpenter's own; a dead one was scaled to nothing."""
        pods = 2 if self.controller_runs() else 0
        return {
            "metadata": {"name": "karpenter", "namespace": "kube-system"},
            "spec": {"replicas": pods, "template": {"spec": {"containers": [CONTROLLER]}}},
            "status": {"availableReplicas": pods},
        }

    def _node_pool(
        self, method: str, name: str, body: Any, query: Mapping[str, str], *, scale: bool
    ) -> Answer:
        document = self.node_pools.get(name)
        if document is None:
            return GONE
        if method == "PUT" and scale:
            self.write(name, {"spec": {"replicas": body["spec"]["replicas"]}}, "states")
        if method == "PATCH":
            self.write(name, body, query.get("fieldManager", "unknown"))
        return 200, _shown(document)

    def _claims(self, method: str, name: list[str], body: Any, query: Mapping[str, str]) -> Answer:
        if method == "POST":
            # Our code tries a claim, and none is kept.
            assert query["dryRun"] == "All"
            of, ends = body["metadata"]["labels"][LABEL], "terminationGracePeriod" in body["spec"]
            return self.refusal(of, ends=ends) or (201, body)
        if not name:
            selected = query.get("labelSelector", "").removeprefix(f"{LABEL}=")
            found = [claim for claim in self.claims.values() if selected in {"", claim.node_pool}]
            for claim in found if method == "DELETE" else ():
                self.delete(claim)
            return 200, {"items": [claim.document() for claim in found]}
        named = self.claims.get(name[0])
        if named is None:
            return GONE
        if method == "DELETE":
            self.delete(named)
        if method == "PATCH":
            named.notes |= body["metadata"]["annotations"]
            named.ends_at = datetime.fromisoformat(named.notes[ENDS_AT])
        return 200, named.document()

    def _config_map(self, method: str, name: list[str], body: Any) -> Answer | None:
        named = name[0] if name else body["metadata"]["name"]
        bar = next((each for each in self.bars.values() if each.config_map == named), None)
        if bar is None:
            return None
        if method == "POST" and bar.data is None:
            bar.data = dict(body["data"])
        if bar.data is None:
            return GONE
        if method == "PATCH":
            bar.data |= body["data"]
        return 200, {"metadata": {"name": named}, "data": dict(bar.data)}


def _shown(document: Json) -> Json:
    metadata = document["metadata"]
    managed = [{"manager": key, "time": at} for key, at in metadata.get("managedFields", {}).items()]
    return {**document, "metadata": {**metadata, "managedFields": managed}}


def _merge(document: Json, patch: Mapping[str, Any]) -> None:
    """A JSON merge patch (RFC 7386)."""
    for key, value in patch.items():
        if value is None:
            document.pop(key, None)
        elif isinstance(value, Mapping):
            _merge(document.setdefault(key, {}), value)
        else:
            document[key] = value


def written(at: datetime) -> str:
    """An instant as the API server writes it."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
