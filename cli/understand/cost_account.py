"""What `cost` and `status` say about money, read from ledger and AWS: one value, nothing decided.

Sums are domain/money/statement.py's, the meter's domain/money/metering.py's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import cached_property

from cli.deployment import Deployment
from lamplighter.adapters.aws.capacity.autoscaling import ACTIVITY_PAGES, AutoScaling
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups
from lamplighter.adapters.aws.known_prices import known_prices, known_terms
from lamplighter.adapters.calendars.kept import beside
from lamplighter.domain.calendar import planner
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money import statement
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.charge import counted_from, counted_to, grants
from lamplighter.domain.money.metering import NodeLife, meter, runs
from lamplighter.domain.money.money import Money, Period, period_of
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.price import Price
from lamplighter.domain.money.statement import Ahead, Row


@dataclass(frozen=True)
class DeployedAccount:
    """The present budget period of a deployed lab."""

    found: Deployment

    @property
    def now(self) -> datetime:
        return self.found.now

    @property
    def currency(self) -> str:
        return self.found.lab.guard.budget.currency

    @cached_property
    def limit(self) -> Money:
        return Money.of(self.found.lab.guard.budget.amount, self.currency)

    @cached_property
    def limits(self) -> dict[str, Money]:
        """What single owners may have."""
        owners = self.found.lab.guard.budget.owners
        return {owner: Money.of(amount, self.currency) for owner, amount in owners.items()}

    @cached_property
    def period(self) -> Period:
        return period_of(self.now, self.found.lab.guard.budget.period, self.found.zone)

    @cached_property
    def budget(self) -> BudgetPeriod:
        return self.found.ledger.budget(self.period.key, self.currency)

    @property
    def overrun(self) -> Money:
        return self.budget.overrun or Money.zero(self.currency)

    @property
    def unleased(self) -> Money:
        return self.budget.unleased or Money.zero(self.currency)

    @cached_property
    def leases(self) -> dict[str, list[Lease]]:
        """By pool."""
        return {pool: self.found.ledger.leases(pool) for pool in self.found.lab.pools}

    @cached_property
    def all_leases(self) -> list[Lease]:
        return [lease for leases in self.leases.values() for lease in leases]

    @cached_property
    def prices(self) -> dict[str, Price | None]:
        """By pool, as it is known now; None where nobody knows it."""
        return known_prices(self.found.lab, self.found.ledger)

    @cached_property
    def terms(self) -> dict[str, Terms]:
        """Of every pool that has a price: the others open nothing."""
        return known_terms(self.found.lab, self.prices)

    @cached_property
    def ahead(self) -> Ahead:
        """The windows still to open in the period, from the calendar as it stands."""
        lab, ledger = self.found.lab, self.found.ledger
        calendar = planner.calendar(
            lab,
            self.terms,
            ledger.skips(),
            self.now,
            self.period.ends,
            beside=beside(lab, ledger, self.leases),
        )
        return statement.ahead(calendar.leases, self.all_leases, self.terms, self.budget)

    @property
    def owners(self) -> list[Row]:
        return statement.owners(self.budget, self.ahead, self.limits)

    @property
    def windows(self) -> list[Row]:
        return statement.windows(self.all_leases, self.ahead, self.budget)

    @property
    def forecast(self) -> Money:
        """At the period's end, if every lease and window uses what is held and planned for it."""
        return self.budget.used + self.ahead.cost(self.currency)

    @cached_property
    def lives(self) -> Mapping[str, Sequence[NodeLife]]:
        """By pool, every node's life as AWS remembers it."""
        return {pool: self._lives(pool) for pool in self.terms}

    def _lives(self, pool: str) -> tuple[NodeLife, ...]:
        lab = self.found.lab
        name = lab.nodegroup_name(pool)
        nodegroup = NodeGroups(lab.cluster_name).read(name)
        group = nodegroup.group if nodegroup else None
        activities = AutoScaling().activities(group, ACTIVITY_PAGES) if group else ()
        return runs(activities, Instances().of_nodegroup(lab.cluster_name, name), self.now)

    @property
    def today(self) -> NodeTime:
        """All that ran since midnight by the lab's clock, at today's price."""
        midnight = datetime.combine(self.now.astimezone(self.found.zone).date(), time(), self.found.zone)
        return self._sum(
            NodeTime.at(
                meter(self.lives[pool], (), midnight, self.now).unleased, each.price_per_hour, self.currency
            )
            for pool, each in self.terms.items()
        )

    @property
    def running(self) -> list[tuple[Lease, NodeTime]]:
        """What the leases that are not settled have come to so far; it is part of what is held."""
        found = []
        for pool, each in self.terms.items():
            open_ = [lease for lease in self.leases[pool] if _unsettled(lease, self.now)]
            if not open_:
                continue
            since = min(lease.opens for lease in open_)
            ran = meter(self.lives[pool], grants(self.leases[pool]), since, self.now).leased
            for lease in open_:
                price = lease.price_per_hour or each.price_per_hour
                time_ = ran.get(lease.id, timedelta())
                found.append((lease, NodeTime.at(time_, price, self.currency)))
        return found

    @property
    def uncounted(self) -> NodeTime:
        """What runs past or without a lease right now and is not counted as spent yet."""
        return self._sum(self._uncounted(pool, each) for pool, each in self.terms.items())

    def _uncounted(self, pool: str, each: Terms) -> NodeTime:
        leases, counted = self.leases[pool], self.found.ledger.pool(pool).metered_until
        until = counted_to(leases, self.now)
        since = counted_from(leases, counted, until)
        if since >= until or (counted is None and not grants(leases)):
            return NodeTime.nothing(self.currency)
        ran = meter(self.lives[pool], grants(leases), since, until)
        beyond = sum(ran.overrun.values(), ran.unleased)
        return NodeTime.at(beyond, each.price_per_hour, self.currency)

    def _sum(self, parts: Iterable[NodeTime]) -> NodeTime:
        return sum(parts, NodeTime.nothing(self.currency))


def _unsettled(lease: Lease, now: datetime) -> bool:
    return lease.opens <= now and (lease.granted or lease.state is LeaseState.CLOSING)
