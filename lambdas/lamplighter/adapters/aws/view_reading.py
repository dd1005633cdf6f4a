"""Reads the data of views from the ledger only, so it is quick and needs no other permission.

What is made of it is domain/views'. Adopted pools' own values are as the planner read them last.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.kept_courses import beside, kept_courses
from lamplighter.adapters.aws.known_prices import known_prices, known_terms
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.border import border
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing import statement
from lamplighter.domain.calendar.changes import Pause, Skip, paused_at
from lamplighter.domain.calendar.timetable import OpenWindows, Timetable
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.leases.usual_times import usual_times
from lamplighter.domain.leases.warm_up import READ, measured
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money, Period, period_of
from lamplighter.domain.money.price import Price
from lamplighter.domain.planner import planner
from lamplighter.domain.pool.explanation import standing
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.views import lease_view, receipt_view
from lamplighter.domain.views.lab_view import BudgetView, LabView, PoolView, SpendingView
from lamplighter.domain.views.lease_view import LeaseView
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.domain.views.seats import seats
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.values import instant, zones

if TYPE_CHECKING:
    from lamplighter.domain.planner.planner import Calendar

AHEAD, YEAR = timedelta(days=14), timedelta(days=366)
"""How far ahead the lab's view shows windows."""
PAST = 40
"""The number of past receipts, and of proofs, of a pool."""
BEFORE = timedelta(hours=1)
"""Audit entries within this time before the opening belong to the lease: granted, planned, refused."""


def read_lease(ledger: Ledger, lab: Lab, pool: str, lease_id: str, now: datetime) -> LeaseView | None:
    """One lease; None if the ledger no longer has it."""
    return ViewReading(ledger, lab, now).lease(pool, lease_id)


def read_lab(ledger: Ledger, lab: Lab, now: datetime) -> LabView:
    """The whole lab."""
    return ViewReading(ledger, lab, now).whole


def read_receipt(ledger: Ledger, lab: Lab, pool: str, lease_id: str) -> ReceiptView | None:
    """One receipt; None where there is none."""
    lease = ledger.lease(pool, lease_id)
    found = None if lease is None else ledger.receipt(pool, lease_id, lease.closed or lease.closes)
    if found is None:
        # The ledger no longer has the lease: search all receipts.
        given = reversed(ledger.receipts_in_brief(pool))
        brief = next((each for each in given if each.get("lease") == lease_id), None)
        found = brief and ledger.receipt(pool, lease_id, instant.read(str(brief["closed"])))
    return None if found is None else receipt_of(ledger, lab, found)


def receipt_of(ledger: Ledger, lab: Lab, receipt: dict[str, Any]) -> ReceiptView:
    """The view of a receipt that was read already."""
    pool, lease_id = str(receipt["pool"]), receipt.get("lease")
    closed = instant.read(str(receipt["closed"]))
    opened = instant.read(str(receipt["opened"])) if receipt.get("opened") else closed - BEFORE
    proofs = [proof for proof in ledger.proofs_in_brief(pool, PAST) if proof.lease == lease_id]
    before = [
        each for each in ledger.receipts_in_brief(pool, PAST) if str(each["closed"]) < str(receipt["closed"])
    ]
    known = lab.pools.get(pool)
    instance_type = proofs[0].instance_type if proofs else known.instance_type if known else ""
    return receipt_view.of(
        receipt,
        receipt_view.ReceiptExtras(
            instance_type=instance_type,
            floor=lab.checks_for(receipt.get("window")).threshold(instance_type),
            progress=ledger.progress(pool, str(lease_id)) if lease_id else {},
            usual_times=usual_times(each.get("stages") for each in before),
            audit=ledger.audit(pool, opened - BEFORE, closed + BEFORE),
            proofs=proofs,
            experimental=known is not None and known.has("experimental"),
        ),
    )


