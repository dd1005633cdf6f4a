"""Reads Karpenter's own Deployment, why its pods do not run, its kinds of object, and its queue of interruptions."""

import re
from collections.abc import Iterator
from datetime import datetime

from lamplighter.adapters.aws.capacity.queues import exists
from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.autoscalers import DEPLOYMENTS, karpenters
from lamplighter.adapters.kubernetes.connection import NOT_FOUND, Connection, Forbidden, Object
from lamplighter.domain.capacity.node_pool.access import DEFINITIONS
from lamplighter.domain.capacity.node_pool.controller import NAME, NAMESPACE, Controller, Health
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Said, reason
from lamplighter.values.instant import foreign

KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OURS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
# public.ecr.aws/karpenter/controller:1.14.3@sha256:…, also from a mirror, and with the v of older releases
_VERSION = re.compile(r"karpenter/controller:v?(\d+\.\d+\.\d+)")
_STATIC = re.compile(r"\bStaticCapacity=true\b")


@border
def health(connection: Connection, *, ours: bool) -> Health:
    """What one look shows; `ours` where the lab installs Karpenter, so that its name is known. Raises OutsideFailed."""
    found = ours_of(connection) if ours else controllers_of(connection)
    absent: list[str] = []
    unread: dict[str, str] = {}
    for queue in dict.fromkeys(one.queue for one in found if one.queue):
        # One that cannot be read, such as one with a name that SQS refuses, hides nothing else of Karpenter.
        try:
            absent += [] if exists(queue) else [queue]
        except OutsideFailed as error:
            unread[queue] = str(error)
    return Health(found, tuple(unserved_kinds(connection)), tuple(absent), unread)


@border
def ours_of(connection: Connection) -> tuple[Controller, ...]:
    """The Deployment that the lab installs; nothing where somebody deleted it."""
    found = connection.get(OURS)
    return (_controller(connection, found),) if found else ()


@border
def controllers_of(connection: Connection) -> tuple[Controller, ...]:
    """The Deployments of Karpenter in the cluster, whatever their names are. Raises OutsideFailed."""
    return tuple(_controller(connection, found) for found in karpenters(connection.list(DEPLOYMENTS)))


@border
def unserved_kinds(connection: Connection) -> Iterator[str]:
    """The same by what the API server serves: two small answers, which everybody may read."""
    served: dict[str, set[str]] = {}
    for name in DEFINITIONS:
        plural, _, group = name.partition(".")
        if group not in served:
            found = connection.get(f"/apis/{group}/v1")
            served[group] = {str(each.get("name")) for each in found.get("resources") or []}
        if plural not in served[group]:
            yield name


@border
def absent_kinds(connection: Connection) -> Iterator[str]:
    """The kinds of Karpenter's objects that the cluster does not know."""
    for name in DEFINITIONS:
        path = f"{KINDS}/{name}"
        answer = connection.ask("GET", path)
        if answer.status == NOT_FOUND:
            yield name
        else:
            connection.expect(answer, "GET", path)


def _controller(connection: Connection, found: Object) -> Controller:
    spec, status = found.get("spec") or {}, found.get("status") or {}
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
    images = " ".join(str(container.get("image", "")) for container in containers)
    environment = {
        str(variable.get("name")): str(variable.get("value") or "")
        for container in containers
        for variable in container.get("env") or []
    }
    version, wanted = _VERSION.search(images), spec.get("replicas")
    available = int(status.get("availableReplicas") or 0)
    down = wanted != 0 and not available
    return Controller(
        name=f"{found['metadata']['namespace']}/{found['metadata']['name']}",
        version=version[1] if version else None,
        wanted=1 if wanted is None else int(wanted),
        available=available,
        why_not=(_unplaced(connection, found) if down else "") or "; ".join(_complaints(status)),
        static_capacity=bool(_STATIC.search(environment.get("FEATURE_GATES", ""))),
        queue=environment.get("INTERRUPTION_QUEUE", ""),
        down_since=_down_since(status),
    )


def _unplaced(connection: Connection, deployment: Object) -> Said:
    """That a pod of it finds no node, in the scheduler's words; nothing where pods may not be read."""
    metadata = deployment["metadata"]
    labels = ((deployment.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    if not selector:
        return ""
    try:
        pods = connection.list(f"/api/v1/namespaces/{metadata['namespace']}/pods", labelSelector=selector)
    except Forbidden:
        return ""
    for pod in pods:
        for condition in (pod.get("status") or {}).get("conditions") or []:
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                name = f"{metadata['namespace']}/{pod['metadata']['name']}"
                return reason("guard.karpenter.unplaced", pod=name, why=str(condition.get("message", "")))
    return ""


def _complaints(status: Object) -> Iterator[str]:
    """What the Deployment's conditions say against it."""
    for condition in status.get("conditions") or []:
        against = condition.get("status") == (
            "True" if condition.get("type") == "ReplicaFailure" else "False"
        )
        if against and condition.get("message"):
            yield str(condition["message"])


def _down_since(status: Object) -> datetime | None:
    for condition in status.get("conditions") or []:
        if condition.get("type") == "Available" and condition.get("status") == "False":
            return foreign(condition.get("lastTransitionTime"))
    return None
