"""One lease as it is shown: its state, its warm-up stage by stage, its checks, findings and cost.

Made from values that were read. Each surface draws it in its own way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.checks.gpu_proof import together
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import Lease, LeaseState, MovedLease
from lamplighter.domain.leases.progress import IN_ORDER, Progress
from lamplighter.domain.leases.usual_times import UsualTimes
from lamplighter.domain.leases.warm_up import BEFORE_ANY, gpus_expected
from lamplighter.domain.money.money import Money, cost
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.views import told
from lamplighter.domain.views.seats import Seats
from lamplighter.domain.views.stages import StageView, bar, boot_stages, stages, waits_for_pods
from lamplighter.domain.views.told import FindingView, VerdictRow
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import Reason, Said, in_english
from lamplighter.values.instant import written

Document = Mapping[str, object]


class LeaseStanding(StrEnum):
    """The state of a lease, in one word."""

    PLANNED = "planned"
    OPENING = "opening"
    OPEN = "open"
    DEGRADED = "degraded"
    CLOSING = "closing"
    CLOSED = "closed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a lease beside itself."""

    pool: PoolState
    leases: Sequence[Lease] = ()
    """Every lease of its pool."""
    progress: Progress = field(default_factory=dict)
    audit: Sequence[Entry] = ()
    """What happened to its pool, at least since the lease opened; oldest first."""
    verdicts: Sequence[Document] = ()
    """What the GPU checks of the lease said last."""
    seats: Seats | None = None
    price_per_hour: Decimal | None = None
    """What a node costs now; for a lease that keeps no price of its own."""
    taking: timedelta = BEFORE_ANY
    """How long the pool takes until its GPUs are ready."""
    checks_normal: timedelta | None = None
    """What the ladder of its checks may take."""
    usual_times: UsualTimes = field(default_factory=dict)
    """What earlier openings of its pool have measured."""


@dataclass(frozen=True, slots=True)
class LeaseView:
    """One lease, as every surface shows it."""

    id: str
    pool: str
    owner: str
    by: str | None
    because: Said | None
    source: str
    window: str | None
    date: str | None
    called: Reason
    """How a sentence names it: `the evening lease`."""
    state: LeaseState
    standing: LeaseStanding
    nodes: int
    missing: int
    """Nodes that a shortage keeps away."""
    opens: datetime
    closes: datetime
    ready: datetime | None
    closed: datetime | None
    stages: tuple[StageView, ...]
    bar: float
    """How far its warm-up is, 0 to 1."""
    gpus_expected: datetime | None
    """When its GPUs are ready, were, or are expected; None where nobody expects any, or checks refuted them."""
    seats: Seats | None
    hold: Money
    cost_so_far: Money | None
    """By the nodes it has had and the clock, until it is settled; None where no price is known."""
    verdict: Outcome | None
    verdict_rows: tuple[VerdictRow, ...]
    findings: tuple[FindingView, ...]
    """Causes that still stand; of a lease that is over, all that were found while it ran."""
    refused_because: Said | None
    """Why it was refused, or, still planned, will be as things stand."""
    degraded_because: Said | None
    failed_because: Said | None
    """Why its opening was given up."""
    leaked_because: Said | None
    """Of one that is being closed: why its pool cannot be proven to be at zero."""
    warnings: tuple[Entry, ...]
    replaced: tuple[str, ...]
    boot: tuple[StageView, ...] = ()
    """What its fresh nodes go through, as far as they have begun it."""
    moved_to: MovedLease | None = None
    moved_from: MovedLease | None = None

    @property
    def whole_warm_up(self) -> tuple[StageView, ...]:
        """Its stages and those of its nodes' boot, in the order in which people see them."""
        known = {view.stage: view for view in (*self.stages, *self.boot)}
        return tuple(known[stage] for stage in IN_ORDER if stage in known)

    @property
    def in_force(self) -> bool:
        """Whether it justifies nodes now."""
        return self.standing in {LeaseStanding.OPENING, LeaseStanding.OPEN, LeaseStanding.DEGRADED}

    @property
    def usable(self) -> int:
        """Its nodes that a shortage does not keep away."""
        return self.nodes - self.missing

    @property
    def no_node_yet(self) -> Said | None:
        """Why no node runs although the lease is open, where nodes come with pods; else None."""
        return self.degraded_because if waits_for_pods(self.stages) else None

    def to_json(self) -> dict[str, object]:
        """What `status --json` adds to the lease's own document."""
        return {
            "standing": self.standing.value,
            "missing": self.missing,
            "stages": [stage.to_json() for stage in self.stages],
            "boot": [stage.to_json() for stage in self.boot],
            "progress": round(self.bar, 3),
            "gpus_expected": written(self.gpus_expected) if self.gpus_expected else None,
            "cost_so_far": self.cost_so_far.to_json() if self.cost_so_far else None,
            "verdict": self.verdict.value if self.verdict else None,
            "degraded": _in_english(self.degraded_because),
            "failed": _in_english(self.failed_because),
            "findings": [finding.to_json() for finding in self.findings],
        }


