"""Updates that stop because pods stay: where EKS says so, and which pods and budgets are to blame."""

import json
from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.redaction import redacted
from tests.snapshots import NODES, POOL, Document, healthy, pod
from tests.unit.diagnosis.table import Told, given, table

MESSAGE = f"Reached max retries while trying to evict pods from nodes in node group {POOL}"
SAID = f"AWS says: PodEvictionFailure: {MESSAGE}"


def stopped(*nodes: str, **parts: Any) -> Document:
    """The health of the group says that the pods of these nodes stayed."""
    issue = {"code": "PodEvictionFailure", "message": MESSAGE, "resourceIds": list(nodes)}
    return given(healthy(), issues=[issue], **parts)


def held(*lines: str, about: str = NODES[0]) -> list[Told]:
    return [("pods-not-evicted", about, SAID, *lines)]


def tolerant(name: str, number: int = 0, owner: str = "") -> Document:
    found = pod(name, "lab", number, owner=owner)
    found["spec"]["tolerations"] = [{"operator": "Exists"}]
    return found


def update(status: str, created: str, **more: Any) -> Document:
    return {"type": "VersionUpdate", "status": status, "createdAt": created, **more}


def failed(code: str, *nodes: str) -> Document:
    errors = [{"errorCode": code, "errorMessage": MESSAGE, "resourceIds": list(nodes)}]
    return update("Failed", "2026-11-20T11:03:00Z", errors=errors)


LONG_BEFORE = update("Successful", "2026-06-01T00:00:00Z")
# It began before these nodes were expected; the health of the group says that it is still so.
BEFORE = update("Failed", "2026-11-20T10:00:00Z", errors=[])
SUBNETS = [
    {"SubnetId": f"subnet-{name}", "AvailableIpAddressCount": free} for name, free in ((1, 0), (2, 9), (3, 0))
]
EVICTED_NOT = failed("PodEvictionFailure", NODES[0])


test_an_update_stopped = table(
    ("by the health of the group", stopped(NODES[1]), held(about=NODES[1])),
    ("on a node that nobody knows", stopped("ip-10-0-0-1.ap-northeast-2.compute.internal"), held(about=POOL)),
    ("by pods that come back to any node", stopped(NODES[0], more={"pods": [
     tolerant("agent", owner="ReplicaSet/agent"), tolerant("daemon", owner="DaemonSet/daemon"), tolerant("else", 1)]}),
     held("pods that tolerate every taint come back to the node: lab/agent")),
    ("beside a full subnet of the group", stopped(NODES[0], subnets=SUBNETS, group={"subnets": ["subnet-1",
     "subnet-2"]}),
     held("subnet-1 has 0 available addresses")),
    *((f"by an update as the CLI prints it: {type(printed).__name__}", given(healthy(), updates=printed),
       ["pods-not-evicted"]) for printed in ([EVICTED_NOT], {"update": EVICTED_NOT})),
    ("by an update as the CLI prints one of a list", given(healthy(), updates=[{"update": EVICTED_NOT}]),
     ["pods-not-evicted"]),
    ("not where new nodes did not join", given(healthy(), updates=[failed("NodeCreationFailure")]), []),
    ("though another one succeeded long before", stopped(NODES[1], updates=[LONG_BEFORE, BEFORE]),
     held(about=NODES[1])),
    ("not where another one succeeded since",
     stopped(NODES[1], updates=[LONG_BEFORE, BEFORE, update("Successful", "2026-11-20T10:30:00Z")]), []),
)  # fmt: skip


def budget(
    name: str = "tight", allowed: int = 0, namespace: str = "class", healthy: int = 1, **spec: Any
) -> Document:
    status = {"disruptionsAllowed": allowed, "desiredHealthy": 1, "currentHealthy": healthy}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": status}


def kept(*budgets: Document, owner: str = "ReplicaSet", **changes: Any) -> Document:
    """These budgets, and one labelled pod on the node."""
    mine = pod("train-0", "class", 0)
    mine["metadata"] |= {
        "labels": {"app": "train", "tier": "gpu"},
        "ownerReferences": [{"kind": owner, "name": "train"}],
    }
    mine["status"] |= changes
    return stopped(NODES[0], poddisruptionbudgets=[*budgets], more={"pods": [mine]})


def unobserved() -> Document:
    """A budget that its controller has not read since its change."""
    changed = budget(allowed=1, selector=TRAIN)
    changed["metadata"]["generation"] = 2
    changed["status"]["observedGeneration"] = 1
    return changed


def expression(key: str, operator: str, *values: Any) -> Document:
    return {
        "matchExpressions": [{"key": key, "operator": operator} | ({"values": [*values]} if values else {})]
    }


