"""The present budget period with what runs now: the ledger's part is ViewReading's, the rest is metered from AWS.

domain/billing/statement.py has the sums, domain/billing/metering.py splits running time among leases.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from typing import Any

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.application.capacity.lives import lives_of_pool
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.views.receipts import receipts_of
from lamplighter.domain.billing.charge import counted_from, counted_to, grants
from lamplighter.domain.billing.metering import NodeLife, meter
from lamplighter.domain.billing.statement import Ahead
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.price import Price
from lamplighter.domain.views.lab_view import BudgetView
from lamplighter.lab.model import Lab
from lamplighter.values import instant, zones


@dataclass(frozen=True)
class LabAccount:
    """The money of a deployed lab at an instant."""

    capacity: CapacityServices
    now: datetime

    @property
    def lab(self) -> Lab:
        return self.capacity.lab

    @property
    def _ledger(self) -> Ledger:
        return self.capacity.ledger

    @property
    def currency(self) -> str:
        return self.lab.guard.budget.currency

    @cached_property
    def _reading(self) -> ViewReading:
        return ViewReading(self._ledger, self.lab, self.now)

    @property
    def budget(self) -> BudgetView:
        """The period: what is spent, held and planned, also by owner and by window."""
        return self._reading.budget

    @property
    def ahead(self) -> Ahead:
        """The windows that still open in the period, and those that will be refused."""
        return self._reading.ahead

    @property
    def prices(self) -> dict[str, Price | None]:
        """By pool, as it is known now; None where the price is unknown."""
        return self._reading.prices

    @cached_property
    def receipts(self) -> list[dict[str, Any]]:
        """The receipts of the period, oldest first."""
        begins, ends = self.budget.begins, self.budget.ends
        return [
            receipt
            for receipt in receipts_of(self.lab, self._ledger)
            if begins <= instant.read(str(receipt["closed"])) < ends
        ]

    @cached_property
    def _lives(self) -> dict[str, tuple[NodeLife, ...]]:
        """Of each pool that has a price: when its nodes ran, as far as AWS remembers."""
        return {pool: lives_of_pool(self.capacity, pool, self.now) for pool in self._reading.terms}

    @property
    def today(self) -> NodeTime:
        """All that ran since midnight by the lab's clock, at today's price."""
        zone = zones.zone(self.lab.time_zone)
        midnight = datetime.combine(self.now.astimezone(zone).date(), time(), zone)
        return self._sum(
            terms.paid(meter(self._lives[pool], (), midnight, self.now).of_none)
            for pool, terms in self._reading.terms.items()
        )

    @property
    def running(self) -> list[tuple[Lease, NodeTime]]:
        """The cost so far of each lease that is not settled yet. It is part of what is held."""
        running: list[tuple[Lease, NodeTime]] = []
        for pool, terms in self._reading.terms.items():
            leases = self._reading.leases_of(pool)
            unfinished = [lease for lease in leases if lease.unfinished(self.now)]
            if not unfinished:
                continue
            since = min(lease.opens for lease in unfinished)
            ran = meter(self._lives[pool], grants(leases), since, self.now).of_leases
            running += [(lease, terms.as_granted(lease).paid(ran.get(lease.id, {}))) for lease in unfinished]
        return running

    @property
    def uncounted(self) -> NodeTime:
        """What ran past or without a lease and is not counted as spent yet."""
        return self._sum(self._uncounted(pool, terms) for pool, terms in self._reading.terms.items())

    def _uncounted(self, pool: str, terms: Terms) -> NodeTime:
        leases, counted = self._reading.leases_of(pool), self._reading.state(pool).metered_until
        until = counted_to(leases, self.now)
        since = counted_from(leases, counted, until)
        if since >= until or (counted is None and not grants(leases)):
            return NodeTime.nothing(self.currency)
        ran = meter(self._lives[pool], grants(leases), since, until)
        return self._sum(terms.paid(times) for times in (ran.of_none, *ran.past_ends.values()))

    def _sum(self, parts: Iterable[NodeTime]) -> NodeTime:
        return sum(parts, NodeTime.nothing(self.currency))
