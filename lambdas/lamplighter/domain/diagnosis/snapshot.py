"""A snapshot of a pool: what was expected, and the raw documents of AWS and Kubernetes.

Owns what was read and what was not (an absent key is not an empty list), and which nodes, instances and
pods are in scope: the expected pool, and every pod that requests its GPUs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from lamplighter.domain.diagnosis.document import Doc, at, doc, docs, instant, number, text
from lamplighter.domain.diagnosis.events import Event, events_by_object
from lamplighter.domain.diagnosis.node_pool import NodePoolEvidence
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.node_pool.claim import NodeClaim
from lamplighter.domain.diagnosis.rules.pod import Pod, guessed, is_karpenter, is_operand, is_operator
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

NODEGROUP_LABELS = ("eks.amazonaws.com/nodegroup", "karpenter.sh/nodepool", "alpha.eksctl.io/nodegroup-name")
GROUP_TAGS = ("eks:nodegroup-name", "karpenter.sh/nodepool", "eks:kubernetes-node-pool-name")
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
LIVE = {"pending", "running"}
NAMELESS = "GPU pool"
"""The object of a finding about a pool that the snapshot does not name."""
_NETWORK_FAILS = {"Failed", "BackOff", "Unhealthy", "FailedCreatePodSandBox"}

_LISTS = {
    "aws": (
        "scaling_activities",
        "instances",
        "security_groups",
        "subnets",
        "quotas",
        "updates",
        "controller_policies",
    ),
    "kubernetes": (
        "nodes",
        "pods",
        "events",
        "daemonsets",
        "deployments",
        "jobs",
        "clusterpolicies",
        "runtimeclasses",
        "configmaps",
        "poddisruptionbudgets",
        "nodeclaims",
        "nodepools",
        "ec2nodeclasses",
        "nodeclasses",
        "customresourcedefinitions",
    ),
}

_OF_NODE_GROUPS = frozenset({"aws.nodegroup", "aws.scaling_activities"})


@dataclass(frozen=True)
class Snapshot:
    """The documents of one pool at one instant."""

    document: Doc
    now: datetime
    since: datetime
    pool: str
    instance_type: str
    wanted_nodes: int
    gpus_per_node: int

    @classmethod
    def read(cls, document: object) -> "Snapshot":
        """Check our own keys. What AWS and Kubernetes wrote inside them is taken as it is.

        Raises BadInput with the key that is missing or of another type.
        """
        if not isinstance(document, Mapping):
            raise BadInput(reason("finding.snapshot.no-object"))
        _check_frame(document)
        now = instant(document, "now")
        if now is None:
            raise BadInput(reason("finding.snapshot.no-instant", key="now"))
        since = instant(document, "expected", "since")
        if since is None:
            raise BadInput(reason("finding.snapshot.no-instant", key="expected.since"))
        nodes = number(document, "expected", "nodes")
        if nodes is None or nodes < 0:
            raise BadInput(reason("finding.snapshot.no-number", key="expected.nodes"))
        instance_type = text(document, "expected", "instance_type")
        known = gpu_type(instance_type)
        gpus = number(document, "expected", "gpus_per_node")
        if gpus is None:
            gpus = known.count if known else 1
        return cls(document, now, since, text(document, "expected", "pool"), instance_type, nodes, gpus)

    def was_read(self, part: str, name: str) -> bool:
        """Whether the list was read. null means the same as absent."""
        return at(self.document, part, name) is not None

    def listed(self, part: str, name: str) -> list[Doc]:
        """The list: a plain one, or inside the object that kubectl (kind List) or the AWS CLI prints."""
        value = at(self.document, part, name)
        if isinstance(value, Mapping):
            frames = [inner for key, inner in value.items() if key == "items" or part == "aws"]
            value = next((inner for inner in frames if isinstance(inner, list)), [])
        return docs({"": value}, "")

    def not_read(self, *keys: str) -> list[str]:
        """Those of the dotted keys that were not read, and that this kind of pool can have."""
        foreign = _OF_NODE_GROUPS if self.node_pool.document else frozenset[str]()
        return [key for key in keys if key not in foreign and at(self.document, *key.split(".")) is None]

    @cached_property
    def nodegroup(self) -> Doc:
        described = doc(self.document, "aws", "nodegroup")
        return doc(described, "nodegroup") or described

    @cached_property
    def _group_name(self) -> str:
        return text(self.nodegroup, "nodegroupName") or self.node_pool.name

    @cached_property
    def types(self) -> frozenset[str]:
        """The types that the pool's nodes may have."""
        listed = at(self.document, "expected", "instance_types")
        several = listed if isinstance(listed, list) else []
        return frozenset([self.instance_type, *(kind for kind in several if isinstance(kind, str))])

    @property
    def kind(self) -> str:
        """The kind of the pool's capacity, where the snapshot states it."""
        return text(self.document, "expected", "kind")

    @property
    def name(self) -> str:
        """The pool's name in findings: that of its node group or NodePool, where it was read."""
        return self._group_name or self.pool or NAMELESS

    def age(self, moment: datetime | None) -> timedelta:
        """How long ago it was; for an unknown moment, how long ago the expectation began."""
        return self.now - (moment or self.since)

    @cached_property
    def node_pool(self) -> NodePoolEvidence:
        """The pool's NodePool with its claims; of a managed node group it has nothing."""
        return NodePoolEvidence(
            stated=text(self.document, "expected", "nodepool"),
            pool=self.pool,
            instance_type=self.instance_type,
            has_group=bool(self.nodegroup),
            pools=self.listed("kubernetes", "nodepools"),
            items=self.listed("kubernetes", "nodeclaims"),
            classes=self.listed("kubernetes", "ec2nodeclasses") + self.listed("kubernetes", "nodeclasses"),
        )

    @property
    def claims(self) -> list[NodeClaim]:
        """The NodeClaims of the pool."""
        return self.node_pool.claims

    @cached_property
    def karpenter_pods(self) -> list[Pod]:
        """The pods of Karpenter's controller, which run on other nodes."""
        return [pod for pod in self._all_pods if is_karpenter(pod.name) and not pod.leaving]

    @cached_property
    def nodes(self) -> list[Node]:
        """The pool's nodes, without those that are being deleted."""
        nodes = [Node(item) for item in self.listed("kubernetes", "nodes") if self._in_pool(item)]
        return [node for node in nodes if node.name and not node.leaving]

    @cached_property
    def _pool_instances(self) -> list[Doc]:
        instances: list[Doc] = []
        for item in self.listed("aws", "instances"):
            instances += docs(item, "Instances") or [item]
        return [instance for instance in instances if self._of_pool(instance)]

    @cached_property
    def instances(self) -> list[Doc]:
        """The pool's EC2 instances that run or start."""
        return [instance for instance in self._pool_instances if self._live(instance)]

    @property
    def ended_instances(self) -> list[Doc]:
        """The pool's EC2 instances that have ended or are ending; EC2 lists them for about an hour."""
        return [instance for instance in self._pool_instances if not self._live(instance)]

    @cached_property
    def pods(self) -> list[Pod]:
        """Pods of the GPU software on the pool's nodes, and pods that request its GPUs."""
        mine = {node.name for node in self.nodes}
        pods = []
        for pod in self._all_pods:
            if not pod.name or pod.leaving or not (pod.gpus or pod.operand):
                continue
            elsewhere = bool(pod.node) and pod.node not in mine and self.was_read("kubernetes", "nodes")
            if not elsewhere and (pod.operand or pod.node or self._asks_here(pod.item)):
                pods.append(pod)
        return pods

    @cached_property
    def leaving_pods(self) -> list[Pod]:
        """Pods that are being deleted and request GPUs."""
        return [pod for pod in self._all_pods if pod.leaving and pod.gpus]

    @cached_property
    def _all_pods(self) -> list[Pod]:
        return [Pod(item) for item in self._pod_documents()]

    def _pod_documents(self) -> list[Doc]:
        """The pods; where they were not read, pods by their names in logs and events."""
        listed = self.listed("kubernetes", "pods")
        names = {(key.partition("/")[0], key.partition("/")[2]) for key in self._log_keys if "/" in key}
        if self.was_read("kubernetes", "pods"):
            there = {(text(pod, "metadata", "namespace"), text(pod, "metadata", "name")) for pod in listed}
            # A log of NVIDIA's software without its pod: somebody saved only the log.
            names = {name for name in names - there if is_operand(name[1])}
        else:
            names |= {(namespace, name) for kind, namespace, name in self.events if kind == "Pod"}
        return listed + [
            guessed(namespace, name, [node.name for node in self.nodes]) for namespace, name in sorted(names)
        ]

    def pods_on(self, node: Node) -> list[Pod]:
        """The pods in scope on one node. A pod whose node is unknown counts on every node."""
        return self._by_node.get(node.name, []) + self._by_node.get("", [])

    @cached_property
    def _by_node(self) -> dict[str, list[Pod]]:
        by_node: dict[str, list[Pod]] = {}
        for pod in self.pods:
            if pod.node or not pod.phase:
                by_node.setdefault(pod.node, []).append(pod)
        return by_node

    def beside(self, pod: Pod) -> list[Pod]:
        """The pods in scope on the node of a pod, itself among them."""
        return self._by_node.get(pod.node, [])

    @cached_property
    def offered(self) -> frozenset[str]:
        """The resources that any node of the cluster has, of this pool or another."""
        amounts = (doc(node, "status", "allocatable").items() for node in self.listed("kubernetes", "nodes"))
        return frozenset(name for each in amounts for name, amount in each if str(amount) != "0")

    @cached_property
    def operator_pods(self) -> list[Pod]:
        """The operator's own pods, which run on any node."""
        return [pod for pod in self._all_pods if is_operator(pod.name) and not pod.leaving]

    def node_events(self, node: Node) -> list[Event]:
        return self.events.get(("Node", "", node.name), []) + self.events.get(
            ("Node", "default", node.name), []
        )

    @cached_property
    def policy(self) -> Doc:
        """The operator's ClusterPolicy; empty where there is none or none was read."""
        policies = self.listed("kubernetes", "clusterpolicies")
        active = [policy for policy in policies if text(policy, "status", "state") != "ignored"]
        return next(iter(active), {})

    @cached_property
    def events(self) -> dict[tuple[str, str, str], list[Event]]:
        """Events since the expectation began, by kind, namespace and name of their object."""
        return events_by_object(self.listed("kubernetes", "events"), self.since)

    @cached_property
    def events_by_kind(self) -> dict[str, list[tuple[str, str, list[Event]]]]:
        """The same by kind: namespace, name and events of each object."""
        by_kind: dict[str, list[tuple[str, str, list[Event]]]] = {}
        for (kind, namespace, name), events in self.events.items():
            by_kind.setdefault(kind, []).append((namespace, name, events))
        return by_kind

    @cached_property
    def network_plugin_events(self) -> list[str]:
        """The last failure of each pod of the network plugin, which most nodes that are not Ready wait for."""
        return [
            f"{namespace}/{name}: {events[-1]}"
            for namespace, name, events in self.events_by_kind.get("Pod", ())
            # In another namespace a tenant may have a pod, and events, of this name.
            if (namespace, name[:8]) == ("kube-system", "aws-node") and events[-1].reason in _NETWORK_FAILS
        ]

    def events_of(self, pod: Pod) -> list[Event]:
        return self.events.get(("Pod", pod.namespace, pod.name), [])

    @cached_property
    def taints(self) -> list[Doc]:
        """The taints that the node group gives its nodes, in Kubernetes' spelling."""
        effects = {
            "NO_SCHEDULE": "NoSchedule",
            "NO_EXECUTE": "NoExecute",
            "PREFER_NO_SCHEDULE": "PreferNoSchedule",
        }
        return [
            {**taint, "effect": effects.get(text(taint, "effect"), text(taint, "effect"))}
            for taint in docs(self.nodegroup, "taints")
        ]

    @cached_property
    def jobs(self) -> dict[tuple[str, str], Doc]:
        """The jobs by namespace and name. A missing namespace is ""."""
        listed = self.listed("kubernetes", "jobs")
        return {(text(job, "metadata", "namespace"), text(job, "metadata", "name")): job for job in listed}

    @cached_property
    def node_taints(self) -> list[list[Doc]]:
        """The sets of taints of the pool's nodes, each set once: most nodes of a pool have the same."""
        sets: list[list[Doc]] = []
        for node in self.nodes:
            if node.taints not in sets:
                sets.append(node.taints)
        return sets

    def logs(self, pod: Pod, *, previous: bool = False) -> str:
        """The logs of all containers of the pod, as far as they were read."""
        whole = f"{pod.namespace}/{pod.name}"
        if whole not in self._log_keys:
            return ""
        logs = doc(self.document, "logs_previous" if previous else "logs")
        names = [whole, *(f"{whole}/{name}" for name in pod.container_names)]
        texts = [text(logs, name) for name in names]
        if not any(texts):
            texts = [text(logs, key) for key in self._log_keys.get(whole, ())]
        return "\n".join(log for log in texts if log)

    @cached_property
    def _log_keys(self) -> dict[str, list[str]]:
        by_pod: dict[str, list[str]] = {}
        # Most keys are in both parts. Each counts once, so that no text is read twice.
        for key in {**doc(self.document, "logs"), **doc(self.document, "logs_previous")}:
            by_pod.setdefault("/".join(str(key).split("/")[:2]), []).append(str(key))
        return by_pod

    def _in_pool(self, item: Doc) -> bool:
        labels = doc(item, "metadata", "labels")
        group = next((text(labels, key) for key in NODEGROUP_LABELS if text(labels, key)), "")
        kind = text(labels, INSTANCE_TYPE_LABEL)
        named = self._group_name
        if group and group in {named, self.pool}:
            return True
        if group and self.pool and group.endswith(f"-{self.pool}") and not named:
            return True
        if group and named:
            return False
        return kind in self.types if kind or group else True

    def _live(self, instance: Doc) -> bool:
        state = text(instance, "State", "Name") or text(instance, "State")
        return not state or state in LIVE

    def _of_pool(self, instance: Doc) -> bool:
        tags = {text(tag, "Key"): text(tag, "Value") for tag in docs(instance, "Tags")}
        group = next((tags[key] for key in GROUP_TAGS if tags.get(key)), "")
        named = self._group_name
        if group:
            return group in {named, self.pool} or (
                not named and bool(self.pool) and group.endswith(f"-{self.pool}")
            )
        kind = text(instance, "InstanceType")
        return not kind or kind in self.types

    def _asks_here(self, item: Doc) -> bool:
        """Whether the pod's own node selector allows this pool."""
        chosen = doc(item, "spec", "nodeSelector")
        if not chosen:
            return True
        group = next((text(chosen, key) for key in NODEGROUP_LABELS if text(chosen, key)), "")
        kind = text(chosen, INSTANCE_TYPE_LABEL)
        if kind and self.instance_type and kind not in self.types:
            return False
        named = self._group_name
        return not group or group in {named, self.pool} or (not named and group.endswith(f"-{self.pool}"))


def _check_frame(document: Doc) -> None:
    if not isinstance(document.get("expected"), Mapping):
        raise BadInput(reason("finding.snapshot.nothing-expected"))
    for part, names in _LISTS.items():
        section = document.get(part)
        if section is None:
            continue
        if not isinstance(section, Mapping):
            raise BadInput(reason("finding.snapshot.no-lists", key=part, example=names[0]))
        for name in names:
            value = section.get(name)
            if value is not None and not isinstance(value, list | Mapping):
                raise BadInput(reason("finding.snapshot.no-list", key=f"{part}.{name}"))
    for part in ("logs", "logs_previous"):
        if document.get(part) is not None and not isinstance(document.get(part), Mapping):
            raise BadInput(reason("finding.snapshot.no-logs", key=part))