def _in_english(said: Said | None) -> str | None:
    return None if said is None else in_english(said)


def of(lease: Lease, known: Known, now: datetime) -> LeaseView:
    """The view of a lease at an instant."""
    mine = [entry for entry in known.audit if entry.lease == lease.id]
    verdict = together(known.verdicts) if known.verdicts else None
    failed = told.failed_because(mine)
    short = told.short_because(mine) if lease.missing else None
    steps = stages(
        lease,
        known.progress,
        now,
        verdict=verdict,
        short_because=short,
        failed_because=failed,
        checks_normal=known.checks_normal,
        measured=known.usual_times,
    )
    degraded = told.degraded_because(mine) or short
    standing = _standing(lease, now, degraded=degraded is not None or lease.missing > 0)
    live = standing in {LeaseStanding.OPENING, LeaseStanding.OPEN, LeaseStanding.DEGRADED}
    refuted = live and verdict in {Outcome.FAILED, Outcome.NOT_PROVEN}
    unpromised = refuted or waits_for_pods(steps)
    return LeaseView(
        id=lease.id,
        pool=lease.pool,
        owner=lease.owner,
        by=lease.by,
        because=lease.because,
        source=lease.source,
        window=lease.window,
        date=lease.date,
        called=lease.called(),
        state=lease.state,
        standing=standing,
        nodes=lease.nodes,
        missing=lease.missing,
        opens=lease.opens,
        closes=lease.closes,
        ready=lease.ready,
        closed=lease.closed,
        stages=steps,
        bar=bar(steps),
        gpus_expected=None if unpromised else gpus_expected(lease, known.leases, known.taking),
        seats=known.seats,
        hold=lease.hold,
        cost_so_far=cost_so_far(lease, known.price_per_hour, now),
        verdict=verdict,
        verdict_rows=tuple(from_odd_document(VerdictRow, row) for row in known.verdicts),
        findings=told.findings(mine, lease, now),
        refused_because=lease.refusal or (lease.because if lease.state is LeaseState.REFUSED else None),
        degraded_because=degraded if live else None,
        failed_because=failed,
        leaked_because=known.pool.leaked_because if lease.state is LeaseState.CLOSING else None,
        warnings=tuple(entry for entry in mine if entry.kind == "warned"),
        replaced=lease.replaced,
        boot=boot_stages(lease, known.progress, now, known.usual_times),
        moved_to=lease.moved_to,
        moved_from=lease.moved_from,
    )


def cost_so_far(lease: Lease, price_per_hour: Decimal | None, now: datetime) -> Money | None:
    """What a lease has come to: as settled, or about, by its nodes and the clock since they were ordered."""
    if lease.cost is not None:
        return lease.cost
    beyond = lease.overrun.cost if lease.overrun else Money.zero(lease.hold.currency)
    if lease.ordered is None:
        return beyond
    price = lease.price_per_hour if lease.price_per_hour is not None else price_per_hour
    if price is None:
        return None
    ran = max(min(now, lease.closes) - lease.ordered, timedelta())
    # A node that came late is counted from the beginning here; what is held is never passed within a lease.
    return min(cost(lease.wanted, ran, price, lease.hold.currency), lease.hold) + beyond


_SETTLED = {
    LeaseState.PLANNED: LeaseStanding.PLANNED,
    LeaseState.REFUSED: LeaseStanding.REFUSED,
    LeaseState.CLOSED: LeaseStanding.CLOSED,
    LeaseState.CLOSING: LeaseStanding.CLOSING,
}


def _standing(lease: Lease, now: datetime, *, degraded: bool) -> LeaseStanding:
    if lease.state in _SETTLED:
        return _SETTLED[lease.state]
    if now >= lease.closes:
        return LeaseStanding.CLOSING
    if now < lease.opens:
        return LeaseStanding.PLANNED
    if degraded:
        return LeaseStanding.DEGRADED
    return LeaseStanding.OPEN if lease.state is LeaseState.OPEN else LeaseStanding.OPENING
