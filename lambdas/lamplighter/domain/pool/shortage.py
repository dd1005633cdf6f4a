"""Why nodes do not come: one sentence out of what AWS says, within three minutes of the order.

Judges Auto Scaling's activities since the order first; the node group's health is sticky, so it only
speaks where no activity does. What to do about it is left to the workflow: it keeps trying.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.pool.evidence import Activity, NodeGroup, Update
from lamplighter.domain.pool.launch_refusal import health_refusal, refusal

SILENCE = timedelta(minutes=3)
_LONGEST_QUOTE = 160


@dataclass(frozen=True)
class Shortage:
    """A cause (the words of `diagnose`) and the sentence that says how many are missing and why."""

    cause: str
    sentence: str


_SENTENCES = {
    "vcpu-quota": "the account's vCPU quota for these instances is used up{limit}",
    "no-capacity": "AWS has no {type} capacity left{zone}",
    "no-addresses": "the pool's subnet has no free addresses left",
    "launch-denied": "AWS refused to launch them: {quote}",
}
_ZONE = re.compile(r"\(([a-z]{2}(?:-[a-z]+)+-\d[a-z])\)|\b([a-z]{2}(?:-[a-z]+)+-\d[a-z])\b")
_LIMIT = re.compile(r"vCPU limit of (\d+)", re.IGNORECASE)
_TYPE = re.compile(r"\b([a-z][a-z0-9-]*\.(?:\d*x?large|metal\S*|medium|small|micro|nano))\b")


def explain(
    *,
    wanted: int,
    have: int,
    nodegroup: NodeGroup,
    activities: Sequence[Activity],
    update: Update | None,
    ordered: datetime,
    now: datetime,
) -> Shortage | None:
    """Why fewer than `wanted` nodes are there; None while the order is young and nothing has failed."""
    missing = wanted - have
    if missing <= 0:
        return None
    lead = f"{have} of {wanted} nodes"
    launches = sorted(
        (activity for activity in activities if activity.launches and activity.started >= ordered),
        key=lambda activity: activity.started,
        reverse=True,
    )
    if sum(1 for launch in launches if not launch.failed and launch.ended is None) >= missing:
        return None
    failure = next((launch.message for launch in launches if launch.failed), None)
    if failure is None and update is not None and update.failed:
        failure = "; ".join(update.errors) or "that EKS gave up the update"
    if failure is not None:
        return _judge(lead, failure)
    if now - ordered < SILENCE:
        return None
    return _silent(lead, wanted, nodegroup, update, (now - ordered) // timedelta(minutes=1))


def _silent(lead: str, wanted: int, nodegroup: NodeGroup, update: Update | None, minutes: int) -> Shortage:
    if nodegroup.desired < wanted and (update is None or not update.in_progress):
        return Shortage("unknown", f"{lead}: EKS took the order back and stands at {nodegroup.desired}")
    if nodegroup.health:
        # Of several issues the one that names a cause tells more.
        known = ((issue, health_refusal(issue.code, issue.message)) for issue in nodegroup.health)
        issue, cause = next((pair for pair in known if pair[1]), (nodegroup.health[0], None))
        return _told(lead, issue.message or issue.code, cause)
    return Shortage("unknown", f"{lead}: no launch for {minutes} minutes and AWS gives no reason yet")


def _judge(lead: str, text: str) -> Shortage:
    return _told(lead, text, refusal(text))


def _told(lead: str, text: str, cause: str | None) -> Shortage:
    if cause is None:
        return Shortage("unknown", f"{lead}: AWS says {_short(text)}")
    zone, limit, kind = _ZONE.search(text), _LIMIT.search(text), _TYPE.search(text)
    said = _SENTENCES[cause].format(
        zone=f" in {zone[1] or zone[2]}" if zone else " in the pool's zone",
        limit=f" (limit {limit[1]})" if limit else "",
        type=kind[1] if kind else "such",
        quote=_short(text),
    )
    return Shortage(cause, f"{lead}: {said}")


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_QUOTE else plain[: _LONGEST_QUOTE - 1] + "…"
