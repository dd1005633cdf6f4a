"""What the doctor says of each pool: its sizes, who guards it, how old its image and its price are."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.domain.money.price import Price, Source, known_price
from lamplighter.domain.pool.adoption import of_group
from lamplighter.lab.model import Lab
from lamplighter.values.counted import counted

OLD_IMAGE = timedelta(days=180)
"""Half a year of security fixes that a new node lacks."""
OLD_TABLE = timedelta(days=180)
OLD_PRICE = timedelta(days=7)
"""A running lab asks the price list every day: a week without an answer is no accident."""
# 1.35.4-20260714; Bottlerocket's end in a digest, which tells no day.
_DAY = re.compile(r"-(20\d{6})$")


def minimum(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Each pool can be at zero."""
    for pool in lab.pools:
        name, group = lab.nodegroup_name(pool), facts.groups.get(pool)
        if isinstance(group, Unread):
            yield unknown(group)
        elif group is not None:
            wrong = next(of_group(group.found), None)
            yield (
                unwell(wrong.said, wrong.advice)
                if wrong
                else well(f"node group {name} of pool {pool} has minimum 0")
            )
        elif isinstance(facts.cluster, Unread):
            yield unknown(facts.cluster)
        elif lab.pools[pool].existing is not None or facts.deployed:
            yield unwell(
                f"node group {name} of pool {pool} is not there",
                f"aws eks list-nodegroups --cluster-name {lab.cluster_name} names those that are",
            )
        else:
            yield well(f"node group {name} of pool {pool} is made by the deploy, with minimum 0")


def claim(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """No other lab guards a pool of this one."""
    if isinstance(facts.claims, Unread):
        yield unknown(facts.claims)
        return
    for pool in lab.pools:
        name = lab.nodegroup_name(pool)
        owner = facts.claims.get(name)
        if owner is None:
            yield well(f"node group {name} of pool {pool} is guarded by no lab yet")
        elif owner == lab.name:
            yield well(f"node group {name} of pool {pool} is guarded by this lab")
        else:
            yield unwell(
                f"node group {name} of pool {pool} is guarded by lab {owner}: a second claim on it fails",
                f"take the pool out of lab {owner} and deploy that, or out of this one",
            )


def image(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """New nodes start from an image that is not old."""
    for pool in lab.pools:
        group, name = facts.groups.get(pool), lab.nodegroup_name(pool)
        if isinstance(group, Unread):
            yield unknown(group)
        elif group is None:
            yield well(f"pool {pool} takes EKS's newest image when its node group is made")
        else:
            yield _image(lab, pool, name, group.found.release, now)


def _image(lab: Lab, pool: str, name: str, release: str, now: datetime) -> Judgement:
    found = _DAY.search(release)
    day = _day(found[1]) if found else None
    if day is None:
        return unknown(f"the image of pool {pool}, release '{release}', names no day")
    age = now.date() - day
    said = f"the image of pool {pool}, release {release}, is {counted(age.days, 'day')} old"
    if age <= OLD_IMAGE:
        return well(said)
    return unwell(
        said,
        "while the pool is closed: aws eks update-nodegroup-version"
        f" --cluster-name {lab.cluster_name} --nodegroup-name {name}",
    )


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None


def price(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """What a node costs is known, and the figure is fresh."""
    for pool in lab.pools:
        kind = facts.instance_type(lab, pool)
        if isinstance(kind, Unread):
            yield unknown(kind)
        elif isinstance(facts.prices, Unread) and lab.pools[pool].price_per_hour is None:
            yield unknown(facts.prices)
        else:
            kept = {} if isinstance(facts.prices, Unread) else facts.prices
            whole = lab.pools[pool].model_copy(update={"instance_type": kind})
            seen = lab.model_copy(update={"pools": {**lab.pools, pool: whole}})
            yield _price(seen, pool, kept.get(pool), now)


def _price(lab: Lab, pool: str, kept: Price | None, now: datetime) -> Judgement:
    found = known_price(lab, pool, kept)
    state = f"state it in the lab: pools.{pool}.price_per_hour, in {lab.guard.budget.currency}"
    if found is None:
        return unwell(
            f"no price of {lab.pools[pool].instance_type} in {lab.region} is known: no lease is granted on it",
            state,
        )
    said = f"a node of pool {pool} costs {found.said(now)}"
    age = timedelta() if found.at is None else now - found.at
    if found.source is Source.TABLE and age > OLD_TABLE:
        return unwell(said, f"{state}, or take a newer release of Lamplighter")
    if found.source is Source.PRICE_LIST and age > OLD_PRICE:
        return unwell(
            f"{said}: since then the price list has not answered",
            "see the planner's log group for what pricing:GetProducts says",
        )
    return well(said)
