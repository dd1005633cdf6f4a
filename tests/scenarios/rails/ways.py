"""The ways to zero of a lab: all but one are taken away, and EC2 tells when a pool is at zero."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from lamplighter.domain.capacity.kinds import curfew_rails, identity, kind_of
from lamplighter.domain.leases.curfew import KEPT_FREE
from lamplighter.domain.leases.curfew import schedule_names as curfew_names
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.failsafe import schedule_names as failsafe_names
from lamplighter.values.role_name import role_name
from local.demo.observations import LIVE
from tests.scenarios.lab_day import LabDay

Day = TypeVar("Day", bound=LabDay)
#: How often EC2 is asked what is left.
EVERY = timedelta(seconds=10)
#: A sweep, its close, and what is left of runs whose functions died.
SETTLES = timedelta(hours=2)


@contextmanager
def functions_dead(day: LabDay, *, but: Collection[str] = ()) -> Iterator[None]:
    """Every function of the lab dies before it does anything, except those named."""
    prefix = f"{day.lab.name}-"
    listed = day.api("lambda").get_paginator("list_functions").paginate()
    names = [one["FunctionName"] for page in listed for one in page["Functions"]]
    dead = [name for name in names if name.startswith(prefix) and name.removeprefix(prefix) not in but]
    assert dead
    for name in dead:
        day.cloud.faults.die(name)
    try:
        yield
    finally:
        for name in dead:
            day.cloud.faults.revive(name)


@contextmanager
def functions_live(day: LabDay, *, but: str) -> Iterator[None]:
    """One function dies before it does anything."""
    name = f"{day.lab.name}-{but}"
    day.cloud.faults.die(name)
    try:
        yield
    finally:
        day.cloud.faults.revive(name)


def schedules_powerless(day: LabDay) -> AbstractContextManager[None]:
    """The role of the failsafe's and the curfew's schedules may do nothing: they fire in vain."""
    return denied_to(day, "failsafe", "*")


@contextmanager
def denied_to(day: LabDay, name: str, action: str) -> Iterator[None]:
    """A role of the lab may not do this."""
    iam, role = day.api("iam"), role_name(day.lab.name, day.lab.region, name)
    denied = {"Effect": "Deny", "Action": action, "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [denied]})
    iam.put_role_policy(RoleName=role, PolicyName="powerless", PolicyDocument=document)
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=role, PolicyName="powerless")


def keep_failsafe(day: LabDay, *minutes: int) -> None:
    """Of the failsafe's schedules of the pool only those so long after the end are left."""
    kept = {f"failsafe-{day.pool.name}-{each}" for each in minutes}
    names = set(failsafe_names(day.pool.name))
    assert kept <= names
    for name in names - kept:
        day.api("scheduler").delete_schedule(GroupName=day.pool.schedule_group, Name=name)


@contextmanager
def curfew_by(day: LabDay, rail: str | None) -> Iterator[None]:
    """Of the curfew's two schedules of the pool only that of a rail is on."""
    rails, scheduler = curfew_rails(kind_of(day.lab, day.pool.name)), day.api("scheduler")
    assert rail in {*rails, None}
    kept = ("GroupName", "Name", "ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow")
    off = [
        scheduler.get_schedule(GroupName=day.pool.schedule_group, Name=name)
        for name, its in zip(curfew_names(day.pool.name, rails), rails, strict=True)
        if its != rail
    ]
    changed = [{key: one[key] for key in (*kept, "Target")} for one in off]
    for one in changed:
        scheduler.update_schedule(**one, State="DISABLED")
    try:
        yield
    finally:
        for one in changed:
            scheduler.update_schedule(**one, State="ENABLED")


def instances(day: LabDay) -> set[str]:
    """The pool's instances that EC2 still has, by AWS's own tags."""
    tags = identity(day.lab, day.pool.name).tags
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
    states = {"Name": "instance-state-name", "Values": [*LIVE, "stopped"]}
    # EC2 hides the instances of Auto Mode from a list that does not ask for them.
    pages = (
        day.api("ec2")
        .get_paginator("describe_instances")
        .paginate(Filters=[*filters, states], IncludeManagedResources=True)
    )
    return {one["InstanceId"] for page in pages for each in page["Reservations"] for one in each["Instances"]}


def opened(days: Sequence[Day], length: str) -> Mapping[Day, Lease]:
    """A lease of one node with proven GPUs in each pool."""
    asked = {day: day.open(1, length) for day in days}
    leases = {day: day.until_state(lease.id, LeaseState.OPEN) for day, lease in asked.items()}
    assert [len(instances(day)) for day in days] == [1] * len(days)
    return leases


def ended(leases: Mapping[Day, Lease], within: timedelta) -> dict[str, float]:
    """Waits until EC2 has none of the pools' instances. By pool, the minutes from the end of its lease.

    Until that end each pool has its node.
    """
    clock = next(iter(leases)).clock
    running = {day: instances(day) for day in leases}
    end = min(lease.closes for lease in leases.values())
    clock.sleep_until((end - EVERY).timestamp())
    assert {day: instances(day) for day in leases} == running
    last = max(lease.closes for lease in leases.values()) + within
    zero: dict[str, float] = {}
    while left := [day for day in leases if day.pool.name not in zero]:
        for day in left:
            if not instances(day):
                zero[day.pool.name] = (day.now - leases[day].closes) / timedelta(minutes=1)
        assert clock.now() < last, "\n".join(day.story(day.look()) for day in left)
        clock.sleep(EVERY.total_seconds())
    return zero


def until(day: LabDay, what: str, holds: Callable[[], bool], within: timedelta) -> None:
    """Waits until something holds, which may soon be over: LabDay.until looks seldom while no workflow runs."""
    deadline = day.now + within
    while not holds():
        assert day.now < deadline, f"{what}: not within {within}\n{day.story(day.look())}"
        day.clock.sleep(EVERY.total_seconds())


def settled(leases: Mapping[Day, Lease]) -> None:
    """Everything is there again: the leases close, no node is left, and no workflow runs."""
    for day, lease in leases.items():
        day.until_state(lease.id, LeaseState.CLOSED, within=SETTLES)
        day.until_quiet(SETTLES)


def after_curfew(day: LabDay, curfew: datetime) -> None:
    """Until then no lease may open."""
    day.pass_until(curfew + KEPT_FREE)
