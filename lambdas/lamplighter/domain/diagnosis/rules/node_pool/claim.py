"""One NodeClaim, read from its API document: the request for one node, and how far it has come."""

from datetime import datetime
from functools import cached_property

from lamplighter.domain.diagnosis.document import Doc, at, condition, doc, docs, instant, text

NODE_POOL_LABEL = "karpenter.sh/nodepool"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp"
"""When Karpenter deletes the pods that are left (karpenter, pkg/apis/v1/labels.go)."""


class NodeClaim:
    """A NodeClaim as the API server printed it."""

    def __init__(self, item: Doc) -> None:
        self.item = item
        self.name = text(item, "metadata", "name")
        self.labels = doc(item, "metadata", "labels")
        self.created = instant(item, "metadata", "creationTimestamp")
        self.leaves = instant(item, "metadata", "deletionTimestamp")
        self.instance = text(item, "status", "providerID").rpartition("/")[2]
        self.node = text(item, "status", "nodeName")

    def state(self, kind: str) -> Doc:
        """One of its conditions: Launched, Registered, Initialized, Drained, VolumesDetached and others."""
        return condition(self.item, kind)

    def has(self, kind: str) -> bool:
        return text(self.state(kind), "status") == "True"

    def changed(self, kind: str) -> datetime | None:
        """When the condition last changed."""
        return instant(self.state(kind), "lastTransitionTime")

    @property
    def deadline(self) -> datetime | None:
        """When Karpenter ends the pods that are still on its node; None if it waits for them for ever."""
        return instant(self.item, "metadata", "annotations", DEADLINE)

    @property
    def has_grace(self) -> bool:
        return bool(text(self.item, "spec", "terminationGracePeriod"))

    @cached_property
    def instance_types(self) -> frozenset[str]:
        """The instance types that it may get; one, once it has an instance."""
        one = text(self.labels, INSTANCE_TYPE_LABEL)
        if one:
            return frozenset({one})
        stated = [
            at(requirement, "values")
            for requirement in docs(self.item, "spec", "requirements")
            if text(requirement, "key") == INSTANCE_TYPE_LABEL
        ]
        return frozenset(str(name) for names in stated if isinstance(names, list) for name in names)
