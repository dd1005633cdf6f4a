"""What Kubernetes' own controllers and its scheduler have still to do after the events in the cluster.

They answer a change within real milliseconds, which the virtual clock does not see. So time does not move until they
have produced the state that must follow. `owed` says what is missing, by what the watches have shown.
local/kubernetes/components.py says which controllers run.
"""

from collections.abc import Iterable, Iterator, Mapping

from local.fleet import jobs
from local.fleet.world import TERMINAL, World, gpus_of, key, labels, ready
from local.kubernetes.api import Object
from local.kubernetes.placement import has_room, matches, placeable, selects, tolerates

_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
#: The taints that the DaemonSet controller lets its pods tolerate
#: (https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations).
_BORNE = (
    *({"key": key, "operator": "Exists", "effect": "NoExecute"} for key in (_NOT_READY, _UNREACHABLE)),
    *(
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoSchedule"}
        for name in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
)
_HOOK = "helm.sh/hook"
_GENERATION, _HASH = "pod-template-generation", "controller-revision-hash"
#: Objects by the uid of their controller, or by a node.
_Owned = dict[str, list[Object]]


def owed(world: World) -> list[str]:
    """The missing states."""
    pods = world.pods.all()
    owned: _Owned = {}
    for pod in pods:
        for owner in _controllers(pod):
            owned.setdefault(owner, []).append(pod)
    checks = (
        _placed(world, pods),
        _daemonsets(world, owned),
        _replicasets(world, owned),
        _deployments(world),
        _jobs(world, owned, world.coroutines.time()),
        _orphans(world, pods),
        _foreground(world, pods),
        _taints(world),
        _budgets(world, pods),
    )
    return [debt for check in checks for debt in check]


def unfinished(world: World) -> bool:
    """Whether anything that a program such as helm may be waiting for is still changing.

    A chart's pods have controllers and ask for no GPU. A notebook that waits for a window is no such pod. A chart's
    hook is a Job that helm waits for.
    """
    if any(
        _HOOK in (job["metadata"].get("annotations") or {}) and not _over(job) for job in world.jobs.all()
    ):
        return True
    pods = [pod for pod in world.pods.all() if any(_controllers(pod)) and not gpus_of(pod)]
    if any(_leaving(pod) or not (ready(pod) or _ended(pod)) for pod in pods):
        return True
    return any(policy.get("status", {}).get("state") != "ready" for policy in world.policies.all())


def _placed(world: World, pods: list[Object]) -> Iterator[str]:
    nodes = world.nodes.all()
    bound: _Owned = {}
    for pod in pods:
        if pod["spec"].get("nodeName") and not _ended(pod):
            bound.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for pod in pods:
        if pod["spec"].get("nodeName") or _leaving(pod) or _ended(pod):
            continue
        conditions = pod.get("status", {}).get("conditions") or []
        looked = any(one["type"] == "PodScheduled" for one in conditions)
        if not looked or (placeable(pod) and any(_fits(pod, node, bound) for node in nodes)):
            yield f"a node for pod {key(pod)}"


def _fits(pod: Object, node: Object, bound: _Owned) -> bool:
    """Whether a node takes the pod beside those that are bound to it."""
    return (
        selects(pod["spec"], node)
        and tolerates(pod["spec"], node, ("NoSchedule", "NoExecute"))
        and has_room(pod, node, bound.get(node["metadata"]["name"], []))
    )


def _daemonsets(world: World, owned: _Owned) -> Iterator[str]:
    nodes = {node["metadata"]["name"]: node for node in world.nodes.all()}
    for each in world.daemonsets.all():
        if _leaving(each):
            continue
        name, spec = f"DaemonSet {key(each)}", each["spec"]["template"]["spec"]
        if not _observed(each):
            yield f"{name}: a look at its generation"
            continue
        there: _Owned = {}
        for pod in owned.get(each["metadata"]["uid"], []):
            there.setdefault(_daemon_node(pod), []).append(pod)
        selected = {node for node, found in nodes.items() if selects(spec, found)}
        wanted = {n for n in selected if tolerates(spec, nodes[n], ("NoSchedule", "NoExecute"), _BORNE)}
        kept = {n for n in selected if tolerates(spec, nodes[n], ("NoExecute",), _BORNE)}
        if missing := wanted - set(there):
            yield f"{name}: a pod on {min(missing)}"
        live = {node for node, pods in there.items() if node in nodes and not all(map(_leaving, pods))}
        if surplus := live - kept:
            yield f"{name}: the end of its pod on {min(surplus)}"
        # A new taint or the end of a node alone does not make the controller count again.
        borne = wanted | set(there)
        if not len(wanted) <= each.get("status", {}).get("desiredNumberScheduled", 0) <= len(borne):
            yield f"{name}: its count of nodes"
        held = {node: there[node] for node in borne & set(there)}
        yield from _rolling(name, each, held, wanted, _current(world, each))


def _current(world: World, daemonset: Object) -> Mapping[str, set[str]]:
    """The values of the labels by one of which its controller knows a pod of the current template.

    Another generation has the same hash when a template is given back
    (https://github.com/kubernetes/kubernetes/blob/v1.35.4/pkg/controller/daemon/util/daemonset_util.go, IsPodUpdated).
    """
    annotations = daemonset["metadata"].get("annotations") or {}
    template = daemonset["spec"]["template"]
    hashes = {
        labels(revision).get(_HASH, "")
        for revision in world.revisions.all()
        if daemonset["metadata"]["uid"] in _controllers(revision)
        and {**revision["data"]["spec"]["template"], "$patch": ""} == {**template, "$patch": ""}
    }
    return {_GENERATION: {annotations.get("deprecated.daemonset.template.generation", "")}, _HASH: hashes}


def _rolling(
    name: str, daemonset: Object, there: _Owned, wanted: set[str], current: Mapping[str, set[str]]
) -> Iterator[str]:
    """Its count of ready pods, and the next pod of an update; `there` are its pods by node."""
    first = {node: min(pods, key=_age) for node, pods in there.items()}
    good = {node for node, pod in first.items() if ready(pod)}
    if not len(good & wanted) <= daemonset.get("status", {}).get("numberReady", 0) <= len(good):
        yield f"{name}: its count of ready pods"
    old = [
        pod
        for pod in first.values()
        if not any(labels(pod).get(label) in values for label, values in current.items())
    ]
    rolls = daemonset["spec"].get("updateStrategy", {}).get("type") == "RollingUpdate"
    if rolls and old and len(good) == len(there) and not any(map(_leaving, first.values())):
        yield f"{name}: the end of an old pod"


def _replicasets(world: World, owned: _Owned) -> Iterator[str]:
    for each in world.replicasets.all():
        if _leaving(each):
            continue
        live = [p for p in owned.get(each["metadata"]["uid"], []) if not (_leaving(p) or _ended(p))]
        status = each.get("status", {})
        told = (status.get("replicas", 0), status.get("readyReplicas", 0))
        if not _observed(each) or len(live) != each["spec"].get("replicas", 1):
            yield f"ReplicaSet {key(each)}: its pods"
        elif told != (len(live), sum(ready(pod) for pod in live)):
            yield f"ReplicaSet {key(each)}: its counts"


def _deployments(world: World) -> Iterator[str]:
    sets: _Owned = {}
    for each in world.replicasets.all():
        for owner in _controllers(each):
            sets.setdefault(owner, []).append(each)
    for each in world.deployments.all():
        if _leaving(each):
            continue
        mine = sets.get(each["metadata"]["uid"], [])
        told = each.get("status", {}).get("readyReplicas", 0)
        if not _observed(each) or not mine:
            yield f"Deployment {key(each)}: its ReplicaSet"
        elif told != sum(one.get("status", {}).get("readyReplicas", 0) for one in mine):
            yield f"Deployment {key(each)}: its counts"


def _jobs(world: World, owned: _Owned, now: float) -> Iterator[str]:
    for each in world.jobs.all():
        yield from jobs.debts(each, owned.get(each["metadata"]["uid"], []), now)


def _orphans(world: World, pods: list[Object]) -> Iterator[str]:
    there = {
        one["metadata"]["uid"]
        for kind in (world.daemonsets, world.replicasets, world.deployments, world.jobs)
        for one in kind.all()
    }
    watched = ("DaemonSet", "ReplicaSet", "Deployment", "Job")
    for each in (*pods, *world.replicasets.all(), *world.daemonsets.all()):
        owners = [o for o in each["metadata"].get("ownerReferences") or [] if o["kind"] in watched]
        if owners and not _leaving(each) and not any(owner["uid"] in there for owner in owners):
            yield f"the end of {key(each)}, whose owner is gone"


def _foreground(world: World, pods: list[Object]) -> Iterator[str]:
    """An object that is deleted in the foreground waits for the objects that it owns; the collector deletes those
    first.
    """
    dependents: _Owned = {}
    for each in (*pods, *world.replicasets.all()):
        for owner in each["metadata"].get("ownerReferences") or []:
            dependents.setdefault(owner["uid"], []).append(each)
    for kind in (world.daemonsets, world.replicasets, world.deployments, world.jobs):
        for each in kind.all():
            if _leaving(each) and "foregroundDeletion" in (each["metadata"].get("finalizers") or []):
                left = dependents.get(each["metadata"]["uid"], [])
                if not all(map(_leaving, left)):
                    yield f"the end of what {key(each)} owns"
                elif not left:
                    yield f"the end of {key(each)}, which owns nothing any more"


def _taints(world: World) -> Iterator[str]:
    for node in world.nodes.all():
        conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions") or []}
        taints = node["spec"].get("taints") or []
        marked = {one["key"] for one in taints if one["key"] in (_NOT_READY, _UNREACHABLE)}
        wanted = {"False": {_NOT_READY}, "Unknown": {_UNREACHABLE}}.get(conditions.get("Ready", ""), set())
        blocks = {one["key"] for one in taints if one["effect"] == "NoSchedule"} & marked
        if "Ready" in conditions and (blocks != wanted or (not wanted and marked)):
            yield f"the taints of node {node['metadata']['name']}"


def _budgets(world: World, pods: list[Object]) -> Iterator[str]:
    for each in world.budgets.all():
        if _cannot_sync(each):
            continue
        selector = each["spec"].get("selector") or {}
        mine = [
            pod
            for pod in pods
            if pod["metadata"].get("namespace") == each["metadata"]["namespace"]
            and matches(selector, labels(pod))
            and not (_leaving(pod) or _ended(pod))
        ]
        healthy = sum(ready(pod) for pod in mine)
        if not _observed(each) or each.get("status", {}).get("currentHealthy", 0) != healthy:
            yield f"PodDisruptionBudget {key(each)}: its counts"


def _cannot_sync(budget: Object) -> bool:
    """Whether its controller reports that it cannot count healthy pods, and left its status unchanged."""
    conditions = budget.get("status", {}).get("conditions") or []
    return any(one["reason"] == "SyncFailed" for one in conditions)


def _controllers(item: Object) -> Iterable[str]:
    references = item["metadata"].get("ownerReferences") or []
    return (str(reference["uid"]) for reference in references if reference.get("controller"))


def _daemon_node(pod: Object) -> str:
    """The node of a DaemonSet's pod, also before it is bound: its affinity names the node."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def _age(pod: Object) -> tuple[str, str]:
    return str(pod["metadata"]["creationTimestamp"]), str(pod["metadata"]["name"])


def _observed(item: Object) -> bool:
    observed = int(item.get("status", {}).get("observedGeneration", 0))
    return observed >= int(item["metadata"].get("generation", 0))


def _leaving(item: Object) -> bool:
    return "deletionTimestamp" in item["metadata"]


def _over(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


def _ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in TERMINAL
