"""The objects of Kubernetes in a class's namespace, whole, for server-side apply.

Without seats the quota is zero: nothing new is made, and what is there stays until its node goes or its owner ends it.
A pod that waits for a node stays too (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from lamplighter.domain.classes.target import ClassTarget
from lamplighter.values.kubernetes_rights import RBAC, Document

NAME = "lamplighter-class"
"""Of each object of ours in a class's namespace."""
LAB_LABEL = "lamplighter/lab"
"""The label by which a namespace is a lab's. Whoever administers the cluster may give it to a namespace of theirs."""
POD_SECURITY, BASELINE = "pod-security.kubernetes.io/enforce", "baseline"
CRITICAL = "lamplighter-class-critical"
"""A quota of no pod with the priority of the system, which would evict the pods of another class (Kubernetes 76310)."""
ROLE = "edit"
TWICE = ("cpu", "memory")
"""What a container requests and what it is limited to are counted apart."""
_NUMBER = re.compile(r"[0-9.]+")


_NONE_CRITICAL: Document = {
    "hard": {"pods": "0"},
    "scopeSelector": {
        "matchExpressions": [
            {
                "scopeName": "PriorityClass",
                "operator": "In",
                "values": ["system-cluster-critical", "system-node-critical"],
            }
        ]
    },
}
_CLOSED = {
    "pods": "0",
    "persistentvolumeclaims": "0",
    "services.loadbalancers": "0",
    "services.nodeports": "0",
}
"""What costs money or runs, and a quota may not name: after a close nothing of it is made."""


def documents(lab: str, target: ClassTarget) -> list[tuple[str, Document]]:
    """Paths and objects in the order in which they are written: nobody works in the namespace before its quota."""
    seat = {key: amount for key, amount in target.terms.quota_per_seat.items() if key in TWICE}
    # Of a container that asks for nothing. Without it the quota would refuse the pod.
    default = {"type": "Container", "default": seat, "defaultRequest": seat}
    subjects = [
        {"apiGroup": RBAC, "kind": kind, "name": name}
        for one in target.terms.people
        for kind, name in (("Group", one.group), ("User", one.user))
        if name is not None
    ]
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": ROLE}
    return [
        _namespace(lab, target.terms.namespace),
        _object(target, "v1", "ResourceQuota", {"spec": {"hard": hard(target)}}),
        _object(target, "v1", "ResourceQuota", {"spec": _NONE_CRITICAL}, CRITICAL),
        _object(target, "v1", "LimitRange", {"spec": {"limits": [default]}}),
        _object(target, f"{RBAC}/v1", "RoleBinding", {"roleRef": role, "subjects": subjects}),
    ]


def namespace_path(name: str) -> str:
    """Where the API server has a namespace."""
    return f"/api/v1/namespaces/{name}"


def hard(target: ClassTarget) -> dict[str, str]:
    """The entries of the quota: the seats' share of each key; GPUs of every resource by the seats that have it."""
    seats = target.seats
    entries: dict[str, str] = {} if seats else dict(_CLOSED)
    for key, amount in target.terms.quota_per_seat.items():
        for entry in (f"requests.{key}", f"limits.{key}") if key in TWICE else (key,):
            entries[entry] = times(amount, seats)
    # Kubernetes counts the requests of extended resources alone: they are their limits.
    return {**entries, **{f"requests.{name}": str(count) for name, count in target.gpus.items()}}


def times(quantity: str, count: int) -> str:
    """A quantity so many times, with its suffix."""
    number = _NUMBER.match(quantity)
    if number is None or not count:
        return "0"
    return f"{Decimal(number[0]) * count:f}{quantity[number.end() :]}"


def _namespace(lab: str, name: str) -> tuple[str, Document]:
    # No pod of the class may take over its node.
    labels = {LAB_LABEL: lab, POD_SECURITY: BASELINE}
    body: Document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    return namespace_path(name), body


def _object(
    target: ClassTarget, version: str, kind: str, rest: Mapping[str, object], name: str = NAME
) -> tuple[str, Document]:
    where = target.terms.namespace
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    body: Document = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": where},
        **rest,
    }
    return f"{root}/namespaces/{where}/{kind.lower()}s/{name}", body