TRAIN = {"matchLabels": {"app": "train"}}
REFUSES = held("the PodDisruptionBudget class/tight allows no eviction of class/train-0")
NOTHING = held()
SELECTS: tuple[Document, ...] = (
    TRAIN, {}, {**TRAIN, **expression("tier", "In", "gpu")}, expression("owner", "NotIn", "me"),
    expression("tier", "Exists"),
)  # fmt: skip
SELECTS_NOT: tuple[Any, ...] = (
    None, {"matchLabels": {"app": "other"}}, {**TRAIN, **expression("tier", "NotIn", "gpu")},
    expression("tier", "DoesNotExist"),
    # Not valid.
    "x", 5, [1], {"matchLabels": ["app"]}, {"matchLabels": "app"}, {"matchLabels": {"app": None}},
    {"matchExpressions": {}, "matchLabels": {"app": 1}}, {"matchExpressions": [5, None]},
    expression("team", "NotIn"), expression("app", "Exists", "train"), expression("app", "Like", "train"),
    expression("team", "NotIn", {}),
)  # fmt: skip
UNREADY: tuple[Any, ...] = (
    [],
    [{"type": "Ready", "status": "False"}],
    [{"type": "Ready", "status": "Unknown"}],
)
ALWAYS = budget(healthy=0, selector=TRAIN, unhealthyPodEvictionPolicy="AlwaysAllow")
TWICE = (
    "more than one PodDisruptionBudget (class/a, class/b) selects the same pod, so Kubernetes refuses to evict"
    " class/train-0"
)


test_a_budget_refuses_a_pod = table(
    *((f"that it selects by {selector}", kept(budget(selector=selector)), REFUSES) for selector in SELECTS),
    *((f"not by {selector}", kept(budget(selector=selector)), NOTHING) for selector in SELECTS_NOT),
    ("not of another namespace", kept(budget(namespace="default", selector=TRAIN)), NOTHING),
    ("not with room", kept(budget(allowed=1, selector=TRAIN)), NOTHING),
    ("though it had room before its change", kept(unobserved()), REFUSES),
    *((f"not that is {phase}", kept(budget(selector=TRAIN), phase=phase), NOTHING)
      for phase in ("Pending", "Succeeded", "Failed")),
    *((f"that is not ready where too few are healthy: {ready}",
       kept(budget(healthy=0, selector=TRAIN), conditions=ready), REFUSES) for ready in UNREADY),
    *((f"not that is not ready where enough are: {ready}", kept(budget(selector=TRAIN), conditions=ready), NOTHING)
      for ready in UNREADY),
    *((f"not that is not ready where that is always allowed: {ready}", kept(ALWAYS, conditions=ready), NOTHING)
      for ready in UNREADY),
    *((f"not of a {kind}, which no drain evicts", kept(budget(selector=TRAIN), owner=kind), NOTHING)
      for kind in ("DaemonSet", "Node")),
    ("beside another one, whatever they allow", kept(budget("b", 1, selector=TRAIN), budget("a", 1, selector={})),
     held(TWICE)),
)  # fmt: skip


@pytest.mark.parametrize("selector", [
    {"matchLabels": {"auth-token": "other"}},
    expression("auth-token", "NotIn", "mine"),
    expression("auth-token", "In", "mine"),
])  # fmt: skip
def test_what_redaction_took_out_makes_no_claim(selector: object) -> None:
    mine = pod("train-0", "class", 0)
    mine["metadata"]["labels"] = {"auth-token": "mine"}
    saved = redacted(
        stopped(NODES[0], poddisruptionbudgets=[budget(selector=selector)], more={"pods": [mine]})
    )

    assert "mine" not in json.dumps(saved["kubernetes"]["poddisruptionbudgets"])
    [found] = diagnose(Snapshot.read(saved)).findings
    assert len(found.evidence) == 1


def test_many_budgets_leave_room_for_the_rest_of_what_is_known() -> None:
    """Ten lines of evidence are shown."""
    document = stopped(NODES[0], subnets=[{"SubnetId": "subnet-1", "AvailableIpAddressCount": 0}])
    for number in range(40):
        mine = pod(f"train-{number}", "class", 0)
        mine["metadata"]["labels"] = {"app": f"a{number}"}
        mine["spec"]["tolerations"] = [{"operator": "Exists"}]
        document["kubernetes"]["pods"].append(mine)
    document["kubernetes"]["poddisruptionbudgets"] = [
        budget(f"b{number:02}-{twin}", selector={"matchLabels": {"app": f"a{number}"}})
        for number in range(40)
        for twin in range(2 if number < 10 else 1)
    ]

    [found] = json.loads(json.dumps(diagnose(Snapshot.read(document)).to_json()))["findings"]

    words = " ".join(found["evidence"])
    assert "tolerate every taint" in words
    assert "more than one PodDisruptionBudget (class/b00-0, class/b00-1" in words
    assert "subnet-1 has 0 available addresses" in words
    assert sum("allows no eviction" in line for line in found["evidence"]) == 5
