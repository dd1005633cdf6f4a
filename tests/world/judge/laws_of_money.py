"""The laws about money: held money covers what runs, and every second is counted once.

It judges at every write of a budget, at every look, and at the end, against what EC2 ran.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

from lamplighter.data import prices
from lamplighter.domain.billing.metering import EC2_REMEMBERS
from tests.world.aws.machines import DEAR, NOTICED
from tests.world.judge.truth import Truth, Version, amount
from tests.world.world import World

CENT, HALF_A_CENT = Fraction(1, 100), Fraction(1, 200)
"""The table shows rounded amounts."""
UNSURE = 60
"""Seconds for each node: a lease that is granted in its first minute counts from its opening; seconds are rounded."""
IN_FLIGHT, HALF_AN_HOUR = timedelta(minutes=5), timedelta(minutes=30)
NEXT_SWEEP = timedelta(minutes=10)
"""A sweep every five minutes, and its run."""


class LawsOfMoney:
    """`broken` grows as the world goes on."""

    def __init__(self, world: World, truth: Truth) -> None:
        self.world, self.truth = world, truth
        self.broken: list[str] = []
        self.taken_back: dict[str, int] = {}
        """By pool: how many machines AWS took back."""
        self.troubled: list[tuple[datetime, datetime | None]] = []
        """When the outside or our functions failed; None: they still do. Anything due in this time may be late by it.
        """
        self.dead: list[tuple[datetime, datetime | None]] = []
        """When the controller of NodePools did nothing."""
        self.ill: dict[str, list[tuple[datetime, datetime | None]]] = {}
        """By pool: while its ledger items could not be read; None: they still cannot."""
        self.unseen: dict[str, list[tuple[datetime, datetime | None]]] = {}
        """By pool: while nobody could see its nodes, or note that they were seen."""
        self.prices = {pool: [self._price(pool)] for pool in world.lab.pools}
        """By pool: the price of a node-second, since the beginning."""
        self.dear = {pool: [self._dear_price(pool)] for pool in world.lab.pools}
        """The same for a machine of a type that no lease was granted for."""
        self.allowed = [(world.now, world.lab.guard.budget.amount)]
        """The budget, from each instant of a change on."""

    def deployed(self) -> None:
        """Records a deploy's changes of money."""
        for pool in self.world.lab.pools:
            self.prices.setdefault(pool, []).append(self._price(pool))
            self.dear.setdefault(pool, []).append(self._dear_price(pool))
        self.allowed.append((self.world.now, self.world.lab.guard.budget.amount))

    def _price(self, pool: str) -> Fraction:
        return Fraction(self.world.lab.price(pool)) / 3600

    def _opens_at_present_price(self, pool: str, name: str, lease: Version) -> None:
        """A lease that was granted ahead opens at the price that its pool has then, and not at that of its grant."""
        first, now = self.truth.leases[pool][name][0], self.world.now
        others = (other for each, other in self.truth.known(pool).items() if each != name)
        beside = any(other.opens <= lease.opens <= other.closes for other in others)
        lately = [begin for begin, end in self.troubled if end is None or now - end < HALF_AN_HOUR]
        if not first.granted or first.at >= first.opens or beside or lately or self.ill.get(pool):
            return
        since = [at for at, _ in self.allowed]
        ends = [*since[1:], now]
        prices = [price for price, end in zip(self.prices[pool], ends, strict=True) if end >= now - IN_FLIGHT]
        if lease.price is not None and lease.price / 3600 not in prices:
            self._break(4, f"{name} opens at {float(lease.price)}, and its pool has another price")

    def _dear_price(self, pool: str) -> Fraction:
        """The table's; a type that it does not know counts as the pool's own."""
        lab = self.world.lab
        known = prices.of_a_node(lab.region, DEAR, lab.guard.budget.currency, fee=lab.pools[pool].has("fee"))
        return self._price(pool) if known is None else Fraction(known) / 3600

    def _held_for(self, pool: str) -> None:
        """For each lease with nodes, their cost to its end is held. Nodes belong to the leases in order of opening."""
        now = self.world.now
        for name, lease, has in self._shares(pool):
            price = self._price(pool) if lease.price is None else lease.price / 3600
            needed = has * Fraction((lease.closes - now).total_seconds()) * price
            if lease.hold + HALF_A_CENT < needed:
                self._break(
                    4,
                    f"{float(lease.hold):.4f} are held for {name}, whose {has} nodes will cost {float(needed):.4f}",
                )

    def _shares(self, pool: str, **instead: Version) -> Iterator[tuple[str, Version, int]]:
        """The leases in force by opening, each with the number of its own machines in the pool."""
        # A machine that leaves, or is ordered to end, belongs to no lease.
        left = sum(1 for machine in self.world.supply.staying(pool) if machine.alive and not machine.dear)
        in_force = {**self.truth.known(pool), **instead}.items()
        for name, lease in sorted(in_force, key=lambda each: (each[1].opens, each[0])):
            if lease.justifies(self.world.now):
                has = min(left, lease.nodes)
                left -= has
                yield name, lease, has

    def _budget_changed(self, before: Any, item: Any) -> None:
        held, spent = amount(item["held"]), amount(item["spent"])
        more = held > (amount(before["held"]) if before else 0)
        # A function that read the lab before a deploy may still be running.
        since = self.world.now - IN_FLIGHT
        until = [*(at for at, _ in self.allowed[1:]), self.world.now]
        allowed = max(each for (_, each), end in zip(self.allowed, until, strict=True) if end >= since)
        if more and held + spent > allowed:
            self._break(4, f"{held} held and {spent} spent are more than {allowed}")

    def _money_now(self) -> None:
        """At any moment the held money is the sum of the leases' holds, and no more is spent than ran."""
        holds = sum(
            (
                lease.hold
                for pool in self.truth.pools()
                for lease in self.truth.known(pool).values()
                if lease.holds
            ),
            start=Fraction(0),
        )
        held, spent = self._totals("held"), self._totals("spent")
        if abs(held - holds) > CENT:
            self._break(4, f"leases hold {float(holds):.4f}, and {float(held):.4f} are counted as held")
        if not self._watched() and spent > (most := self._ran()[1]):
            self._break(4, f"{float(most):.4f} ran at most, and {float(spent):.4f} are counted as spent")

    def _money(self) -> None:
        """The spent money is what ran; nothing is held for ended leases."""
        if self._watched():
            return
        held, spent = self._totals("held"), self._totals("spent")
        if held:
            self._break(4, f"{held} are held, and every lease is over")
        least, most = self._ran()
        if not least <= spent <= most:
            self._break(
                4,
                f"{float(least):.4f} to {float(most):.4f} were used, and {float(spent):.4f} are counted as spent",
            )

    def _ran(self) -> tuple[Fraction, Fraction]:
        """What EC2 ran until now, at least and at most, in money."""
        least = most = Fraction(0)
        for pool, dear in product(self.truth.pools(), (False, True)):
            of_type = self.dear[pool] if dear else self.prices[pool]
            billed, existed = self.truth.node_seconds(pool, dear=dear)
            if not existed:
                continue
            # Seconds are rounded at every node's start and end. If EC2 has forgotten a machine that it took back, the
            # group's activity says when it was gone: when the group noticed.
            noticed = self.taken_back.get(pool, 0) * int(NOTICED)
            rounding = 2 * len(self.truth.lives(pool, dear=dear)) + noticed
            # EC2 forgets an ended machine within an hour. If nothing can be read in that time, the machine is not
            # counted. Only its group remembers it, so a machine without a group is lost.
            forgotten = self.truth.stray_seconds(pool) if self.long_trouble() else Fraction(0)
            forgotten += self._never_seen(pool)
            if dear and self.long_trouble():
                # Nobody saw its type before EC2 forgot it: it counts as one of the pool's.
                of_type = [*of_type, *self.prices[pool]]
            least += (
                0 if self.ill.get(pool) else max(billed - forgotten - rounding, Fraction(0)) * min(of_type)
            )
            most += (existed + rounding + self._assumed(pool)) * max(of_type)
        return least, most

    def _assumed(self, pool: str) -> Fraction:
        """The node-seconds that a NodePool's machines may be counted longer than they ran.

        EC2 forgets an end within an hour, and nothing else remembers it. After a trouble that lasted longer, the first
        sweep counts until an hour before.
        """
        if pool not in self.world.lab.pools_with("claims"):
            return Fraction(0)
        assumed = timedelta()
        for life in self.truth.machines.get(pool, {}).values():
            if life.ended is not None:
                assumed += max(self._next_sweep(pool, life.ended) - EC2_REMEMBERS - life.ended, timedelta())
        return Fraction(assumed.total_seconds())

    def _never_seen(self, pool: str) -> Fraction:
        """The node-seconds of a NodePool's machines that EC2 forgot before any sweep came by: nobody knows of them."""
        if pool not in self.world.lab.pools_with("claims"):
            return Fraction(0)
        lives = self.truth.machines.get(pool, {}).values()
        lost = [
            life.ended - life.launched
            for life in lives
            if life.ended is not None and self._next_sweep(pool, life.launched) > life.ended + EC2_REMEMBERS
        ]
        return Fraction(sum(lost, timedelta()).total_seconds())

    def _next_sweep(self, pool: str, after: datetime) -> datetime:
        """Until when the next sweep has counted, at the latest."""
        at = after + NEXT_SWEEP
        unseen = [*self.troubled, *self.unseen.get(pool, [])]
        for begin, end in sorted(unseen, key=lambda trouble: trouble[0]):
            if begin <= at:
                at = max(at, (end or self.world.now) + NEXT_SWEEP)
        return at

    def long_trouble(self) -> bool:
        """Whether the guard may have been unable to count for most of an hour."""
        return any((end or self.world.now) - begin >= HALF_AN_HOUR for begin, end in self.troubled)

    def _totals(self, name: str) -> Fraction:
        """What all periods have held or spent together."""
        totals = [item for sort, item in self.truth.budgets.items() if sort.count("#") == 1]
        return sum((amount(item[name]) for item in totals), start=Fraction(0))

    def _watched(self) -> bool:
        """Whether people may keep nodes without a lease: then nothing is counted as it should be."""
        return any(self.world.lab.mode(pool) == "watch" for pool in self.truth.pools())

    def _every_second_is_in_one_place(self) -> None:
        """All spent money is on receipts or waits for one. Each lease's money is what ran for it, at its own price."""
        if self._watched():
            return
        told = Fraction(0)
        for pool in self.truth.pools():
            receipts = self.truth.receipts(pool)
            told += sum(
                (Fraction(each["cost"]["amount"]) for each in receipts), start=self.truth.unbilled(pool)
            )
            least, most = (self.truth.leased(pool, existing=existing) for existing in (False, True))
            noticed = self.taken_back.get(pool, 0) * int(NOTICED)
            for each in receipts:
                name = each["lease"]
                version = self.truth.known(pool).get(name)
                if version is None:
                    continue
                ran, unsure = each["node_seconds"], UNSURE * max(1, each["nodes"])
                low = least.get(name, Fraction(0)) - unsure - self._never_seen(pool)
                high = most.get(name, Fraction(0)) + self.truth.past_end(pool, name) + noticed + unsure
                high += self._assumed(pool)
                if self.long_trouble():
                    high += self.truth.node_seconds(pool, dear=True)[1]
                if not low <= ran <= high:
                    self._break(4, f"{ran} node-seconds are on the receipt of {name}, {float(low):.0f} to "
                                   f"{float(high):.0f} ran for it")  # fmt: skip
                cost = Fraction(each["cost"]["amount"])
                should = ran * (version.price or Fraction(0)) / 3600
                if abs(cost - should) > CENT:
                    self._break(4, f"{name} came to {float(cost):.4f}, its seconds cost {float(should):.4f}")
        spent = self._totals("spent")
        if abs(told - spent) > CENT:
            self._break(4, f"receipts come to {float(told):.4f}, and {float(spent):.4f} are counted as spent")

    def _break(self, law: int, what: str) -> None:
        self.broken.append(f"law {law} at {self.world.now:%d %H:%M:%S}: {what}")
