"""The whole lab as it is shown: its pools now, its windows to come and past, money, proofs and findings.

Made from values that were read. Each surface draws it in its own way.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Self
from zoneinfo import ZoneInfo

from lamplighter.domain.billing.statement import Row
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who
from lamplighter.domain.pool.explanation import UnmetWindow
from lamplighter.domain.pool.pool import Phase, PoolState, SeenGpus
from lamplighter.domain.pool.target import Target
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.seats import Seats
from lamplighter.domain.views.told import FindingView
from lamplighter.reasons.reason import Said
from lamplighter.values.instant import written

if TYPE_CHECKING:
    from lamplighter.domain.doctor.readiness import Readiness
    from lamplighter.domain.planner.capacity_word import CapacityOutlook


@dataclass(frozen=True, slots=True)
class SpendingView:
    """The present budget period, as the ledger has it."""

    period: str
    per: str
    """day, week or month."""
    begins: datetime
    ends: datetime
    limit: Money
    spent: Money
    held: Money
    overrun: Money
    unleased: Money

    @property
    def left(self) -> Money:
        """What is neither spent nor held; below nothing where the limit was lowered."""
        return self.limit - self.spent - self.held

    @property
    def beyond(self) -> Money:
        """The part of what is spent that ran past the end of a lease or without one."""
        return self.overrun + self.unleased

    def to_json(self) -> dict[str, object]:
        """As `status --json` has it."""
        return {
            "period": self.period,
            "amount": self.limit.to_json(),
            "spent": self.spent.to_json(),
            "overrun": self.overrun.to_json(),
            "unleased": self.unleased.to_json(),
            "held": self.held.to_json(),
            "left": self.left.to_json(),
        }


@dataclass(frozen=True, slots=True)
class BudgetView(SpendingView):
    """The present budget period, with the windows that are still to come."""

    planned: Money
    """What windows still to open in the period will hold."""
    owners: tuple[Row, ...] = ()
    windows: tuple[Row, ...] = ()

    @classmethod
    def of(
        cls, spending: SpendingView, planned: Money, owners: tuple[Row, ...], windows: tuple[Row, ...]
    ) -> Self:
        """The same period with its plan."""
        return cls(
            period=spending.period,
            per=spending.per,
            begins=spending.begins,
            ends=spending.ends,
            limit=spending.limit,
            spent=spending.spent,
            held=spending.held,
            overrun=spending.overrun,
            unleased=spending.unleased,
            planned=planned,
            owners=owners,
            windows=windows,
        )

    @property
    def forecast(self) -> Money:
        """At the period's end, if all that is held and planned is used."""
        return self.spent + self.held + self.planned


@dataclass(frozen=True, slots=True)
class PoolView:
    """One pool now."""

    name: str
    instance_type: str
    max_nodes: int
    gpus_per_node: int | None
    """Physical GPUs; None where the instance type is not known."""
    mode: str
    """watch or enforce."""
    state: PoolState
    target: Target
    leases: tuple[LeaseView, ...]
    """Those in force, the first to end first."""
    closing: tuple[LeaseView, ...]
    """Those that are being closed."""
    next: LeaseView | None
    """What opens next, within a year."""
    unmet: tuple[UnmetWindow, ...] = ()
    """Windows that are open by the calendar and have no lease in force."""
    seats: Seats | None = None
    desired: int | None = None
    """The size that is ordered in AWS; None where nobody asked AWS."""
    experimental: bool = False

    @property
    def phase(self) -> Phase:
        """What is being done with it now: a lease granted for later opens nothing yet."""
        if self.state.phase is not Phase.OPENING:
            return self.state.phase
        if not self.leases:
            return Phase.CLOSED
        opening = any(lease.standing is LeaseStanding.OPENING for lease in self.leases)
        return Phase.OPENING if opening else Phase.OPEN

    @property
    def leaked(self) -> Said | None:
        """Why it counts as leaked; None where it does not."""
        return self.state.leaked_because

    @property
    def seen(self) -> SeenGpus | None:
        """What the guard's last sweep saw of its GPUs; None where it has not since its leases opened."""
        seen, opened = self.state.seen_gpus, min((lease.opens for lease in self.leases), default=None)
        # What was seen of a lease before says nothing of those that are in force.
        return seen if seen and opened and seen.at >= opened else None

    @property
    def gpus_in_use(self) -> int | None:
        """GPUs that pods held when the guard looked; None where it has not, or nothing runs."""
        return self.seen.in_use if self.seen else None

    @property
    def gpus_free(self) -> int | None:
        """GPUs that no pod held when the guard looked; None where it has not, or nothing runs."""
        return self.seen.of - self.seen.in_use if self.seen else None

    @property
    def seen_at(self) -> datetime | None:
        """When the guard looked."""
        return self.seen.at if self.seen else None

    @property
    def until(self) -> datetime | None:
        """When the last of its leases in force ends."""
        return max((lease.closes for lease in self.leases), default=None)

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose leases are in force, each once, under the name on their last lease."""
        return tuple({who(lease.owner): lease.owner for lease in self.leases}.values())

    @property
    def verdict(self) -> Outcome | None:
        """What the checks last said of what runs; None where they have not yet."""
        found = {lease.verdict for lease in self.leases if lease.verdict}
        if Outcome.FAILED in found:
            return Outcome.FAILED
        if not found:
            return None
        return Outcome.PASSED if found == {Outcome.PASSED} else Outcome.NOT_PROVEN


class WindowState(StrEnum):
    """What becomes, or became, of a window's date, or of a lease granted ahead."""

    PLANNED = "planned"
    SKIPPED = "skipped"
    REFUSED = "refused"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class WindowView:
    """One date of a window, or a lease that people were granted ahead."""

    window: str | None
    date: str
    pool: str
    nodes: int
    owner: str
    state: WindowState
    opens: datetime | None
    closes: datetime | None
    because: Said = ""
    """Why it does not open, opens late or differs from the lab; empty where there is nothing to say."""
    lease: str | None = None
    capacity: "CapacityOutlook | None" = None
    """Of a planned one: whether AWS will probably have its nodes."""
    readiness: "Readiness | None" = None
    """Of a planned one: what the last check before it found."""


@dataclass(frozen=True, slots=True)
class PastLease:
    """One closed lease, as its receipt has it; `lease` is None for what ran without one."""

    lease: str | None
    pool: str
    owner: str | None
    window: str | None
    opened: datetime | None
    closed: datetime
    nodes: int
    node_seconds: int
    minutes_to_ready: float | None
    verdict: Outcome | None
    cost: Money


@dataclass(frozen=True, slots=True)
class LabView:
    """A lab at an instant."""

    name: str
    region: str
    zone: ZoneInfo
    now: datetime
    budget: BudgetView
    pause: Pause | None
    pools: tuple[PoolView, ...]
    windows: tuple[WindowView, ...] = ()
    """To come, by opening; what was skipped stands on its date."""
    past: tuple[PastLease, ...] = ()
    """The newest receipts first."""
    proofs: tuple[GpuProof, ...] = ()
    """Newest first, of all pools."""

    @property
    def findings(self) -> tuple[FindingView, ...]:
        """Causes that still stand, of leases in force."""
        return tuple(found for pool in self.pools for lease in pool.leases for found in lease.findings)

    def pool(self, name: str) -> PoolView | None:
        """One pool, or None."""
        return next((pool for pool in self.pools if pool.name == name), None)

    def to_json(self) -> dict[str, object]:
        """The head of `status --json`."""
        return {"lab": self.name, "region": self.region, "now": written(self.now)}
