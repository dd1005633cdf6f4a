"""Why fewer nodes come than were ordered: a cause and a reason, within three minutes of the order.

Auto Scaling's activities since the order count first. EKS keeps an issue of the node group's health until a launch
succeeds, so that counts only after three minutes. The workflow keeps trying in any case.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.pool.evidence import NodeGroup, NodeGroupUpdate, ScalingActivity
from lamplighter.domain.pool.launch_cause import LaunchAttempt, LaunchCause, LaunchRefusal, refusals
from lamplighter.reasons.reason import Reason, reason

SILENCE = timedelta(minutes=3)
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


def explain(
    *,
    wanted: int,
    have: int,
    nodegroup: NodeGroup,
    activities: Sequence[ScalingActivity],
    update: NodeGroupUpdate | None,
    ordered: datetime,
    now: datetime,
) -> Shortage | None:
    """Why fewer than `wanted` nodes are there; None while the order is young and nothing has failed."""
    missing = wanted - have
    if missing <= 0:
        return None
    launches = sorted(
        (activity for activity in activities if activity.launches and activity.started >= ordered),
        key=lambda activity: activity.started,
        reverse=True,
    )
    if sum(1 for launch in launches if not launch.failed and launch.ended is None) >= missing:
        return None
    failed = [
        LaunchAttempt(launch.started, launch.status, launch.message) for launch in launches if launch.failed
    ]
    gave_up = update is not None and update.failed
    if update is not None and gave_up and update.errors and not failed:
        failed = [LaunchAttempt(update.created, update.status, "; ".join(update.errors))]
    silent = now - ordered >= SILENCE
    if not failed and not gave_up:
        if not silent:
            return None
        if nodegroup.desired < wanted and (update is None or not update.in_progress):
            taken_back = reason("pool.short.taken-back", desired=nodegroup.desired)
            return short_of(LaunchCause.UNKNOWN, have, wanted, taken_back)
    named = refusals(failed, nodegroup.health if silent else ())
    if named:
        return short_of(named[0].cause, have, wanted, _of_refusal(named[0]))
    why = _of_unknown(failed, nodegroup, now - ordered, gave_up=gave_up)
    return short_of(LaunchCause.UNKNOWN, have, wanted, why)


def _of_refusal(refusal: LaunchRefusal) -> Reason:
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
        case LaunchCause.LAUNCH_DENIED:
            return reason("pool.short.launch-denied", quote=_quote(text))
        case LaunchCause.UNKNOWN:
            return reason("pool.short.aws-says", quote=_quote(text))


def _of_capacity(text: str) -> Reason:
    zone, instance_type = _ZONE.search(text), _TYPE.search(text)
    place = (zone[1] or zone[2]) if zone else reason("pool.short.zone-of-pool")
    if instance_type:
        return reason("pool.short.no-capacity.of-type", type=instance_type[1], zone=place)
    return reason("pool.short.no-capacity", zone=place)


def _of_unknown(
    failed: Sequence[LaunchAttempt], nodegroup: NodeGroup, waited: timedelta, *, gave_up: bool
) -> Reason:
    """What AWS says where no rule knows the cause."""
    if failed:
        return reason("pool.short.aws-says", quote=_quote(failed[0].text))
    if gave_up:
        return reason("pool.short.update-gave-up")
    if nodegroup.health:
        issue = nodegroup.health[0]
        return reason("pool.short.aws-says", quote=_quote(issue.message or issue.code))
    return reason("pool.short.silent", minutes=waited // timedelta(minutes=1))


def _quote(text: str) -> str:
    """The words of AWS on one line, cut at 160 characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_QUOTE else plain[: _LONGEST_QUOTE - 1] + "…"
