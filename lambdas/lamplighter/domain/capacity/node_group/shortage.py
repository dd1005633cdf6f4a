"""Why fewer nodes come than were ordered: a cause and a reason, within three minutes of the order.

Auto Scaling's activities since the order count first. EKS keeps an issue of the node group's health until a launch
succeeds, so that counts only after three minutes. The workflow keeps trying in any case.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.launch_cause import LaunchAttempt, LaunchCause, refusals
from lamplighter.domain.capacity.node_group.evidence import NodeGroupUpdate, ScalingActivity
from lamplighter.domain.capacity.shortage import Shortage, as_aws_says, short_of, short_of_refusal
from lamplighter.reasons.reason import Reason, reason

SILENCE = timedelta(minutes=3)


def explain(
    *,
    wanted: int,
    have: int,
    desired: int,
    health: Sequence[HealthIssue],
    activities: Sequence[ScalingActivity],
    update: NodeGroupUpdate | None,
    ordered: datetime,
    now: datetime,
) -> Shortage | None:
    """Why fewer than `wanted` nodes are there; None while the order is young and nothing has failed.

    `desired` and `health` are those that EKS knows.
    """
    missing = wanted - have
    if missing <= 0:
        return None
    launches = sorted(
        (activity for activity in activities if activity.launches and activity.started >= ordered),
        key=lambda activity: activity.started,
        reverse=True,
    )
    # The group lists an instance from its launch on, so `have` counts it while the activity goes on.
    pending = [launch for launch in launches if launch.ended is None and not launch.has_instance]
    if sum(1 for launch in pending if not launch.failed) >= missing:
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
        if desired < wanted and (update is None or not update.in_progress):
            taken_back = reason("pool.short.taken-back", desired=desired)
            return short_of(LaunchCause.UNKNOWN, have, wanted, taken_back)
    named = refusals(failed, health if silent else ())
    if named:
        return short_of_refusal(named[0], have, wanted)
    why = _of_unknown(failed, health, now - ordered, gave_up=gave_up)
    return short_of(LaunchCause.UNKNOWN, have, wanted, why)


def _of_unknown(
    failed: Sequence[LaunchAttempt], health: Sequence[HealthIssue], waited: timedelta, *, gave_up: bool
) -> Reason:
    """What AWS says where no rule knows the cause."""
    if failed:
        return as_aws_says(failed[0].text)
    if gave_up:
        return reason("pool.short.update-gave-up")
    if health:
        return as_aws_says(health[0].message or health[0].code)
    return reason("pool.short.silent", minutes=waited // timedelta(minutes=1))
