"""That fewer nodes came than were ordered: a cause of `diagnose`, and a reason that says it.

Draws the reason from AWS's words about a refused launch. Each kind of capacity says where it finds those.
"""

import re
from dataclasses import dataclass

from lamplighter.domain.capacity.launch_cause import LaunchCause, LaunchRefusal
from lamplighter.reasons.reason import Reason, reason

_LONGEST_QUOTE = 160


@dataclass(frozen=True)
class Shortage:
    """A cause of `diagnose`, and the reason that says how many nodes are there and why not all."""

    cause: LaunchCause
    reason: Reason


_ZONE = re.compile(r"\(([a-z]{2}(?:-[a-z]+)+-\d[a-z])\)|\b([a-z]{2}(?:-[a-z]+)+-\d[a-z])\b")
_LIMIT = re.compile(r"vCPU limit of (\d+)", re.IGNORECASE)
_TYPE = re.compile(r"\b([a-z][a-z0-9-]*\.(?:\d*x?large|metal\S*|medium|small|micro|nano))\b")


def short_of(cause: LaunchCause, have: int, wanted: int, why: Reason) -> Shortage:
    """The shortage of a pool that has only some of its nodes."""
    return Shortage(cause, reason("pool.short", have=have, wanted=wanted, why=why))


def of_refusal(refusal: LaunchRefusal) -> Reason:  # noqa: PLR0911 -- one a cause
    """Why AWS refused a launch, in a sentence."""
    text = refusal.text
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
            return reason("pool.short.not-offered", quote=_quote(text))
        case LaunchCause.LAUNCH_DENIED:
            return reason("pool.short.launch-denied", quote=_quote(text))
        case LaunchCause.UNKNOWN:
            return as_aws_says(text)


def as_aws_says(text: str) -> Reason:
    """AWS's own words, where no rule knows the cause."""
    return reason("pool.short.aws-says", quote=_quote(text))


def zones_with_capacity(text: str) -> tuple[str, ...]:
    """The zones in which AWS says that it has the capacity now."""
    offered = text.partition(" or choosing ")[2].partition(". ")[0]
    return tuple(zone[1] or zone[2] for zone in _ZONE.finditer(offered))


def _of_capacity(text: str) -> Reason:
    lacking = _of_zone(text)
    zones = zones_with_capacity(text)
    return reason("pool.short.no-capacity.elsewhere", why=lacking, zones=zones) if zones else lacking


def _of_zone(text: str) -> Reason:
    zone, instance_type = _ZONE.search(text), _TYPE.search(text)
    place = (zone[1] or zone[2]) if zone else reason("pool.short.zone-of-pool")
    if instance_type:
        return reason("pool.short.no-capacity.of-type", type=instance_type[1], zone=place)
    return reason("pool.short.no-capacity", zone=place)


def _quote(text: str) -> str:
    """The words of AWS on one line, cut at 160 characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_QUOTE else plain[: _LONGEST_QUOTE - 1] + "…"
