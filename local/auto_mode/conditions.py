"""The conditions in the status of NodePools, NodeClaims and NodeClasses."""

from local.fleet.world import World
from local.kubernetes.api import Object


def holds(item: Object, kind: str) -> bool:
    """Whether the condition is True."""
    return any(one["type"] == kind and one["status"] == "True" for one in _conditions(item))


def set_status(world: World, address: str, conditions: list[Object], **more: object) -> None:
    """Writes conditions beside those that the object has, and other values of its status.

    A condition that says the same keeps its moment; if nothing changes, nothing is written.
    """
    item = world.api.find(address)
    if item is None:
        return
    present = {one["type"]: one for one in _conditions(item)}
    wanted = dict(present)
    for one in conditions:
        known = present.get(one["type"], {})
        if {**known, **one} != known:
            same = known.get("status") == one["status"]
            moment = known["lastTransitionTime"] if same else world.timestamp()
            wanted[one["type"]] = {**one, "lastTransitionTime": moment}
    status = item.get("status") or {}
    if wanted == present and {**status, **more} == status:
        return
    world.api.merge(f"{address}/status", {"status": {**more, "conditions": list(wanted.values())}})


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> Object:
    """A condition as Karpenter writes it: without a reason, its name is the reason."""
    return {"type": kind, "status": status, "reason": reason or kind, "message": message}


def _conditions(item: Object) -> list[Object]:
    found: list[Object] = item.get("status", {}).get("conditions") or []
    return found
