"""A static NodePool: as many NodeClaims as `replicas` says, and no more nodes than its limit.

The rules and times are those of Karpenter (kubernetes-sigs/karpenter, pkg/controllers/static), as recorded with the
real one: a refused creation is tried again after 5 ms, doubling to 1,000 s. Only a change of `replicas` or of the
pool's readiness cuts that short.
"""

from collections.abc import Iterator
from functools import partial

from local.auto_mode.cluster import FINALIZER, POOL_LABEL, AutoModeCluster, leaving
from local.auto_mode.conditions import condition, holds, set_status
from local.auto_mode.definitions import CLAIMS, POOLS
from local.fleet.coroutines import Pause
from local.kubernetes.api import ApiError, Object

_ROUND_SECONDS = 60.0
_FIRST_BACK_OFF, _LONGEST_BACK_OFF = 0.005, 1000.0
#: The grace of a claim whose NodePool says none (user guide, create-node-pool, Termination Grace Period).
USUAL_GRACE = "24h0m0s"


def pool_life(cluster: AutoModeCluster, first: Object) -> Iterator[Pause]:
    """The coroutine of one NodePool, until it is gone or Auto Mode is off."""
    name, uid = first["metadata"]["name"], first["metadata"]["uid"]
    back_off = _FIRST_BACK_OFF
    while cluster.enabled:
        # Before the API server is read, so that no change in between is missed.
        asked, there = _asked(cluster, name), _there(cluster, name)
        pool = cluster.world.api.find(f"{POOLS}/{name}")
        if pool is None or pool["metadata"]["uid"] != uid:
            for claim in cluster.claims_of(name):
                cluster.world.api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
            return
        _tell_status(cluster, pool)
        if _provision(cluster, pool):
            yield from cluster.within(back_off, partial(_asked_anew, cluster, name, asked))
            back_off = min(2 * back_off, _LONGEST_BACK_OFF)
        else:
            back_off = _FIRST_BACK_OFF
            yield from cluster.within(_ROUND_SECONDS, partial(_changed, cluster, name, asked, there))


def _asked_anew(cluster: AutoModeCluster, name: str, asked: object) -> bool:
    return _asked(cluster, name) != asked


def _changed(cluster: AutoModeCluster, name: str, asked: object, there: object) -> bool:
    """Whether there is a reason to look before the minute is over. In a shortage claims come once a minute [est]."""
    return _asked_anew(cluster, name, asked) or not (cluster.is_shut(name) or _there(cluster, name) == there)


def _provision(cluster: AutoModeCluster, pool: Object) -> bool:
    """Creates missing claims, or deletes surplus ones. Returns whether the API server refused a creation."""
    name, replicas = pool["metadata"]["name"], pool["spec"].get("replicas")
    if replicas is None or leaving(pool):
        return False
    everything = cluster.claims_of(name)
    live = [claim for claim in everything if not leaving(claim)]
    for claim in _victims(cluster, live)[: max(0, len(live) - replicas)]:
        cluster.world.api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
    if not _class_ready(cluster, pool):
        return False
    limit = int((pool["spec"].get("limits") or {}).get("nodes", replicas))
    missing = min(replicas - len(live), limit - len(everything))
    for _ in range(missing):
        try:
            cluster.world.api.request("POST", CLAIMS, _claim(pool))
        except ApiError:
            return True
    return False


def _victims(cluster: AutoModeCluster, live: list[Object]) -> list[Object]:
    """In Karpenter's order: claims without an instance, nodes without pods, then the youngest."""

    def order(numbered: tuple[int, Object]) -> tuple[bool, int, int]:
        number, claim = numbered
        node = claim.get("status", {}).get("nodeName", "")
        pods = [
            pod
            for pod in cluster.world.pods_on(node)
            if not any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))
        ]
        return bool(claim.get("status", {}).get("providerID")), len(pods), -number

    return [claim for _, claim in sorted(enumerate(live), key=order)]


def _claim(pool: Object) -> Object:
    template, metadata = pool["spec"]["template"], pool["metadata"]
    given = template.get("metadata") or {}
    owner = {
        "apiVersion": pool["apiVersion"],
        "kind": "NodePool",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": True,
    }
    reference = template["spec"]["nodeClassRef"]
    return {
        "apiVersion": pool["apiVersion"],
        "kind": "NodeClaim",
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "labels": {
                **(given.get("labels") or {}),
                POOL_LABEL: metadata["name"],
                "eks.amazonaws.com/nodeclass": reference["name"],
            },
            "annotations": given.get("annotations") or {},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": {"terminationGracePeriod": USUAL_GRACE, **template["spec"]},
    }


def _tell_status(cluster: AutoModeCluster, pool: Object) -> None:
    ready = _class_ready(cluster, pool)
    said = "True" if ready else "False"
    conditions = [
        condition("ValidationSucceeded"),
        condition("NodeClassReady", said, "" if ready else "NodeClassNotReady"),
        condition("Ready", said, "" if ready else "UnhealthyDependents"),
    ]
    name = pool["metadata"]["name"]
    nodes = [claim for claim in cluster.claims_of(name) if holds(claim, "Registered")]
    set_status(cluster.world, f"{POOLS}/{name}", conditions, nodes=len(nodes))


def _class_ready(cluster: AutoModeCluster, pool: Object) -> bool:
    return pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] in cluster.resolved


def _asked(cluster: AutoModeCluster, name: str) -> object:
    """What makes a controller try at once: the pool itself, each change of its spec, and its class."""
    pool = cluster.pools.find("", name)
    if pool is None:
        return None
    # The generation, because a size that is changed and changed back is two changes.
    return pool["metadata"]["uid"], pool["metadata"].get("generation"), _class_ready(cluster, pool)


def _there(cluster: AutoModeCluster, name: str) -> object:
    return {
        (claim["metadata"]["uid"], leaving(claim), holds(claim, "Registered"))
        for claim in cluster.claims.all()
        if (claim["metadata"].get("labels") or {}).get(POOL_LABEL) == name
    }