@border
class ViewReading:
    """Reads the data of one view: each item once, on first use."""

    def __init__(self, ledger: Ledger, lab: Lab, now: datetime) -> None:
        self._ledger, self._lab, self._now = ledger, lab, now
        self._leases: dict[str, list[Lease]] = {}
        self._states: dict[str, PoolState] = {}
        self._past: dict[str, list[dict[str, Any]]] = {}
        self._audits: dict[str, tuple[datetime, list[Entry]]] = {}

    def leases_of(self, pool: str) -> list[Lease]:
        """Every lease of a pool in the ledger."""
        if pool not in self._leases:
            self._leases[pool] = self._ledger.leases(pool)
        return self._leases[pool]

    @property
    def leases(self) -> dict[str, list[Lease]]:
        """Every lease in the ledger, by pool."""
        return {pool: self.leases_of(pool) for pool in self._lab.pools}

    def state(self, pool: str) -> PoolState:
        """A pool's own item."""
        if pool not in self._states:
            self._states[pool] = self._ledger.pool(pool)
        return self._states[pool]

    @cached_property
    def prices(self) -> dict[str, Price | None]:
        """The price of a node by pool, as it is known now."""
        return known_prices(self._lab, self._ledger)

    @cached_property
    def terms(self) -> dict[str, Terms]:
        """The terms of every pool that has a price; no lease opens on a pool without one."""
        return known_terms(self._lab, self.prices, self._ledger)

    @property
    def skips(self) -> list[Skip]:
        """The dates that people took out of the calendar."""
        return self._changed[0]

    @property
    def pause(self) -> Pause | None:
        """The pause that keeps the lab closed now."""
        return paused_at(self._changed[1], self._now)

    @cached_property
    def _changed(self) -> tuple[list[Skip], list[Pause]]:
        return self._ledger.skips_and_pauses()

    @cached_property
    def open_now(self) -> OpenWindows:
        """The windows that are open now by the calendar."""
        return Timetable(self._lab, kept_courses(self._lab, self._ledger)).open_at(self._now)

    @cached_property
    def pools(self) -> tuple[PoolView, ...]:
        """Every pool now, without calendar, money and history."""
        return tuple(self.pool(name) for name in self._lab.pools)

    @cached_property
    def whole(self) -> LabView:
        """The whole lab."""
        from lamplighter.domain.planner import capacity_word  # noqa: PLC0415 -- only the windows ahead need it
        from lamplighter.domain.views import windows_view  # noqa: PLC0415 -- one lease or pool needs no calendar ahead

        past = {pool: self._ledger.receipts_in_brief(pool, PAST) for pool in self._lab.pools}
        zone = zones.zone(self._lab.time_zone)
        proofs = [each for pool in self._lab.pools for each in self._ledger.proofs_in_brief(pool, PAST)]
        return LabView(
            name=self._lab.name,
            region=self._lab.region,
            zone=zone,
            now=self._now,
            budget=self.budget,
            pause=self.pause,
            pools=self.pools,
            windows=windows_view.windows(
                self._lab,
                self._calendar,
                self.leases,
                self.skips,
                self._now,
                self._now + AHEAD,
                {
                    pool: capacity_word.record(
                        past[pool], self.leases_of(pool), self.terms.get(pool), zone, self._now
                    )
                    for pool in self._lab.pools
                },
                self._ledger.readinesses() if self._lab.guard.look_again else {},
            ),
            past=windows_view.past(each for receipts in past.values() for each in receipts),
            proofs=tuple(sorted(proofs, key=lambda proof: proof.at, reverse=True)),
        )

    def pool(self, name: str) -> PoolView:
        """One pool now."""
        leases, pool, state = self.leases_of(name), self._lab.pools[name], self.state(name)
        stands = standing(self.open_now.of(name), leases, self._now, pool.max_nodes, self.skips)
        kind = gpu_type(pool.instance_type)
        running = stands.target.in_force
        planned = [each for each in leases if each.opens > self._now and _comes(each)]
        upcoming = min(planned, key=lambda lease: lease.opens, default=None)
        if self._lab.windows and (upcoming is None or upcoming.opens > self._now + planner.HORIZON):
            ahead = (upcoming, self._further(name, {each.id for each in leases}))
            upcoming = min(filter(None, ahead), key=lambda lease: lease.opens, default=None)
        closing = [
            lease
            for lease in leases
            if lease.state is LeaseState.CLOSING or (lease.granted and lease.closes <= self._now)
        ]
        return PoolView(
            name=name,
            instance_type=", ".join(pool.types),
            max_nodes=pool.max_nodes,
            gpus_per_node=kind.count if kind else None,
            mode=state.mode or self._lab.mode(name),
            state=state,
            target=stands.target,
            leases=tuple(self._view(lease) for lease in running),
            closing=tuple(self._view(lease) for lease in closing),
            next=self._view(upcoming) if upcoming else None,
            unmet=stands.unmet,
            experimental=pool.has("experimental"),
            seats=seats(
                self._lab,
                name,
                running,
                stands.target.nodes,
                [self._ledger.settings(name, lease.id) for lease in running],
            ),
        )

    def _further(self, pool: str, known: Collection[str]) -> Lease | None:
        """The next window of a pool that the planner has not written yet, at most a year ahead."""
        for near in (True, False):
            leases = self._calendar.leases if near else self._of_a_year
            coming = [
                lease
                for lease in leases
                if lease.pool == pool and lease.opens > self._now and lease.id not in known
            ]
            if coming:
                return min(coming, key=lambda lease: lease.opens)
        return None

    def lease(self, pool: str, lease_id: str) -> LeaseView | None:
        """The view of one lease."""
        found = self._ledger.lease(pool, lease_id)
        return None if found is None else self._view(found)

    def _view(self, lease: Lease) -> LeaseView:
        ledger, pool = self._ledger, lease.pool
        begun = lease.ordered is not None or lease.opens <= self._now
        settings = [ledger.settings(pool, lease.id)] if begun else []
        known = lease_view.Known(
            pool=self.state(pool),
            leases=self.leases_of(pool),
            progress=ledger.progress(pool, lease.id) if begun else {},
            audit=self._audit(pool, lease.opens - BEFORE),
            verdicts=ledger.verdicts(pool, lease.id) if begun else (),
            seats=seats(self._lab, pool, [lease], lease.nodes, settings) if pool in self._lab.pools else None,
            price_per_hour=self._price(lease),
            taking=measured(each.get("minutes_to_ready") for each in self._receipts(pool)),
            usual_times=usual_times(each.get("stages") for each in self._receipts(pool)) if begun else {},
            checks_normal=self._ladder(lease) if begun and lease.ready is None else None,
        )
        return lease_view.of(lease, known, self._now)

    def _ladder(self, lease: Lease) -> timedelta:
        from lamplighter.domain.checks.ladder import budget_seconds  # noqa: PLC0415 -- only while it warms up

        return timedelta(seconds=budget_seconds(self._lab.checks_for(lease.window)))

    def _price(self, lease: Lease) -> Decimal | None:
        if lease.price_per_hour is not None:
            return lease.price_per_hour
        if lease.ordered is None:
            return None  # nothing runs for it yet
        known = self.terms.get(lease.pool)
        return known.price_per_hour if known else None

    def _receipts(self, pool: str) -> list[dict[str, Any]]:
        """The last receipts of a pool, newest first."""
        if pool not in self._past:
            self._past[pool] = self._ledger.receipts_in_brief(pool, READ)
        return self._past[pool]

    def _audit(self, pool: str, since: datetime) -> Sequence[Entry]:
        if since > self._now:
            return ()
        read = self._audits.get(pool)
        if read is None or since < read[0]:
            read = since, self._ledger.audit(pool, since)
            self._audits[pool] = read
        return read[1]

    @cached_property
    def _period(self) -> Period:
        budget = self._lab.guard.budget
        return period_of(self._now, budget.period, zones.zone(self._lab.time_zone))

    @cached_property
    def _calendar(self) -> "Calendar":
        return self._ahead(max(AHEAD, self._period.ends - self._now))

    @cached_property
    def _of_a_year(self) -> Sequence[Lease]:
        """The windows of a year; none where a course calendar has too many events in it to work them out."""
        try:
            return self._ahead(YEAR).leases
        except BadInput:
            return ()

    def _ahead(self, reach: timedelta) -> "Calendar":
        return planner.calendar(
            self._lab,
            self.terms,
            self.skips,
            self._now,
            self._now + reach,
            beside=beside(self._lab, self._ledger, self.leases),
        )

    @cached_property
    def _kept(self) -> BudgetPeriod:
        return self._ledger.budget(self._period.key, self._lab.guard.budget.currency)

    @cached_property
    def ahead(self) -> statement.Ahead:
        """The windows that still open in the budget period, and those that will be refused."""
        known = list(_all(self.leases.values()))
        return statement.ahead(self._calendar.leases, known, self.terms, self._kept)

    @cached_property
    def spending(self) -> SpendingView:
        """The budget period as the ledger has it, without the calendar."""
        stated, kept = self._lab.guard.budget, self._kept
        nothing = Money.zero(stated.currency)
        return SpendingView(
            period=self._period.key,
            per=stated.period,
            begins=self._period.begins,
            ends=self._period.ends,
            limit=Money.of(stated.amount, stated.currency),
            spent=kept.spent,
            held=kept.held,
            overrun=kept.overrun or nothing,
            unleased=kept.unleased or nothing,
        )

    @cached_property
    def budget(self) -> BudgetView:
        """The budget period with the windows that are still to come."""
        stated, known = self._lab.guard.budget, list(_all(self.leases.values()))
        limits = {owner: Money.of(amount, stated.currency) for owner, amount in stated.owners.items()}
        return BudgetView.of(
            self.spending,
            self.ahead.cost(stated.currency),
            tuple(statement.owners(self._kept, self.ahead, limits)),
            tuple(statement.windows(known, self.ahead, self._kept)),
        )


def _comes(lease: Lease) -> bool:
    return lease.state is LeaseState.PLANNED or lease.granted


def _all(lists: Iterable[list[Lease]]) -> Iterable[Lease]:
    return (lease for leases in lists for lease in leases)
