"""The laws of the lab's bus: who may not ask gets nothing, each request is answered, and what happened is told."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from lamplighter.domain.events.lab_event import Extended, LeaseGranted, LeaseRefused, PoolClosing
from lamplighter.values import instant
from tests.world.judge.truth import Truth, Version
from tests.world.programs import GIVERS, LONGEST, MAY, OWNERS, POOLS, TRAINING, Request
from tests.world.world import World

Broken = Iterator[tuple[int, str]]
ANSWERS = {kind.TYPE for kind in (LeaseGranted, LeaseRefused, Extended, PoolClosing)}
TOLD = {
    "warned": "warned",
    "closed": "pool-closed",
    "receipt": "receipt",
    "leaked": "leaked",
    "breach": "breach",
}
"""Kinds of entries of the trail that are told whoever caused them, and as what."""
TOLD_WITHIN = timedelta(minutes=15)
NOTHING_OPENED = "command.event.nothing-opened"


def broken(world: World, truth: Truth, requests: Sequence[Request]) -> Broken:
    """The law and what is broken, at the end of a history."""
    leases = {name: versions for known in truth.leases.values() for name, versions in known.items()}
    yield from ((8, f"told was what is no event: {each}") for each in world.bus.wrong)
    yield from _nobody_gets_what_is_not_theirs(requests, leases)
    yield from _commands(world)
    yield from _closed_before(world, requests, leases)
    yield from _about_its_own_work(world, requests)
    yield from _answered(world, requests)
    for pool in truth.pools():
        yield from _touched(truth, pool)
        yield from _told(world, pool)


def _granted(versions: Sequence[Version]) -> bool:
    return any(version.granted for version in versions)


def _nobody_gets_what_is_not_theirs(requests: Sequence[Request], leases: dict[str, list[Version]]) -> Broken:
    asked = {each.lease for each in requests if each.event["detail-type"] == "open" and not each.forged}
    for name in (each for each in leases if each.startswith("event-") and each not in asked):
        if _granted(leases[name]):
            yield 3, f"{name} was granted, and nobody who may asked for it"
    for request in requests:
        versions = leases.get(request.lease, [])
        if request.event["detail-type"] != "open" or not _granted(versions):
            continue
        if request.forged:
            yield 3, f"{request.lease} was granted to a forged event: {request.event}"
            continue
        source, last = request.event["source"], versions[-1]
        first = next(version for version in versions if version.granted)
        if source == TRAINING and first.closes - first.opens > LONGEST:
            yield (
                3,
                f"{request.lease} lasts from {first.opens} to {first.closes}, longer than its source may ask",
            )
        if (last.owner, last.asked_by) != (OWNERS[source], GIVERS[source]):
            yield 3, f"{request.lease} of {source} is {last.owner}'s by {last.asked_by}"


def _commands(world: World) -> Broken:
    """No workflow starts for what an entry may not ask for, or in another's name."""
    owners = {giver: OWNERS[source] for source, giver in GIVERS.items()}
    for execution in world.workflows.executions.values():
        given = json.loads(execution.input).get("command", {})
        who = given.get("by")
        if given.get("source") != "event" or who not in owners:
            continue
        right = (given["owner"] == owners[who], given["verb"] in MAY[who], given["pool"] in POOLS[who])
        if not all(right):
            yield 3, f"{who} gave {execution.name}: {given['verb']} {given['pool']} for {given['owner']}"


def _closed_before(world: World, requests: Sequence[Request], leases: dict[str, list[Version]]) -> Broken:
    """A close that was told that nothing is open keeps its open from opening."""
    in_vain = {
        detail["in_reply_to"] for _, _, detail in world.bus.told if detail["reason"]["code"] == NOTHING_OPENED
    }
    tokens = {
        (each.event["source"], each.token)
        for each in requests
        if each.event["id"] in in_vain and each.event["detail-type"] == "close"
    }
    for request in requests:
        asks = (request.event["source"], request.token) in tokens and request.event["detail-type"] == "open"
        if asks and _granted(leases.get(request.lease, [])):
            yield (
                3,
                f"{request.lease} of token {request.token} opened, and its close was told that it did not",
            )


def _about_its_own_work(world: World, requests: Sequence[Request]) -> Broken:
    """By a token a program changes the lease of that token, and no other one of its own."""
    by_token = {each.event["id"]: each for each in requests if each.token and not each.forged}
    for _, kind, detail in world.bus.told:
        request = by_token.get(detail["in_reply_to"])
        if request is not None and kind in ANSWERS and detail["lease"] not in {None, request.lease}:
            yield 3, f"{request.event['detail-type']} of {request.token} was about {detail['lease']}"


def _answered(world: World, requests: Sequence[Request]) -> Broken:
    answered = {detail["in_reply_to"] for _, kind, detail in world.bus.told if kind in ANSWERS}
    lost = {event["id"] for event in world.bus.dead}
    for request in requests:
        name = request.event["id"]
        if isinstance(name, str) and " " not in name and name not in answered | lost:
            yield 8, f"nobody answered {request.event}"


def _touched(truth: Truth, pool: str) -> Broken:
    owners = {giver: OWNERS[source] for source, giver in GIVERS.items()}
    for who, lease in truth.touched(pool):
        if who in owners and truth.owner(pool, lease) != owners[who]:
            yield 3, f"{who} touched {lease}, which is {truth.owner(pool, lease)}'s"


def _told(world: World, pool: str) -> Broken:
    """What the trail says since the lab began to tell it is told, whatever failed meanwhile."""
    began = world.bus.began.get(pool)
    if began is None:
        yield 8, f"nothing was ever told of {pool}"
        return
    told = {
        (kind, detail["lease"], instant.read(detail["at"]))
        for _, kind, detail in world.bus.told
        if detail["pool"] == pool
    }
    for (key, sort), item in world.dynamodb.items.items():
        if key != f"POOL#{pool}" or not sort.startswith("AUDIT#") or item["kind"]["S"] not in TOLD:
            continue
        at = datetime.fromtimestamp(int(item["at"]["N"]) / 1000, UTC)
        lease = item["lease"]["S"] if "lease" in item else None
        if began < at < world.now - TOLD_WITHIN and (TOLD[item["kind"]["S"]], lease, at) not in told:
            yield 8, f"nobody told that {item['kind']['S']} happened to {lease} on {pool} at {at:%d %H:%M:%S}"
