"""Reads NodePools that exist, with their classes, for adopting them and for the doctor. Changes nothing."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.autoscalers import (
    AUTO_MODE_GROUP,
    DEPLOYMENTS,
    KARPENTER_GROUP,
    NODEPOOLS,
    karpenters,
    may_start_gpus,
)
from lamplighter.adapters.kubernetes.connection import Connection, Object
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER
from lamplighter.domain.pool.node_pool_adoption import ExistingNodeClass, ExistingNodePool, ServiceAccount
from lamplighter.errors import OutsideFailed
from lamplighter.values.whole_number import whole_number

NODE_CLASSES = {
    KARPENTER_GROUP: "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    AUTO_MODE_GROUP: "/apis/eks.amazonaws.com/v1/nodeclasses",
}
TYPES, ARCHITECTURES = "node.kubernetes.io/instance-type", "kubernetes.io/arch"
CAPACITY_TYPES = "karpenter.sh/capacity-type"
ROLE_ARN = "eks.amazonaws.com/role-arn"
"""The annotation by which a service account has its IAM role, where it has no pod identity."""
EXPIRES = "720h"
"""What the API server writes where a NodePool states nothing (karpenter, pkg/apis/v1/nodepool.go)."""
# Programs that apply a repository again and again, by the names with which they write.
_FROM_REPOSITORIES = re.compile(
    r"^(?:argocd\S*|flux\S*|kustomize-controller|helm-controller|configsync\S*|fleetagent)$"
)
_SIZES = ("f:limits", "f:replicas")
_DURATION = re.compile(r"(\d+)(h|m|s)")
_UNITS = {"h": "hours", "m": "minutes", "s": "seconds"}


@border
def node_pool(connection: Connection, name: str) -> ExistingNodePool | None:
    """The NodePool with its class; None where there is none of that name. Raises OutsideFailed."""
    found = connection.get(f"{NODEPOOLS}/{name}")
    if not found:
        return None
    reference = _template(found).get("nodeClassRef") or {}
    path = NODE_CLASSES.get(str(reference.get("group")))
    described = connection.get(f"{path}/{reference.get('name')}") if path else {}
    return as_read(found, described)


@border
def names(connection: Connection) -> list[str]:
    """The names of the cluster's NodePools; none where it knows no such kind."""
    return sorted(str(found["metadata"]["name"]) for found in connection.list(NODEPOOLS))


@border
def karpenter_account(connection: Connection) -> ServiceAccount | None:
    """The service account of the Karpenter that runs; None where none runs or it may not be read."""
    try:
        deployments = karpenters(connection.list(DEPLOYMENTS))
        if not deployments:
            return None
        namespace = str(deployments[0]["metadata"]["namespace"])
        pod: Object = deployments[0]["spec"]["template"]["spec"]
        name = str(pod.get("serviceAccountName") or "default")
        found = connection.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")
    except OutsideFailed:
        return None
    notes = (found.get("metadata") or {}).get("annotations") or {}
    return ServiceAccount(namespace, name, notes.get(ROLE_ARN))


def as_read(found: Object, described: Object) -> ExistingNodePool:
    """A NodePool and its class as values; the class is empty where there is none."""
    spec, template, status = found.get("spec") or {}, _template(found), found.get("status") or {}
    group = (template.get("nodeClassRef") or {}).get("group") or KARPENTER_GROUP
    requirements = template.get("requirements") or []
    other = AUTO_MODE_GROUP if group == KARPENTER_GROUP else KARPENTER_GROUP
    disruption = spec.get("disruption") or {}
    ready = _condition(status, "Ready")
    return ExistingNodePool(
        name=str(found["metadata"]["name"]),
        kind=AUTO_MODE.code if group == AUTO_MODE_GROUP else KARPENTER.code,
        replicas=spec.get("replicas"),
        most=whole_number((spec.get("limits") or {}).get("nodes")),
        instance_types=_allowed(requirements, TYPES),
        architectures=_allowed(requirements, ARCHITECTURES),
        capacity_types=_allowed(requirements, CAPACITY_TYPES),
        unknown_keys=tuple(sorted({key for key in _keys(requirements) if key.startswith(f"{other}/")})),
        may_start_gpus=may_start_gpus(found),
        grace=duration(template.get("terminationGracePeriod") or ""),
        expires_after=duration(template.get("expireAfter") or EXPIRES),
        consolidates=disruption.get("consolidationPolicy", "WhenEmptyOrUnderutilized") != "WhenEmpty"
        and disruption.get("consolidateAfter") != "Never",
        running=whole_number(status.get("nodes")) or 0,
        ready=ready.get("status") != "False",
        why_not=_words(ready),
        never_register=_condition(status, "NodeRegistrationHealthy").get("status") == "False",
        writers=tuple(sorted(set(_writers(found)))),
        node_class=_node_class(described) if described else None,
    )


def _node_class(found: Object) -> ExistingNodeClass:
    spec, ready = found.get("spec") or {}, _condition(found.get("status") or {}, "Ready")
    terms = spec.get("amiSelectorTerms") or []
    return ExistingNodeClass(
        name=str(found["metadata"]["name"]),
        aliases=tuple(str(term["alias"]) for term in terms if "alias" in term),
        own_images=tuple(_own_images(terms)),
        role=str(spec.get("role") or ""),
        ready=ready.get("status") != "False",
        why_not=_words(ready),
    )


def _own_images(terms: list[Object]) -> Iterator[str]:
    """Images that it finds by anything but an alias or a parameter of AWS."""
    for term in terms:
        if "alias" not in term and "ssmParameter" not in term:
            tags = ", ".join(f"{key}={value}" for key, value in sorted((term.get("tags") or {}).items()))
            yield str(term.get("id") or term.get("name") or tags)


def _template(found: Object) -> Object:
    spec: Object = ((found.get("spec") or {}).get("template") or {}).get("spec") or {}
    return spec


def _allowed(requirements: list[Object], key: str) -> tuple[str, ...]:
    """The values that a requirement of this key names, in its order."""
    named = [
        str(value)
        for requirement in requirements
        if requirement.get("key") == key and requirement.get("operator") == "In"
        for value in requirement.get("values") or []
    ]
    return tuple(dict.fromkeys(named))


def _keys(requirements: list[Object]) -> Iterator[str]:
    for requirement in requirements:
        yield str(requirement.get("key") or "")


def _condition(status: Object, kind: str) -> Object:
    found: Object = next((one for one in status.get("conditions") or [] if one.get("type") == kind), {})
    return found


def _words(condition: Object) -> str:
    return ": ".join(filter(None, (str(condition.get("reason") or ""), str(condition.get("message") or ""))))


def duration(written: str) -> timedelta | None:
    """A duration of Kubernetes such as 24h0m0s; None for Never, and for what no calendar has room for."""
    parts = _DURATION.findall(written)
    if not parts:
        return None
    try:
        return sum((timedelta(**{_UNITS[unit]: int(count)}) for count, unit in parts), timedelta())
    except (ValueError, OverflowError):
        return None


def _writers(found: Object) -> Iterator[str]:
    """Who writes its size from a repository, by the fields that each program manages."""
    for entry in (found.get("metadata") or {}).get("managedFields") or []:
        manager = str(entry.get("manager") or "")
        fields: Any = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        if _FROM_REPOSITORIES.match(manager) and any(size in fields for size in _SIZES):
            yield manager
