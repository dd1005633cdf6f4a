"""The faults as people switch them: by name, for a pool of the lab or for all of them.

This file decides which fault may be switched where, and explains a refusal. local/aws and local/fleet play the fault.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from lamplighter.errors import BadInput
from local.faults.catalogue import FAULTS, Fault, Reach
from local.faults.switches import ALL, Switches


class FaultSwitching:
    """`nodegroups` returns the node group, or the NodePool, of every pool of the lab at present."""

    def __init__(self, switches: Switches, nodegroups: Callable[[], Mapping[str, str]]) -> None:
        self._switches = switches
        self._nodegroups = nodegroups

    def on(self, name: str, pool: str | None = None) -> None:
        """Switches a fault on. Raises BadInput for an unknown fault or pool, or for a fault that has no pool."""
        fault = _known(name)
        self._switches.on(name, self._where(fault, pool) or ALL)

    def off(self, name: str | None = None, pool: str | None = None) -> None:
        """Switches a fault off; without a name, all. It may be off already. Raises BadInput as `on`."""
        where = self._where(_known(name), pool) if name else self._nodegroup(pool)
        self._switches.off(name, where)

    def listed(self) -> list[dict[str, Any]]:
        """Every fault: what it does, what it affects, what to expect, and for which pools it is on, or "all"."""
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
