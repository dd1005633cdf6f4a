"""That fewer nodes came than were ordered: a cause of `diagnose`, a reason that says it, and what AWS has instead.

Reads AWS's words about a refused launch. Each kind of capacity says where it finds those.
"""

import re
from dataclasses import dataclass, replace
from functools import cache

from lamplighter.domain.capacity.available import NOTHING, Available
from lamplighter.domain.capacity.launch_cause import LaunchCause, LaunchRefusal
from lamplighter.reasons.reason import Reason, reason

_LONGEST_QUOTE, _LONGEST = 160, 4_000
"""Of a quote, and of AWS's words that are read: what takes AWS a sentence is no longer."""


@dataclass(frozen=True)
class Shortage:
    """A cause of `diagnose`, and the reason that says how many nodes are there and why not all."""

    cause: LaunchCause
    reason: Reason
    available: Available = NOTHING

    def details(self) -> dict[str, str]:
        """Its values, as an entry of the trail keeps them."""
        return {"cause": self.cause.value, **self.available.details()}


# Compiled on first use: most functions that load this file read no refusal.
# A zone of a region, a local or Wavelength zone, or a zone's id, which EC2 names where the request did.
_A_ZONE = r"(?:[a-z]{2}(?:-[a-z]+)+-\d(?:[a-z]|(?:-[a-z0-9]+){1,3}-\d[a-z]?)|[a-z]{3,6}\d-az\d+)(?![\w-])"
_ZONE = rf"\(({_A_ZONE})\)|\b({_A_ZONE})"
_LIMIT = re.compile(r"vCPU limit of (\d+)", re.IGNORECASE)
_TYPE = re.compile(r"\b([a-z][a-z0-9-]*\.(?:\d*x?large|metal\S*|medium|small|micro|nano))\b")


def short_of(cause: LaunchCause, have: int, wanted: int, why: Reason) -> Shortage:
    """The shortage of a pool that has only some of its nodes."""
    return Shortage(cause, reason("pool.short", have=have, wanted=wanted, why=why))


def short_of_refusal(refusal: LaunchRefusal, have: int, wanted: int) -> Shortage:
    """The same, where AWS's words name the cause."""
    named = available(refusal.text)
    return replace(short_of(refusal.cause, have, wanted, of_refusal(refusal)), available=named)


def available(text: str) -> Available:
    """The zones and types that AWS names as available in its words about a refused launch; often none."""
    offers = _offers(text[:_LONGEST])
    zones = dict.fromkeys(zone for _, zones in offers for zone in zones)
    return Available(tuple(zones), tuple(dict.fromkeys(kind for kind, _ in offers if kind)))


def of_refusal(refusal: LaunchRefusal) -> Reason:  # noqa: PLR0911 -- one a cause
    """Why AWS refused a launch, in a sentence."""
    text = refusal.text[:_LONGEST]
    match refusal.cause:
        case LaunchCause.VCPU_QUOTA:
            limit = _LIMIT.search(text)
            if limit:
                return reason("pool.short.vcpu-quota.limit", limit=limit[1])
            return reason("pool.short.vcpu-quota")
        case LaunchCause.NO_CAPACITY:
            return _of_capacity(text)
        case LaunchCause.NO_ADDRESSES:
            return reason("pool.short.no-addresses")
        case LaunchCause.WRONG_INSTANCE_TYPE:
            refused = reason("pool.short.not-offered", quote=_quote(text))
            offers = _offers(text)
            return reason("pool.short.offered", why=refused, offers=_named(offers)) if offers else refused
        case LaunchCause.LAUNCH_DENIED:
            return reason("pool.short.launch-denied", quote=_quote(text))
        case LaunchCause.UNKNOWN:
            return as_aws_says(text)


def as_aws_says(text: str) -> Reason:
    """AWS's own words, where no rule knows the cause."""
    return reason("pool.short.aws-says", quote=_quote(text))


def _of_capacity(text: str) -> Reason:
    lacking, offers = _of_zone(text), _offers(text)
    kind = _TYPE.search(text)
    if offers and kind and {offer[0] for offer in offers} == {kind[1]}:
        return reason("pool.short.no-capacity.elsewhere", why=lacking, zones=available(text).zones)
    return reason("pool.short.offered", why=lacking, offers=_named(offers)) if offers else lacking


@cache
def _offer() -> re.Pattern[str]:
    return re.compile(
        # EC2's InsufficientInstanceCapacity; Karpenter cuts an event at 300 characters, often before the zones.
        rf"currently get (?:(?P<type>\S+) )?capacity by not specifying an Availability Zone in your request"
        rf" or choosing (?P<zones>{_A_ZONE}(?:, {_A_ZONE})*)"
        # EC2's Unsupported: these zones offer the type at all.
        r"|type \((?P<offered>[^)]+)\) is not supported in your requested Availability Zone(?: \([^)]*\))?\."
        r" Please retry your request by not specifying an Availability Zone"
        rf" or choosing (?P<elsewhere>{_A_ZONE}(?:, {_A_ZONE})*)"
    )


@cache
def _refused() -> re.Pattern[str]:
    return re.compile(rf"sufficient (\S+) capacity in the Availability Zone you requested \(({_A_ZONE})\)")


def _offers(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each type that AWS names, with its zones. A fleet's text may name a zone and refuse it: then it is left out."""
    plain = " ".join(text.split())
    refused = {(refusal[1], refusal[2]) for refusal in _refused().finditer(plain)}
    found: dict[str, dict[str, None]] = {}
    for offer in _offer().finditer(plain):
        kind, zones = offer["type"] or offer["offered"] or "", offer["zones"] or offer["elsewhere"]
        found.setdefault(kind, {}).update(
            dict.fromkeys(zone for zone in zones.split(", ") if (kind, zone) not in refused)
        )
    return [(kind, tuple(zones)) for kind, zones in found.items() if zones]


def _named(offers: list[tuple[str, tuple[str, ...]]]) -> tuple[Reason, ...]:
    return tuple(
        reason("pool.short.offer", type=kind or reason("pool.short.type-of-pool"), zones=zones)
        for kind, zones in offers
    )


def _of_zone(text: str) -> Reason:
    zone, instance_type = re.search(_ZONE, text), _TYPE.search(text)
    place = (zone[1] or zone[2]) if zone else reason("pool.short.zone-of-pool")
    if instance_type:
        return reason("pool.short.no-capacity.of-type", type=instance_type[1], zone=place)
    return reason("pool.short.no-capacity", zone=place)


def _quote(text: str) -> str:
    """The words of AWS on one line, cut at 160 characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_QUOTE else plain[: _LONGEST_QUOTE - 1] + "…"
