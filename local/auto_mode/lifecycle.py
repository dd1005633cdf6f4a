"""The life of a NodeClaim: launched, registered, initialized, expired or deleted.

Conditions, reasons and times are those of Karpenter (kubernetes-sigs/karpenter, pkg/controllers/nodeclaim/lifecycle).
"""

from collections.abc import Generator, Iterator
from datetime import datetime

from local.auto_mode import node
from local.auto_mode.cluster import FINALIZER, POOL_LABEL, AutoModeCluster, leaving
from local.auto_mode.conditions import condition, holds, set_status
from local.auto_mode.definitions import CLAIMS
from local.auto_mode.durations import seconds_of
from local.auto_mode.launch import UNAVAILABLE, Launched, Refused
from local.auto_mode.termination import ending
from local.fleet.coroutines import Pause
from local.fleet.node_object import UNINITIALIZED
from local.kubernetes.api import Object

_REGISTER_SECONDS = 15 * 60.0
_LONGEST_RETRY = 60.0
_SHUT_SECONDS = 180.0
#: EKS ends a node at this age at the latest, whatever the NodePool says (user guide, automode-learn-instances).
LONGEST_LIFE, USUAL_LIFE = 504 * 3600.0, 336 * 3600.0
NODES = "/api/v1/nodes"


def claim_life(cluster: AutoModeCluster, claim: Object) -> Iterator[Pause]:
    """The coroutine of one NodeClaim, until it is gone."""
    name = claim["metadata"]["name"]
    if not leaving(claim):
        cluster.world.api.merge(f"{CLAIMS}/{name}", {"metadata": {"finalizers": [FINALIZER]}})
    launched = yield from _launch(cluster, claim)
    if launched is not None and not _leaves(cluster, name):
        yield from _register(cluster, claim, launched)
    if launched is not None:
        yield from _serve(cluster, claim, launched)
    yield from ending(cluster, name, launched)


def _launch(cluster: AutoModeCluster, claim: Object) -> Generator[Pause, None, Launched | None]:
    """Starts the instance. None if there is none, and the claim is being deleted."""
    name, retry = claim["metadata"]["name"], 1.0
    pool = (claim["metadata"].get("labels") or {}).get(POOL_LABEL, "")
    address = f"{CLAIMS}/{name}"
    while not _leaves(cluster, name):
        try:
            launched = _try(cluster, claim, pool)
        except Refused as refused:
            if refused.shortage:
                said = f"NodeClaim {name} event: {refused}"[:350]
                cluster.event(claim, refused.reason, said, warning=True)
                if refused.reason == "InsufficientCapacityError" and not cluster.is_shut(pool):
                    cluster.shut[pool] = cluster.now() + _SHUT_SECONDS
                cluster.world.api.delete(address)
                return None
            told = condition("Launched", "Unknown", refused.reason, str(refused))
            set_status(cluster.world, address, [told])
            yield from cluster.within(retry, lambda: _seen_leaving(cluster, name))
            retry = min(2 * retry, _LONGEST_RETRY)
            continue
        identity = f"aws:///{launched.zone}/{launched.instance}"
        amounts = node.amounts(launched)
        status = {"providerID": identity, "imageID": launched.image, **amounts}
        set_status(cluster.world, address, [condition("Launched")], **status)
        cluster.world.api.merge(address, {"metadata": {"labels": node.labels(launched, claim)}})
        return launched
    return None


def _try(cluster: AutoModeCluster, claim: Object, pool: str) -> Launched:
    """One try to launch. Raises Refused."""
    spec = claim["spec"]
    resolved = cluster.resolved.get(spec["nodeClassRef"]["name"])
    if resolved is None:
        raise Refused("NodeClassNotReady", "NodeClass is not ready", shortage=True)
    if cluster.is_shut(pool):
        raise Refused("InsufficientCapacityError", UNAVAILABLE, shortage=True)
    return cluster.launcher.launch(cluster.describe(), pool, spec["requirements"], resolved)


