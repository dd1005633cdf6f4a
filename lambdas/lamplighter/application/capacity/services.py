"""The dependencies of the capacity steps and the guard: one lab, its ledger and the capacity of its pools.

Reads a pool and its target. The steps decide when a size is written, and which.

domain/capacity/ has the port to a pool's nodes, one implementation for each kind. To add a kind:
1. Name it in lab/pools.py, and check it in labfile/rules/parts.py.
2. Write its pure part in a folder of domain/capacity/ and its calls in one of adapters/capacity/; enter both in the
   two kinds.py. tests/unit/capacity/conformance.py says what they must do.
3. Create or adopt it: stacks/constructs/pool/, stacks/constructs/functions/permissions.py, application/deploy/,
   domain/pool/adoption.py, data/rbac.yaml for what lives in Kubernetes. stacks/constructs/functions/trail_rules.py
   names the events that wake the guard.
4. Imitate it in local/ and in tests/world/.
adapters/diagnosis/ reads AWS without the port, since the snapshot's form is a contract. Import an adapter of Kubernetes
on first use: at the top it is loaded by every function that imports this file, and
tests/unit/project/test_deferred_imports.py fails.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.capacity import kinds
from lamplighter.application import environment
from lamplighter.domain.capacity.evidence import NOW, Part, Seen
from lamplighter.domain.capacity.kinds import KINDS, identity, kind_of
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.adopted import as_found
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.pool.target import Target, begun, target_at
from lamplighter.domain.schedules.of_leases import held_back
from lamplighter.errors import BadInput, OutsideFailed, TryLater

if TYPE_CHECKING:
    from lamplighter.domain.capacity.calls import TimedCall
    from lamplighter.domain.capacity.port import Capacity
    from lamplighter.lab.model import Lab


def _start_notice(step: str, run: Mapping[str, object]) -> None:
    from lamplighter.adapters.aws.functions import Functions  # noqa: PLC0415 -- only a shortage needs it

    # A workflow waits.
    Functions(patience_seconds=4).start(environment.ENVIRONMENT.notices_function, {"step": step, "run": run})


@dataclass
class CapacityServices:
    """The lab, its ledger and, by kind, the capacity of its pools."""

    lab: "Lab"
    ledger: Ledger
    capacities: "Mapping[str, Capacity]"
    start_notice: Callable[[str, Mapping[str, object]], None] = _start_notice
    """Has the notices function do a step, without waiting for it."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()

    def of(self, pool: str) -> "Capacity":
        """The capacity of a pool."""
        return self.capacities[kind_of(self.lab, pool)]

    def enforces(self, pool: PoolState) -> bool:
        """Whether the guard acts on a pool; else it only watches it. A person's order goes before the lab file."""
        return (pool.mode or self.lab.mode(pool.name)) == "enforce"

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        """What is there of a pool: what is ordered, what its controller lists, and every instance with its tags."""
        return self.of(pool).see(pool, parts, known)

    def existing(self, pool: str, parts: Collection[Part]) -> Seen:
        """The same; BadInput where its capacity does not exist."""
        seen = self.see(pool, parts)
        if not seen.exists:
            raise self.missing(pool)
        return seen

    def missing(self, pool: str) -> BadInput:
        """That the capacity of a pool does not exist."""
        return BadInput(identity(self.lab, pool).missing)

    def off_switch(self, pool: str, first: datetime) -> "tuple[TimedCall, ...]":
        """The calls that bring a pool to zero with none of our code. BadInput where its capacity does not exist."""
        needs = KINDS[kind_of(self.lab, pool)].off_switch_needs
        seen = self.existing(pool, needs) if needs else Seen(kind_of(self.lab, pool))
        return self.of(pool).off_switch(pool, first, seen)

    def max_nodes(self, pool: str, seen: Seen | None) -> int:
        """The maximum in the lab file, or that of AWS where an adopted pool has none there."""
        return self.lab.pools[pool].max_nodes or (seen.maximum if seen else 0)

    def as_found(self, pool: str, lab: "Lab | None" = None) -> "Lab":
        """The lab in which an adopted pool has the values that AWS has now, or had when they were last read.

        BadInput where its capacity does not exist and its values were never read, OutsideFailed or TryLater where
        AWS does not answer either.
        """
        lab = lab or self.lab
        if not lab.pools[pool].unstated:
            return lab
        try:
            seen = self.existing(pool, {Part.SIZE, Part.MAKE})
        except (BadInput, OutsideFailed, TryLater):
            kept = environment.as_kept(lab, self.ledger)
            if kept.pools[pool].unstated:
                raise
            return kept
        return as_found(lab, pool, seen)

    def target(self, pool: str, seen: Seen | None, opening: str | None = None) -> Target:
        """The target of the pool's leases now; with `opening`, only of that lease and those that are open."""
        now = self.now()
        leases = self.ledger.leases(pool)
        leases = begun(leases, opening) if opening else without_held_back(leases, self.ledger, now)
        return target_at(leases, now, self.max_nodes(pool, seen))

    def connect(self) -> None:
        """Make the client of EC2 too, while the function starts."""
        kinds.connect(self.capacities, instances=True)


def without_held_back(leases: Sequence[Lease], ledger: Ledger, at: datetime) -> list[Lease]:
    """The leases except those that a pause keeps from opening. Pauses are read only where a lease waits to open."""
    if not any(
        lease.state is LeaseState.ADMITTED and lease.ordered is None and lease.in_force(at)
        for lease in leases
    ):
        return list(leases)

    held = held_back(leases, ledger.pauses(), at)
    return [lease for lease in leases if lease.id not in held]


@cache
def deployed() -> CapacityServices:
    """The lab that this function belongs to, from its environment."""
    return of_lab(environment.lab(), Ledger(environment.ENVIRONMENT.ledger_table))


def of_lab(lab: "Lab", ledger: Ledger) -> CapacityServices:
    """The pools of a lab, in the account and region of the AWS settings."""
    capacities = kinds.of_lab(lab)
    kinds.connect(capacities, instances=False)
    return CapacityServices(lab=lab, ledger=ledger, capacities=capacities)
