"""Pods: create once, read as values, read their logs, delete."""

from datetime import datetime

from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.adapters.kubernetes.connection import CONFLICT, NOT_FOUND, Connection, Object
from lamplighter.adapters.kubernetes.nodes import OURS, instant
from lamplighter.domain.checks.time_limit import pulled_in
from lamplighter.domain.pool.nodes import GPU_RESOURCES, PodFacts
from lamplighter.values.instant import foreign
from lamplighter.values.whole_number import whole_number

# A check prints a few hundred bytes, dcgmi some hundred kilobytes; what is longer is no output of ours.
LOG_BYTES = 4 * 1024 * 1024
NVIDIA = "nvidia.com/"


@border
def on_node(connection: Connection, node: str) -> list[PodFacts]:
    """Every pod bound to the node, in every namespace."""
    return [
        pod_facts(item) for item in connection.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    ]


@border
def labelled(connection: Connection, selector: str, namespace: str = "") -> list[PodFacts]:
    """Pods by label, in one namespace or in all."""
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    return [pod_facts(item) for item in connection.list(path, labelSelector=selector)]


@border
def create(connection: Connection, manifest: Object) -> None:
    """Create the pod, where it does not exist."""
    path = f"/api/v1/namespaces/{manifest['metadata']['namespace']}/pods"
    answer = connection.ask("POST", path, body=manifest)
    if answer.status != CONFLICT:
        connection.expect(answer, "POST", path)


@border
def log(connection: Connection, pod: PodFacts, container: str | None = None) -> str | None:
    """The log of a pod's container; None where the kubelet has none, or there is no such container.

    Where the pod has several containers, one must be named.
    """
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/log"
    query = {"limitBytes": str(LOG_BYTES), **({"container": container} if container else {})}
    answer = connection.ask("GET", path, query=query)
    return answer.text if answer.ok else None


@border
def pull_seconds(connection: Connection, namespace: str) -> dict[str, float]:
    """Seconds of image pulling by pod, from the kubelets' events; 0 for an image that was on the node."""
    found: dict[str, float] = {}
    for event in connection.list(f"/api/v1/namespaces/{namespace}/events", fieldSelector="reason=Pulled"):
        name = str((event.get("involvedObject") or {}).get("name", ""))
        took = pulled_in(str(event.get("message", "")))
        if took is not None:
            found[name] = found.get(name, 0.0) + took
    return found


@border
def delete(connection: Connection, namespace: str, name: str, *, grace_seconds: int = 0) -> None:
    """Delete the pod; PodDisruptionBudgets do not apply."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    body: Object = {"gracePeriodSeconds": grace_seconds, "propagationPolicy": "Background"}
    answer = connection.ask("DELETE", path, body=body)
    if answer.status != NOT_FOUND:
        connection.expect(answer, "DELETE", path)


def pod_facts(item: Object) -> PodFacts:
    """A pod's API document as a value."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    owners = metadata.get("ownerReferences") or []
    first = (status.get("containerStatuses") or [{}])[0].get("state") or {}
    ended = first.get("terminated") or {}
    return checked(
        PodFacts(
            namespace=metadata["namespace"],
            name=metadata["name"],
            node=str(spec.get("nodeName") or ""),
            phase=str(status.get("phase") or "Pending"),
            created=instant(metadata["creationTimestamp"]),
            ready=_condition(status, "Ready").get("status") == "True",
            daemon=any(owner.get("kind") == "DaemonSet" for owner in owners),
            mirror="kubernetes.io/config.mirror" in (metadata.get("annotations") or {}),
            leaving="deletionTimestamp" in metadata,
            gpus=sum(_gpus_of(container) for container in spec.get("containers") or []),
            labels=metadata.get("labels") or {},
            annotations={
                key: str(value)
                for key, value in (metadata.get("annotations") or {}).items()
                if key.startswith(OURS)
            },
            accelerated=_accelerated(spec),
            exit_code=ended.get("exitCode"),
            waiting=_waiting(status, first),
            scheduled=foreign(_scheduled(status)),
            began=_began(first.get("running") or ended),
            ended=foreign(ended.get("finishedAt")),
            prepared=_prepared(status),
        )
    )


def _began(state: Object) -> datetime | None:
    """When the container started; None for one that failed to start.

    containerd gives such a one no start, and the kubelet writes the first second of 1970
    (https://github.com/kubernetes/kube-state-metrics/issues/1861).
    """
    began = foreign(state.get("startedAt"))
    return began if began and began.timestamp() else None


def _prepared(status: Object) -> dict[str, datetime]:
    """When each init container ended with exit code 0."""
    found = {}
    for each in status.get("initContainerStatuses") or []:
        ended = (each.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode") == 0 and (at := foreign(ended.get("finishedAt"))) is not None:
            found[str(each.get("name", ""))] = at
    return found


def _scheduled(status: Object) -> object:
    condition = _condition(status, "PodScheduled")
    return condition.get("lastTransitionTime") if condition.get("status") == "True" else None


def _waiting(status: Object, state: Object) -> str:
    waits = state.get("waiting") or {}
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        waits = scheduled
    said = [str(waits.get(key)) for key in ("reason", "message") if waits.get(key)]
    if not said and status.get("phase") == "Failed":
        said = [str(status.get(key)) for key in ("reason", "message") if status.get(key)]
    return ": ".join(said)


def _condition(status: Object, name: str) -> Object:
    for condition in status.get("conditions") or []:
        if condition.get("type") == name:
            found: Object = condition
            return found
    return {}


def _gpus_of(container: Object) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    return sum(whole_number(limits.get(name)) or 0 for name in GPU_RESOURCES)


def _accelerated(spec: Object) -> bool:
    """Whether a pod has any resource of NVIDIA's, a MIG slice, or a claim: its GPU is not idle."""
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    limits = {name for each in containers for name in (each.get("resources") or {}).get("limits") or {}}
    return bool(spec.get("resourceClaims")) or any(name.startswith(NVIDIA) for name in limits)
