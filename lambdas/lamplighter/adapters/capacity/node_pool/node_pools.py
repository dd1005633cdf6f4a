"""NodePools through the API server: reads one, and writes the patches of domain/capacity/node_pool/sizing.py."""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.adapters.kubernetes.connection import MERGE_PATCH, Connection, Object
from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.node_pool.evidence import NodeClass, NodePool
from lamplighter.domain.capacity.node_pool.sizing import KEPT, WRITTEN, Patch
from lamplighter.values.instant import foreign
from lamplighter.values.whole_number import whole_number

PATH = "/apis/karpenter.sh/v1/nodepools/{name}"
MANAGER = "lamplighter"
"""Our name as a field manager: by it the object tells when we last wrote to it."""
KEEPS_FROM_STARTING = ("NodeClassReady", "ValidationSucceeded")


@border
class NodePools:
    """The NodePools of one cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, name: str) -> NodePool | None:
        """The NodePool as the API server has it now; None where it does not exist."""
        found = self._connection.get(PATH.format(name=name))
        return _node_pool(found) if found else None

    def write(self, name: str, patches: Iterable[Patch]) -> None:
        """One patch after the other."""
        path = PATH.format(name=name)
        for patch in patches:
            answer = self._connection.ask(
                "PATCH",
                path,
                body=dict(patch),
                query={"fieldManager": MANAGER},
                content_type=MERGE_PATCH,
            )
            self._connection.expect(answer, "PATCH", path)


def _node_pool(found: Object) -> NodePool:
    metadata, spec = found["metadata"], found["spec"]
    notes, template = metadata.get("annotations") or {}, spec["template"]["spec"]
    reference = template["nodeClassRef"]
    return checked(
        NodePool(
            name=metadata["name"],
            node_class=NodeClass(reference["group"], reference["kind"], reference["name"]),
            replicas=_size(spec.get("replicas")),
            limit=whole_number((spec.get("limits") or {}).get("nodes")),
            kept_limit=whole_number(notes.get(KEPT)),
            written_limit=whole_number(notes.get(WRITTEN)),
            requirements={
                each["key"]: tuple(each.get("values") or ())
                for each in template.get("requirements") or []
                if each.get("operator") == "In"
            },
            grace=template.get("terminationGracePeriod"),
            issues=tuple(_issues(found.get("status") or {})),
            leaving="deletionTimestamp" in metadata,
            sized_at=_sized_at(metadata.get("managedFields") or []),
        )
    )


def _size(written: object) -> int | None:
    """None for a dynamic one. ValueError for what is no size: a removal orders the size that was read, less some."""
    size = whole_number(written)
    if size is None and written is not None:
        raise ValueError(f"replicas is {str(written)[:80]}")
    return size


def _issues(status: Object) -> Iterable[HealthIssue]:
    for condition in status.get("conditions") or []:
        if condition.get("type") in KEEPS_FROM_STARTING and condition.get("status") == "False":
            yield HealthIssue(str(condition.get("reason", "")), str(condition.get("message", "")))


def _sized_at(managed: Iterable[Object]) -> datetime | None:
    ours = (foreign(entry.get("time")) for entry in managed if entry.get("manager") == MANAGER)
    return max(filter(None, ours), default=None)
