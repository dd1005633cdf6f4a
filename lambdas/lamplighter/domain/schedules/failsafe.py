"""The failsafe: schedules that bring a pool to zero by AWS alone, without our code.

This file says when they run and what they send: always size zero, so that they never add a node. The scheduler adapter
creates them and reads them back.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import NEAREST, Schedule

AFTER_END = timedelta(minutes=10)
EKS_TARGET = "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
AUTO_SCALING_TARGET = "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"
MINUTES = (10, 20, 30, 40)
_AUTO_SCALING_MINUTES = 30
RETRIED = timedelta(minutes=5)
"""So short that between two schedules there is time in which none may run, and a pool may open."""
FIRES_WITHIN = timedelta(minutes=1)


def failsafe_instant(leases: Iterable[Lease], now: datetime) -> datetime | None:
    """When the first schedule must run: 10 minutes after the last end of the running leases; None without any.

    Every granted lease that has begun is running until it is closed: its nodes may run past its end, and until
    CloseLab has finished.
    """
    ends = [
        lease.closes
        for lease in leases
        if lease.opens <= now and (lease.granted or lease.state is LeaseState.CLOSING)
    ]
    # Scheduler knows whole seconds only.
    return max(ends).replace(microsecond=0) + AFTER_END if ends else None


def failsafe_schedules(
    pool: str, first: datetime, cluster: str, nodegroup: str, group: str
) -> tuple[Schedule, ...]:
    """The four schedules: EKS at +10, +20 and +40 minutes after the end, the Auto Scaling group at +30."""
    to_zero_by_eks = json.dumps(
        {
            "ClusterName": cluster,
            "NodegroupName": nodegroup,
            "ScalingConfig": {"MinSize": 0, "DesiredSize": 0},
        }
    )
    to_zero_by_group = json.dumps({"AutoScalingGroupName": group, "MinSize": 0, "DesiredCapacity": 0})
    return tuple(
        Schedule(
            name=name,
            at=first + timedelta(minutes=minutes) - AFTER_END,
            target=AUTO_SCALING_TARGET if minutes == _AUTO_SCALING_MINUTES else EKS_TARGET,
            input=to_zero_by_group if minutes == _AUTO_SCALING_MINUTES else to_zero_by_eks,
            retried=RETRIED,
        )
        for name, minutes in zip(schedule_names(pool), MINUTES, strict=True)
    )


def may_still_run(at: datetime, now: datetime) -> bool:
    """Whether a schedule is about to run, or Scheduler may still retry it: moving it now would come too late."""
    return at - NEAREST <= now < at + FIRES_WITHIN + RETRIED


def schedule_under_way(pool: str, first: datetime | None, now: datetime) -> tuple[str, datetime] | None:
    """Name and instant of the schedule that may run at this moment, of a failsafe that begins at `first`."""
    if first is None:
        return None
    instants = (first + timedelta(minutes=minutes) - AFTER_END for minutes in MINUTES)
    named = zip(schedule_names(pool), instants, strict=True)
    return next(((name, at) for name, at in named if may_still_run(at, now)), None)


def schedule_names(pool: str) -> tuple[str, ...]:
    """The names that the failsafe of a pool has in its schedule group."""
    return tuple(f"failsafe-{pool}-{minutes}" for minutes in MINUTES)
