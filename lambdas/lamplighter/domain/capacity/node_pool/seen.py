"""A NodePool as the port shows it: from what Kubernetes and EC2 say to values that fit every kind."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lamplighter.domain.capacity.evidence import (
    ANY_NUMBER,
    ENDS_WITHIN,
    Activity,
    Change,
    Changing,
    Claim,
    Controller,
    Instance,
    Make,
    Member,
    Seen,
)
from lamplighter.domain.capacity.node_pool import sizing
from lamplighter.domain.capacity.node_pool.evidence import NodePool
from lamplighter.domain.capacity.node_pool.probe import TYPE
from lamplighter.reasons.reason import Reason, reason

DENIED = "Unauthorized"
"""Karpenter's reason for a launch that the role's policies deny."""


def with_sizes(
    seen: Seen, node_pool: NodePool | None, claims: tuple[Claim, ...], most: int | None = None
) -> Seen:
    """With its size and bounds. `most` is the lab's maximum for a NodePool of somebody else that has no limit.

    One of the lab's has its limit from the lab: none at all is then a maximum that somebody removed.
    """
    if node_pool is None:
        return replace(seen, exists=False, ordered=0, minimum=0, maximum=0, change=None, health=())
    return replace(
        seen,
        exists=True,
        ordered=sizing.ordered(node_pool, len(staying(claims))),
        minimum=0,
        maximum=_maximum(node_pool, most),
        change=Change(Changing.DELETING) if node_pool.leaving else None,
        health=node_pool.issues,
        dynamic=not node_pool.static,
        raised_by=raised_by(node_pool),
    )


def _maximum(node_pool: NodePool, most: int | None) -> int:
    found = sizing.maximum(node_pool)
    if most is None:
        return ANY_NUMBER if found is None else found
    return found or most


def controller(
    seen: Seen, node_pool: NodePool | None, claims: tuple[Claim, ...], now: datetime
) -> Controller | None:
    """The NodePool as that which starts the nodes and lists them."""
    if node_pool is None:
        return None
    size = sizing.ordered(node_pool, len(staying(claims)))
    return Controller(node_pool.name, 0, seen.maximum, size, _members(claims, now))


def staying(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims that nobody has deleted."""
    return tuple(claim for claim in claims if not claim.leaving)


def launched(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims for which an instance was launched."""
    return tuple(claim for claim in claims if claim.instance)


def denied(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims whose launch IAM denies. Karpenter keeps such a claim, and tries again for as long as it is there."""
    return tuple(claim for claim in claims if claim.trouble is not None and claim.trouble.code == DENIED)


def member(claim: Claim, now: datetime) -> Member:
    """A claim with an instance. One that leaves without a time limit may wait for its pods for ever.

    One that leaves for longer than an empty node takes gets its limit now, if it is empty. What is there after the
    limit, a living controller would have ended.
    """
    limit = claim.ends_at
    overdue = claim.leaving and limit is not None and now - limit >= ENDS_WITHIN
    lasts = claim.left is not None and now - claim.left >= ENDS_WITHIN and (limit is None or limit > now)
    waits = claim.leaving and (overdue or lasts or not claim.ends_in_time)
    return Member(claim.instance, claim.zone, claim.leaving, waits_for_drain=waits, overdue=overdue)


def with_named(seen: Seen, unlisted: Iterable[Claim], instances: Iterable[Instance], now: datetime) -> Seen:
    """With claims that were not listed, and with the instances that Karpenter's tag gives to claims.

    Nodes that have joined have it. A claim that was not listed, or read without its instance, would make that instance
    a stray.
    """
    of_claim = {instance.controller: instance.id for instance in instances if instance.alive}
    claims = tuple(
        claim if claim.instance else replace(claim, instance=of_claim.get(claim.name, ""))
        for claim in (*seen.claims, *unlisted)
    )
    controller = seen.controller and replace(seen.controller, members=_members(claims, now))
    return replace(seen, claims=claims, controller=controller)


def _members(claims: Iterable[Claim], now: datetime) -> tuple[Member, ...]:
    return tuple(member(claim, now) for claim in launched(claims))


def make(node_pool: NodePool) -> Make:
    """What its nodes are made of, as far as it names types."""
    return Make(node_pool.requirements.get(TYPE, ()))


def raised_by(node_pool: NodePool) -> Reason | None:
    """That somebody wrote the limit of a dynamic NodePool over the lab's."""
    if not sizing.written_over(node_pool) or node_pool.written_limit is None:
        return None
    found = node_pool.limit if node_pool.limit is not None else reason("guard.raised.no-limit")
    return reason("guard.raised.limit", name=node_pool.name, limit=found, written=node_pool.written_limit)


def activities(instances: Iterable[Instance]) -> tuple[Activity, ...]:
    """Starts and ends, newest first. Nothing else than EC2 remembers them, and EC2 for an hour after an end."""
    found = []
    for instance in instances:
        if instance.controller is None:
            # The controller did not start it: no lease pays for it.
            continue
        found.append(Activity(instance.id, launches=True, began=instance.launched, ended=instance.launched))
        if instance.ended is not None:
            found.append(Activity(instance.id, launches=False, began=instance.ended, ended=instance.ended))
    return tuple(sorted(found, key=lambda activity: activity.began, reverse=True))
