"""The doctor's checks of each pool: its minimum, its guard, its image, and the age of image and price."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, LineOutcome, Unread, unknown, unwell, well
from lamplighter.domain.money.price import Price, Source, known_price
from lamplighter.domain.pool.adoption import ExistingCluster, ExistingPool, image_remarks, of_group
from lamplighter.domain.pool.image import ImageRemark, Weight
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason

OLD_IMAGE = timedelta(days=180)
"""A new node would lack half a year of security fixes."""
OLD_TABLE = timedelta(days=180)
OLD_PRICE = timedelta(days=7)
"""A running lab asks the price list every day, so a week without an answer is a fault."""
SAID_IN_HOURS = 48
# 1.35.4-20260714. A Bottlerocket release ends in a digest, which has no date.
_DAY = re.compile(r"-(20\d{6})$")


def minimum(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Each pool can scale to zero; a NodePool always can."""
    for pool in _groups(lab):
        name, group = identity(lab, pool).name, facts.groups.get(pool)
        if isinstance(group, Unread):
            yield unknown(group)
        elif group is not None:
            wrong = next(of_group(group.found), None)
            yield (
                unwell(wrong.said, wrong.advice)
                if wrong
                else well(reason("doctor.minimum-ok", group=name, pool=pool))
            )
        elif isinstance(facts.cluster, Unread):
            yield unknown(facts.cluster)
        elif lab.pools[pool].existing is not None or facts.deployed:
            yield unwell(
                reason("doctor.group-absent", group=name, pool=pool),
                reason("doctor.group-list", cluster=lab.cluster_name),
            )
        else:
            yield well(reason("doctor.group-to-come", group=name, pool=pool))


def claim(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """No other lab guards a pool of this one."""
    if isinstance(facts.claims, Unread):
        yield unknown(facts.claims)
        return
    for pool in lab.pools:
        name = identity(lab, pool).name
        owner = facts.claims.get(name)
        if owner is None:
            yield well(reason("doctor.unclaimed", group=name, pool=pool))
        elif owner == lab.name:
            yield well(reason("doctor.claimed", group=name, pool=pool))
        else:
            yield unwell(
                reason("doctor.claimed-by-another", group=name, pool=pool, lab=owner),
                reason("doctor.claim-advice", lab=owner),
            )


def image(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """New nodes start from an image that a pool can have, that AWS maintains, and that is not old."""
    for pool in _groups(lab):
        group, name = facts.groups.get(pool), identity(lab, pool).name
        if isinstance(group, Unread):
            yield unknown(group)
        elif group is None:
            yield well(reason("doctor.image-to-come", pool=pool))
        else:
            adopted = lab.pools[pool].existing is not None
            found = [
                _remark(remark) for remark in image_remarks(group.found) if _matters(remark, adopted=adopted)
            ]
            if _trusts_another(group.found, facts.cluster):
                found.append(
                    unwell(
                        reason("doctor.image-authority", pool=pool, cluster=lab.cluster_name),
                        reason("doctor.image-authority-advice", cluster=lab.cluster_name),
                    )
                )
            yield from found
            # Of an image that is not right, its age does not matter.
            if all(judgement.outcome is LineOutcome.OK for judgement in found):
                yield _image(lab, pool, name, group.found.release, now)


def _trusts_another(group: ExistingPool, cluster: ExistingCluster | Unread | None) -> bool:
    """Whether user data lacks an authority that the cluster trusts, such as the one to which EKS rotates it."""
    present = cluster.authorities if isinstance(cluster, ExistingCluster) else frozenset()
    return bool(group.authorities) and not present <= group.authorities


def _groups(lab: Lab) -> list[str]:
    """The pools of this file; node_pools.py judges NodePools."""
    return lab.pools_with("group")


def _matters(remark: ImageRemark, *, adopted: bool) -> bool:
    """What the image of an adopted group cannot tell, a lab states for a group that it creates."""
    return adopted or remark.weight is not Weight.UNKNOWN


def _remark(remark: ImageRemark) -> Judgement:
    match remark.weight:
        case Weight.REFUSED | Weight.ENDED:
            return unwell(remark.said, remark.advice)
        case Weight.UNKNOWN:
            return unknown(remark.said, remark.advice)
        case Weight.DIFFERENT:
            return well(remark.said)


def _image(lab: Lab, pool: str, name: str, release: str, now: datetime) -> Judgement:
    found = _DAY.search(release)
    day = _day(found[1]) if found else None
    if day is None:
        return unknown(reason("doctor.image-undated", pool=pool, release=release))
    age = now.date() - day
    said = reason("doctor.image-age", pool=pool, release=release, days=age.days)
    if age <= OLD_IMAGE:
        return well(said)
    return unwell(
        said,
        reason("doctor.image-advice", cluster=lab.cluster_name, group=name),
    )


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None


def price(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """The price of a node is known and recent."""
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
    currency = lab.guard.budget.currency
    if found is None:
        return unwell(
            reason("doctor.price-none", type=lab.pools[pool].instance_type, region=lab.region),
            reason("doctor.price-state", pool=pool, currency=currency),
        )
    price = _of_a_node(found, now)
    said = reason("doctor.price", pool=pool, price=price)
    age = timedelta() if found.at is None else now - found.at
    if found.source is Source.TABLE and age > OLD_TABLE:
        return unwell(said, reason("doctor.price-state-or-release", pool=pool, currency=currency))
    if found.source is Source.PRICE_LIST and age > OLD_PRICE:
        return unwell(
            reason("doctor.price-stale", pool=pool, price=price),
            reason("doctor.price-log"),
        )
    return well(said)


def _of_a_node(price: Price, now: datetime) -> Said:
    """The price of a node per hour, with its source and age."""
    cost, age = f"{price.per_hour:f}", _age(price.at, now)
    match price.source:
        case Source.PREPAID:
            return price.reason(now)
        case Source.LAB:
            return reason("doctor.price.lab", cost=cost, currency=price.currency)
        case Source.PRICE_LIST:
            return reason("doctor.price.list", cost=cost, currency=price.currency, age=age)
        case Source.TABLE:
            return reason("doctor.price.table", cost=cost, currency=price.currency, age=age)


def _age(at: datetime | None, now: datetime) -> Said:
    if at is None:
        return reason("doctor.age.unknown")
    hours = max(now - at, timedelta()) // timedelta(hours=1)
    if hours < 1:
        return reason("doctor.age.under-an-hour")
    if hours < SAID_IN_HOURS:
        return reason("doctor.age.hours", hours=hours)
    return reason("doctor.age.days", days=hours // 24)
