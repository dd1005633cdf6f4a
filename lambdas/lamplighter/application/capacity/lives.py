"""When each node of a pool ran, as far as AWS remembers, and for a kind that forgets, as sweeps have seen it."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.adapters.aws.capacity.spot_prices import SpotPrices
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.billing.metering import NodeLife, runs
from lamplighter.domain.capacity.evidence import Activity, Part, Seen
from lamplighter.domain.capacity.kinds import KINDS, kind_of
from lamplighter.domain.money.spot import Rates
from lamplighter.errors import LamplighterError

_logger = logging.getLogger(__name__)

KEPT = timedelta(days=90)
"""EC2 keeps Spot prices for so long."""
NOTED_FOR = timedelta(days=30)
"""Longer than any lease, and shorter than the ledger keeps a life."""


def nodes_lives(capacity: CapacityServices, pool: str, seen: Seen, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life of a pool that was seen."""
    history = capacity.see(pool, {Part.HISTORY}, seen)
    lives = _lives(capacity, pool, history, now)
    return _with_rates(lives, now) if capacity.lab.pools[pool].spot else lives


def lives_of_pool(capacity: CapacityServices, pool: str, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life, without reading the members: a person who only looks may have no right to do so."""
    kind = KINDS[kind_of(capacity.lab, pool)]
    seen = capacity.see(pool, kind.history_needs | {Part.INSTANCES, Part.HISTORY})
    return _lives(capacity, pool, seen, now)


def note_lives(capacity: CapacityServices, pool: str, seen: Seen, now: datetime) -> None:
    """Keep the lives of nodes that were seen, where nothing else remembers them. Writes what is new only.

    A node that its controller once listed stays one of its nodes: one that never joined is named by its claim alone.
    One that EC2 has forgotten has ended now: every later look would let it run until an hour before. While a claim
    names it, it runs: somebody may have taken its tags off.

    Where AWS remembers when a node ran, it does not remember its type and its zone: a node of another type than the
    pool's is kept, and each Spot node, whose price is that of its zone.
    """
    if KINDS[kind_of(capacity.lab, pool)].remembers and not capacity.lab.pools[pool].spot:
        usual = capacity.lab.pools[pool].types
        seen = replace(seen, instances=tuple(one for one in seen.instances if (one.type,) != usual))
        if not seen.instances:
            return
    kept = {life.instance: life for life in capacity.ledger.lives(pool)}
    listed = {instance.id for instance in seen.instances}
    running = set() if seen.unread else {name for name, life in kept.items() if life.ended is None}
    forgotten = running - {claim.instance for claim in seen.claims}
    members = _activities(kept[name] for name in kept if name in listed | forgotten)
    lives = [life for life in runs(members, seen.instances, now) if life.member]
    news = [life for life in lives if kept.get(life.instance) != life]
    if news:
        capacity.ledger.keep_lives(pool, news, now)


def _lives(capacity: CapacityServices, pool: str, seen: Seen, now: datetime) -> tuple[NodeLife, ...]:
    if KINDS[kind_of(capacity.lab, pool)].remembers:
        lives = runs(seen.activities, seen.instances, now)
        if all(life.type for life in lives):
            return lives
        known = {life.instance: life for life in capacity.ledger.lives(pool)}
        return tuple(
            replace(life, type=life.type or kept.type, zone=life.zone or kept.zone)
            for life in lives
            for kept in [known.get(life.instance, life)]
        )
    kept = [life for life in capacity.ledger.lives(pool) if now - life.started < NOTED_FOR]
    return runs([*_activities(kept), *seen.activities], seen.instances, now)


def _with_rates(lives: tuple[NodeLife, ...], now: datetime) -> tuple[NodeLife, ...]:
    """With the Spot prices of each node. One whose prices are not known is paid at the on-demand price."""
    prices, rates, since = SpotPrices(), dict[tuple[str, str], Rates](), dict[tuple[str, str], datetime]()
    for life in lives:
        if life.type and life.zone:
            kind = life.type, life.zone
            since[kind] = min(since.get(kind, now), life.started)
    for (instance_type, zone), first in since.items():
        try:
            rates[instance_type, zone] = prices.of(instance_type, zone, max(first, now - KEPT), now)
        except LamplighterError as error:
            _logger.warning("Spot nodes are paid at the on-demand price: %s", error)
    return tuple(replace(life, rates=rates.get((life.type, life.zone), ())) for life in lives)


def _activities(lives: Iterable[NodeLife]) -> Iterator[Activity]:
    for life in lives:
        yield Activity(
            life.instance,
            launches=True,
            began=life.started,
            ended=life.started,
            type=life.type,
            zone=life.zone,
        )
        if life.ended is not None:
            yield Activity(life.instance, launches=False, began=life.ended, ended=life.ended)
