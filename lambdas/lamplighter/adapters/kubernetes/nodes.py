"""The cluster's nodes: read by pool as values, cordoned before they leave, and labelled."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.adapters.kubernetes.connection import MERGE_PATCH, NOT_FOUND, Connection, Object
from lamplighter.domain.pool.nodes import (
    EFA_RESOURCE,
    GPU_RESOURCES,
    HUGE_PAGES,
    MIG_RESOURCES,
    NodeFacts,
    NodeTaint,
)
from lamplighter.values.instant import foreign
from lamplighter.values.whole_number import whole_number

OURS = "lamplighter/"
# What eks-node-monitoring-agent says of GPUs.
HARDWARE = "AcceleratedHardwareReady"
# Cluster Autoscaler's own: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
NOT_TO_BE_REMOVED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_MIB = {"Mi": 1, "Gi": 1024}


@border
def pool_nodes(connection: Connection, selector: str) -> list[NodeFacts]:
    """Every node of one pool, by name. `selector` is that of the pool's identity."""
    listed = map(node_facts, connection.list("/api/v1/nodes", labelSelector=selector))
    return sorted({node.name: node for node in listed}.values(), key=lambda node: node.name)


@border
def cordon(connection: Connection, node: str, notes: Mapping[str, str]) -> None:
    """Cordon the node and annotate it with our notes; a deleted node is fine."""
    _patch(connection, node, {"metadata": {"annotations": dict(notes)}, "spec": {"unschedulable": True}})


@border
def uncordon(connection: Connection, node: str, notes: Iterable[str]) -> None:
    """Uncordon a node that stays after all, and remove our notes."""
    gone = dict.fromkeys(notes)
    _patch(connection, node, {"metadata": {"annotations": gone}, "spec": {"unschedulable": None}})


@border
def protect(connection: Connection, node: str) -> None:
    """Keep Cluster Autoscaler from removing the node as idle; a deleted node is fine."""
    _patch(connection, node, {"metadata": {"annotations": {NOT_TO_BE_REMOVED: "true"}}})


@border
def label(connection: Connection, node: str, labels: Mapping[str, str]) -> None:
    """Label the node; a deleted node is fine."""
    _patch(connection, node, {"metadata": {"labels": dict(labels)}})


@border
def delete_by_instance(connection: Connection, instances: Collection[str]) -> None:
    """Delete the nodes of these instances. Only for nodes whose finalizer ends the instance."""
    for item in connection.list("/api/v1/nodes"):
        node = node_facts(item)
        if node.instance in instances:
            path = f"/api/v1/nodes/{node.name}"
            answer = connection.ask("DELETE", path)
            if answer.status != NOT_FOUND:
                connection.expect(answer, "DELETE", path)


def _patch(connection: Connection, node: str, body: Object) -> None:
    path = f"/api/v1/nodes/{node}"
    answer = connection.ask("PATCH", path, body=body, content_type=MERGE_PATCH)
    if answer.status != NOT_FOUND:
        connection.expect(answer, "PATCH", path)


def node_facts(item: Object) -> NodeFacts:
    """A node's API document as a value."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    conditions = {each.get("type"): each for each in status.get("conditions") or []}
    ready = conditions.get("Ready") or {}
    return checked(
        NodeFacts(
            name=metadata["name"],
            # aws:///ap-northeast-2a/i-0abc
            instance=(spec.get("providerID") or "").rpartition("/")[2],
            created=instant(metadata["creationTimestamp"]),
            ready=ready.get("status") == "True",
            ready_message=str(ready.get("message") or ready.get("reason") or ""),
            cordoned=bool(spec.get("unschedulable")),
            taints=tuple(
                NodeTaint(str(each.get("key", "")), str(each.get("value") or ""), str(each.get("effect", "")))
                for each in spec.get("taints") or []
            ),
            labels=metadata.get("labels") or {},
            capacity=_gpus(status.get("capacity")),
            allocatable=_gpus(status.get("allocatable")),
            efa=whole_number((status.get("allocatable") or {}).get(EFA_RESOURCE)) or 0,
            huge_pages=_mib((status.get("allocatable") or {}).get(HUGE_PAGES)),
            annotations={
                key: str(value)
                for key, value in (metadata.get("annotations") or {}).items()
                if key.startswith(OURS)
            },
            protected=(metadata.get("annotations") or {}).get(NOT_TO_BE_REMOVED) == "true",
            ready_since=foreign(ready.get("lastTransitionTime")),
            hardware_fault=_fault(conditions.get(HARDWARE)),
            hardware_fault_since=foreign((conditions.get(HARDWARE) or {}).get("lastTransitionTime")),
            monitored=HARDWARE in conditions,
        )
    )


def _fault(condition: Object | None) -> str:
    if not condition or condition.get("status") != "False":
        return ""
    return (
        ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
        or "no reason given"
    )


def instant(text: str) -> datetime:
    """A time that the API server itself writes, by its clock."""
    return datetime.fromisoformat(text)


def _gpus(resources: Object | None) -> dict[str, int]:
    found = resources or {}
    names = (name for name in found if name in GPU_RESOURCES or name.startswith(MIG_RESOURCES))
    return {name: number for name in sorted(names) if (number := whole_number(found[name])) is not None}


def _mib(written: object) -> int:
    text = str(written)
    return (whole_number(text[:-2]) or 0) * _MIB.get(text[-2:], 0)