def _register(cluster: AutoModeCluster, claim: Object, launched: Launched) -> Iterator[Pause]:
    """Waits for the node, 15 minutes at most; then the claim is deleted."""
    name, world = claim["metadata"]["name"], cluster.world
    address = f"{CLAIMS}/{name}"
    waiting = condition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster")
    set_status(world, address, [waiting])
    yield from cluster.within(
        _REGISTER_SECONDS, lambda: launched.instance in cluster.running or _gone(cluster, name, launched)
    )
    _start_machine(cluster, claim, launched)
    yield from cluster.within(
        _REGISTER_SECONDS, lambda: _has_node(cluster, launched) or _gone(cluster, name, launched)
    )
    if not _has_node(cluster, launched):
        if not _leaves(cluster, name):
            world.api.delete(address)
        return
    found = world.api.find(f"{NODES}/{launched.instance}")
    if found is None:
        return
    owner = {
        "apiVersion": claim["apiVersion"],
        "kind": "NodeClaim",
        "name": name,
        "uid": claim["metadata"]["uid"],
    }
    taints = [one for one in found["spec"].get("taints", []) if one["key"] != node.UNREGISTERED["key"]]
    marks = {"karpenter.sh/registered": "true"}
    metadata = {
        "finalizers": [FINALIZER],
        "labels": marks,
        "ownerReferences": [{**owner, "blockOwnerDeletion": True}],
    }
    world.api.merge(f"{NODES}/{launched.instance}", {"metadata": metadata, "spec": {"taints": taints}})
    not_ready = condition("Initialized", "Unknown", "NodeNotReady", "Node status is NotReady")
    set_status(world, address, [condition("Registered"), not_ready], nodeName=launched.instance)
    yield from cluster.within(
        LONGEST_LIFE, lambda: _is_ready(cluster, launched) or _gone(cluster, name, launched)
    )
    if _is_ready(cluster, launched):
        initialized = {"metadata": {"labels": {"karpenter.sh/initialized": "true"}}}
        world.api.merge(f"{NODES}/{launched.instance}", initialized)
        set_status(world, address, [condition("Initialized"), condition("Ready")])


def _start_machine(cluster: AutoModeCluster, claim: Object, launched: Launched) -> None:
    resolved = cluster.resolved.get(claim["spec"]["nodeClassRef"]["name"])
    if launched.instance not in cluster.running or resolved is None:
        return
    wanted = {"InstanceIds": [launched.instance]}
    instance = cluster.context.call("ec2", "describe_instances", wanted)["Reservations"][0]["Instances"][0]
    machine = node.machine(launched, claim, cluster.describe(), instance, resolved.pod_addresses)
    cluster.start(machine, resolved.role)


def _serve(cluster: AutoModeCluster, claim: Object, launched: Launched) -> Iterator[Pause]:
    """Waits until the claim is deleted, its node is, its instance is gone, or its life is over."""
    name = claim["metadata"]["name"]
    born = datetime.fromisoformat(claim["metadata"]["creationTimestamp"]).timestamp()
    life = min(seconds_of(claim["spec"].get("expireAfter"), USUAL_LIFE), LONGEST_LIFE)
    yield from cluster.within(
        max(0.0, born + life - cluster.now()),
        lambda: _gone(cluster, name, launched) or _node_leaves(cluster, launched),
    )
    if not _leaves(cluster, name):
        cluster.world.api.delete(f"{CLAIMS}/{name}")


def _leaves(cluster: AutoModeCluster, name: str) -> bool:
    claim = cluster.world.api.find(f"{CLAIMS}/{name}")
    return not cluster.enabled or claim is None or leaving(claim)


def _seen_leaving(cluster: AutoModeCluster, name: str) -> bool:
    """The same, as the watch shows it, or the end of Auto Mode."""
    claim = cluster.claims.find("", name)
    return not cluster.enabled or claim is None or leaving(claim)


def _gone(cluster: AutoModeCluster, name: str, launched: Launched) -> bool:
    return launched.instance in cluster.ended or _seen_leaving(cluster, name)


def _has_node(cluster: AutoModeCluster, launched: Launched) -> bool:
    return cluster.world.nodes.find("", launched.instance) is not None


def _node_leaves(cluster: AutoModeCluster, launched: Launched) -> bool:
    found = cluster.world.nodes.find("", launched.instance)
    return found is not None and leaving(found)


def _is_ready(cluster: AutoModeCluster, launched: Launched) -> bool:
    found = cluster.world.nodes.find("", launched.instance)
    startup = {one["key"] for one in (found or {}).get("spec", {}).get("taints", [])}
    return found is not None and holds(found, "Ready") and UNINITIALIZED not in startup
