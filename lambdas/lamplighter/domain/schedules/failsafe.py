"""The failsafe: schedules that bring a pool to zero through AWS alone, needing none of our code.

Owns when they fire and what they send, always to zero, so that they can never add a node; putting
them there and reading them back is the scheduler adapter's.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import NEAREST, Schedule

FailsafeSchedule = Schedule
"""One shot of the failsafe; it compares equal to what AWS has when it is armed as it should be."""
AFTER_END = timedelta(minutes=10)
EKS_TARGET = "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
AUTO_SCALING_TARGET = "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"
MINUTES = (10, 20, 30, 40)
_AUTO_SCALING_MINUTES = 30
# So short that between two shots there is time in which nothing is in the air, and a pool may open.
RETRIED = timedelta(minutes=5)
FIRES_WITHIN = timedelta(minutes=1)


def failsafe_instant(leases: Iterable[Lease], now: datetime) -> datetime | None:
    """When the first shot must fire: 10 minutes after the last end of the running leases; None without any.

    Running is every granted lease that has begun, until it is closed: past its end, and while it is
    being closed, its nodes may still be there.
    """
    ends = [
        lease.closes
        for lease in leases
        if lease.opens <= now and (lease.granted or lease.state is LeaseState.CLOSING)
    ]
    # Schedules know whole seconds.
    return max(ends).replace(microsecond=0) + AFTER_END if ends else None


def failsafe_schedules(
    pool: str, first: datetime, cluster: str, nodegroup: str, group: str
) -> tuple[Schedule, ...]:
    """The four shots: EKS at +10, +20 and +40 minutes after the end, the Auto Scaling group at +30."""
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


def in_the_air(at: datetime, now: datetime) -> bool:
    """Whether a shot fires in a moment, or may be tried still: moved so late it would come all the same."""
    return at - NEAREST <= now < at + FIRES_WITHIN + RETRIED


def shot_in_the_air(pool: str, first: datetime | None, now: datetime) -> tuple[str, datetime] | None:
    """Name and instant of the shot that is in the air, of a failsafe that begins at `first`."""
    if first is None:
        return None
    shots = (first + timedelta(minutes=minutes) - AFTER_END for minutes in MINUTES)
    return next(
        (shot for shot in zip(schedule_names(pool), shots, strict=True) if in_the_air(shot[1], now)), None
    )


def schedule_names(pool: str) -> tuple[str, ...]:
    """The names that the failsafe of a pool has in its schedule group."""
    return tuple(f"failsafe-{pool}-{minutes}" for minutes in MINUTES)
