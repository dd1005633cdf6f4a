"""Nodes of a NodePool that are to leave: how long they may drain, and what holds them."""

from typing import Any

from tests.node_pool_snapshots import NODE_POOL, claim, condition, karpenter, node_pool, pool_of
from tests.snapshots import NODES, Document, at, event, pod
from tests.unit.diagnosis.table import SECOND, given, table

ENDLESS = (
    f"NodeClaim {NODE_POOL}-abc11 has no terminationGracePeriod: Karpenter waits for these pods without end, and the"
    " node costs money"
)
DRAINS = condition("Drained", "Unknown", "Draining", minute=10)
ASKS = {"karpenter.sh/do-not-disrupt": "true"}
DRAINED = condition("Drained", minute=11)
NODE = NODES[1]
HELD = ("pods-not-evicted", NODE)


def leaving(now: float, *states: Document, grace: bool = True, **metadata: Any) -> Document:
    document = given(pool_of(now=now), expected={"nodes": 1}, nodepools=[node_pool(replicas=1)])
    kubernetes = document["kubernetes"]
    launched = [condition("Launched", minute=0.1), condition("Registered", minute=1)]
    kubernetes["nodeclaims"][1] = claim(1, *launched, *states, deletionTimestamp=at(10), **metadata)
    if not grace:
        del kubernetes["nodeclaims"][1]["spec"]["terminationGracePeriod"]
    kubernetes["nodes"][2]["metadata"]["deletionTimestamp"] = at(10)
    pods = [each for each in kubernetes["pods"] if each["spec"].get("nodeName") != NODE]
    return given(document, pods=pods)


def stays(
    name: str,
    owner: str = "ReplicaSet/agent",
    tolerations: tuple[Document, ...] = (),
    *,
    annotations: Document | None = None,
) -> Document:
    found = pod(name, "lab", 1, owner=owner)
    found["metadata"]["annotations"] = annotations or {}
    found["spec"]["tolerations"] += tolerations
    return found


BUDGET = {
    "metadata": {"name": "agents", "namespace": "lab"},
    "spec": {"selector": {}},
    "status": {"disruptionsAllowed": 0, "desiredHealthy": 1, "currentHealthy": 1},
}
NO_EVICTION = "the PodDisruptionBudget lab/agents allows no eviction of lab/agent-1"


def budgeted(*more: Any, annotations: Document | None = None) -> Document:
    return given(
        leaving(20, DRAINS), stays("agent-1", *more, annotations=annotations), poddisruptionbudgets=[BUDGET]
    )


def asked_to_stay() -> Document:
    kept = stays("train-9", "", annotations={**ASKS, "token": "s3cret"})
    draining = event("Node", NODE, "FailedDraining", WORDS, 19)
    return given(leaving(20, DRAINS, grace=False), kept, events=[draining])


def without_karpenter() -> Document:
    document = leaving(20, DRAINS)
    document["kubernetes"]["deployments"][-1] = karpenter(available=0, minute=2)
    return document


EVERY = ({"operator": "Exists"},)
DISRUPTED = ({"key": "karpenter.sh/disrupted", "operator": "Exists"},)
WORDS = "Failed to drain node, evicting pod violates a PDB (Pod=lab/train-9)"
VOLUMES = condition("VolumesDetached", "Unknown", "AwaitingVolumeDetachment", "AwaitingVolumeDetachment", 11)
AT_25 = {"karpenter.sh/nodeclaim-termination-timestamp": at(25)}
ON_NODE = "pods with the annotation karpenter.sh/do-not-disrupt are on the node: lab/{}"


test_a_node_that_leaves = table(
    ("for two minutes it may drain", leaving(12, DRAINS), ["node-drain"]),
    ("and then it is held", leaving(12 + SECOND, DRAINS), ["pods-not-evicted"]),
    ("by a budget", budgeted(), [(*HELD, NO_EVICTION)]),
    ("by that of a daemon's pod, which Karpenter evicts too", budgeted("DaemonSet/agent"), [(*HELD, NO_EVICTION)]),
    ("not by that of a pod that tolerates everything", budgeted("ReplicaSet/agent", EVERY), [(*HELD, "")]),
    ("not by that of one that tolerates a disruption", budgeted("ReplicaSet/agent", DISRUPTED), [(*HELD, "")]),
    ("not by that of one that asks to stay", budgeted(annotations=ASKS), [(*HELD,
     ON_NODE.format("agent-1"))]),
    ("by a pod that asks to stay, without an end", asked_to_stay(),
     [(*HELD, f"{NODE}: FailedDraining: {WORDS}", ON_NODE.format("train-9"), ENDLESS)]),
    ("until the grace ends", leaving(20, DRAINS, annotations=AT_25),
     [(*HELD, "Karpenter deletes the pods that are left at 2026-11-20T11:25:00Z")]),
    ("by a volume that stays attached", leaving(20, DRAINED, VOLUMES),
     [("unknown", NODE_POOL, f"{NODE} VolumesDetached=Unknown, AwaitingVolumeDetachment: AwaitingVolumeDetachment")]),
    ("by nothing while it is shutting down", leaving(20, DRAINED, condition("VolumesDetached", minute=11)), []),
    ("by no pod where Karpenter does not run", without_karpenter(), ["karpenter-not-ready"]),
)  # fmt: skip
