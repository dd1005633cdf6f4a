"""The faults as people switch them: by name, for a pool of the lab or for all of them.

Owns what may be switched where, and the sentence that says why not; what a fault then does is in local/aws
and local/fleet.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from lamplighter.errors import BadInput
from local.faults.catalogue import FAULTS, Fault, Reach
from local.faults.switches import ALL, Switches


class FaultSwitching:
    """`nodegroups` gives the node group of every pool of the lab as it is now."""

    def __init__(self, switches: Switches, nodegroups: Callable[[], Mapping[str, str]]) -> None:
        self._switches = switches
        self._nodegroups = nodegroups

    def on(self, name: str, pool: str | None = None) -> None:
        """From now on. Raises BadInput for a fault or pool that is not known, or a fault that has no pool."""
        fault = _known(name)
        self._switches.on(name, self._where(fault, pool) or ALL)

    def off(self, name: str | None = None, pool: str | None = None) -> None:
        """Heals what would heal; without a name everything. Off already is fine. Raises BadInput as `on`."""
        where = self._where(_known(name), pool) if name else self._nodegroup(pool)
        self._switches.off(name, where)

    def listed(self) -> list[dict[str, Any]]:
        """Every fault with what it does, to whom, what to expect and for whom it is on: pools, or "all"."""
        pools = {nodegroup: pool for pool, nodegroup in self._nodegroups().items()}
        return [
            {
                "name": fault.name,
                "does": fault.does,
                "on": fault.on,
                "reach": fault.reach.value,
                "expect": fault.expect,
                "heals": fault.heals,
                "on_for": [
                    "all" if where == ALL else pools.get(where, where)
                    for where in self._switches.where(fault.name)
                ],
            }
            for fault in FAULTS.values()
        ]

    def _where(self, fault: Fault, pool: str | None) -> str | None:
        if pool is not None and fault.reach is not Reach.POOL:
            raise BadInput(
                f"{fault.name} is the {fault.reach.value}'s and of no one pool, leave the pool out"
            )
        return self._nodegroup(pool)

    def _nodegroup(self, pool: str | None) -> str | None:
        known = self._nodegroups()
        if pool is not None and pool not in known:
            raise BadInput(f"there is no pool {pool}, the lab has {', '.join(known)}")
        return known[pool] if pool is not None else None


def _known(name: str) -> Fault:
    if name in FAULTS:
        return FAULTS[name]
    near = difflib.get_close_matches(name, FAULTS, 1)
    hint = f"did you mean {near[0]}?" if near else "`lamplighter local fault list` names them all"
    raise BadInput(f"there is no fault {name}, {hint}")
