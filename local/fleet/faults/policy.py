"""The fault device-plugin-disabled for all pools: what a person does with `kubectl patch clusterpolicy`, and undoes."""

from collections.abc import Iterator

from local.faults.switches import ALL
from local.fleet.coroutines import Pause, Until
from local.fleet.gpus.operator import POLICIES
from local.fleet.world import World


def policy_fault(world: World) -> Iterator[Pause]:
    """Waits until the fault is on for all pools, and then until it is off."""

    def switched_off() -> bool:
        return ALL in world.faults.where("device-plugin-disabled")

    while True:
        yield Until(lambda: switched_off() and bool(world.policies.all()))
        policy = world.policies.all()[0]
        name, before = policy["metadata"]["name"], policy["spec"].get("devicePlugin", {}).get("enabled")
        _set(world, name, enabled=False)
        yield Until(lambda: not switched_off())
        _set(world, name, enabled=before)


def _set(world: World, policy: str, *, enabled: bool | None) -> None:
    change = {"spec": {"devicePlugin": {"enabled": enabled}}}
    world.api.merge(f"{POLICIES}/{policy}?fieldManager=kubectl-patch", change)
