"""EC2 instances and the Auto Scaling groups that start and end them, with AWS's behaviour and delays.

A group launches missing instances. Without capacity it is refused and tries again. It ends surplus instances through a
lifecycle hook. Listeners are called at every start and end of an instance.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.world.aws.event_queue import EventQueue

HOOK = "Terminate-LC-Hook"
ZONE = "ap-northeast-2a"
COUNTED = ("Pending", "InService")
#: Seconds, shortest and longest.
LAUNCH = (1.0, 8.0)
BOOT = (12.0, 40.0)
SHUT_DOWN = (15.0, 60.0)
JOIN = (30.0, 60.0)
GPUS_READY = (60.0, 120.0)
LEAVE_KUBERNETES = (3.0, 20.0)
NOTICED = 30.0
#: EKS drains a leaving node for at most this long; a node without work is drained at once.
EKS_DRAINS = 900.0
EMPTY_DRAIN = (5.0, 40.0)
TRY_AGAIN = (60.0, 300.0)
REMEMBERED = timedelta(hours=1)


@dataclass
class Machine:
    """One EC2 instance, with the node it becomes in Kubernetes."""

    id: str
    pool: str
    launched: datetime
    group: str
    state: str = "pending"
    running: datetime | None = None
    shutting_down: datetime | None = None
    ended: datetime | None = None
    joins_after: float = 45.0
    gpus_after: float = 90.0
    leaves_after: float = 10.0
    stray: bool = False
    """Somebody started it outside of any group."""
    working: bool = False
    """Somebody's pod runs on it. Such a node is ended only after its people were asked to leave."""
    cordoned: bool = False
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    """The labels that our code put on its node."""

    @property
    def exists(self) -> bool:
        return self.ended is None

    @property
    def alive(self) -> bool:
        return self.shutting_down is None

    @property
    def node(self) -> str:
        return f"ip-{self.id.removeprefix('i-')}.{ZONE[:-1]}.compute.internal"


@dataclass
class Activity:
    id: str
    description: str
    started: datetime
    status: str = "InProgress"
    message: str = ""
    ended: datetime | None = None

    def document(self) -> dict[str, object]:
        found: dict[str, object] = {
            "ActivityId": self.id,
            "StatusCode": self.status,
            "Description": self.description,
            "StartTime": self.started,
        }
        if self.message:
            found["StatusMessage"] = self.message
        if self.ended:
            found["EndTime"] = self.ended
        return found


@dataclass
class Member:
    machine: Machine
    state: str = "Pending"
    activity: Activity | None = None
    waits: int = 0


@dataclass
class Group:
    """The Auto Scaling group behind one pool's node group."""

    name: str
    pool: str
    minimum: int
    maximum: int
    desired: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    activities: list[Activity] = field(default_factory=list)
    resized: datetime | None = None
    failures: int = 0

    def counted(self) -> list[Member]:
        return [member for member in self.members.values() if member.state in COUNTED]


@dataclass
class Troubles:
    """The present failures of the outside. A history switches them on and off."""

    capacity: int | None = None
    """At most this many machines are available; None: no limit."""
    immortal: bool = False
    """Instances do not end although they were ordered to."""
    events_lost: bool = False


class Machines:
    """All groups and instances of the world."""

    def __init__(self, event_queue: EventQueue, chance: random.Random) -> None:
        self.event_queue, self.chance = event_queue, chance
        self.groups: dict[str, Group] = {}
        self.machines: dict[str, Machine] = {}
        self.troubles = Troubles()
        self.changed: list[Callable[[Machine], None]] = []
        self.event: Callable[[str, str], None] = lambda _kind, _group: None
        self.refused: Callable[[Group, str], None] = lambda _group, _message: None
        self.launched: Callable[[Group], None] = lambda _group: None
        self.retired: Callable[[Group, Machine], None] = lambda _group, _machine: None
        self._number = 0

    def of_pool(self, pool: str) -> list[Machine]:
        """The machines of a pool that exist, in or out of its group."""
        return [machine for machine in self.machines.values() if machine.pool == pool and machine.exists]

    def resize(self, group: Group, minimum: int, maximum: int, desired: int) -> None:
        """Sets new bounds; the group starts or ends machines for them at once."""
        group.minimum, group.maximum, group.desired = minimum, maximum, desired
        group.resized = self.event_queue.now
        group.failures = 0
        self.replenish(group)

    def replenish(self, group: Group) -> None:
        """After a moment the group notices missing or surplus machines."""
        self.event_queue.after(self.chance.uniform(*LAUNCH), lambda: self.reconcile(group))

    def reconcile(self, group: Group) -> None:
        """Brings the group to its desired capacity."""
        counted = group.counted()
        surplus = len(counted) - group.desired
        for member in sorted(counted, key=lambda each: each.machine.launched)[: max(0, surplus)]:
            self.retire(group, member)
        for _ in range(-surplus):
            if not self._launch(group):
                break

    def retire(self, group: Group, member: Member) -> None:
        """Takes a member out, through the lifecycle hook."""
        self.retired(group, member.machine)
        member.activity = self._activity(group, f"Terminating EC2 instance: {member.machine.id}")
        member.state, member.waits = "Terminating:Wait", member.waits + 1
        waits = member.waits
        drains = EKS_DRAINS if member.machine.working else self.chance.uniform(*EMPTY_DRAIN)
        self.event_queue.after(drains, lambda: self.proceed(member, waits))
        self.event("EC2 Instance-terminate Lifecycle Action", group.name)

    def proceed(self, member: Member, waits: int | None = None) -> bool:
        """Ends the wait of the hook; False if nothing waits."""
        if member.state != "Terminating:Wait" or (waits is not None and waits != member.waits):
            return False
        member.state = "Terminating:Proceed"
        self.shut_down(member.machine)
        if member.machine.ended is not None:
            # EC2 had taken it back before the group could end it.
            self._removed(self.groups[member.machine.group], member)
        return True

    def shut_down(self, machine: Machine) -> None:
        """Orders EC2 to end it."""
        if machine.shutting_down is not None:
            return
        if self.troubles.immortal:
            # EC2 accepts the order and does nothing. The order is repeated until the failure is over.
            self.event_queue.after(60.0, lambda: self.shut_down(machine))
            return
        machine.state, machine.shutting_down = "shutting-down", self.event_queue.now
        self._tell(machine)
        self.event_queue.after(self.chance.uniform(*SHUT_DOWN), lambda: self._end(machine))
        group = self.groups[machine.group]
        member = group.members.get(machine.id)
        if member is not None and member.state in COUNTED:
            self.event_queue.after(NOTICED, lambda: self._lost(group, member))

    def _lost(self, group: Group, member: Member) -> None:
        if member.state in COUNTED:
            member.state = "Terminating"
            member.activity = self._activity(group, f"Terminating EC2 instance: {member.machine.id}")
            if member.machine.ended is not None:
                self._removed(group, member)
            self.reconcile(group)

    def stray(self, pool: str, group: str) -> Machine:
        """Somebody starts a machine by hand with a pool's tags, outside its group."""
        machine = self._machine(pool, group)
        machine.group, machine.stray = group, True
        self._tell(machine)
        return machine

    def _launch(self, group: Group) -> bool:
        if self.troubles.capacity is not None:
            alive = sum(1 for machine in self.machines.values() if machine.alive)
            if alive >= self.troubles.capacity:
                self._refuse(group)
                return False
        machine = self._machine(group.pool, group.name)
        activity = self._activity(group, f"Launching a new EC2 instance: {machine.id}")
        group.members[machine.id] = Member(machine, activity=activity)
        return True

    def _machine(self, pool: str, group: str) -> Machine:
        self._number += 1
        uniform = self.chance.uniform
        machine = Machine(
            id=f"i-{self._number:017x}",
            pool=pool,
            launched=self.event_queue.now.replace(microsecond=0),
            group=group,
            joins_after=uniform(*JOIN),
            gpus_after=uniform(*GPUS_READY),
            leaves_after=uniform(*LEAVE_KUBERNETES),
        )
        self.machines[machine.id] = machine
        self._tell(machine)
        self.event_queue.after(uniform(*BOOT), lambda: self._runs(machine))
        return machine

    def _runs(self, machine: Machine) -> None:
        if machine.state != "pending":
            return
        machine.state, machine.running = "running", self.event_queue.now
        self._tell(machine)
        group = self.groups[machine.group]
        member = group.members.get(machine.id)
        if member is None:
            return
        if member.state == "Pending":
            member.state = "InService"
            self._finish(member, "Successful")
            group.failures = 0
            self.launched(group)
        self.event("EC2 Instance Launch Successful", group.name)

    def _end(self, machine: Machine) -> None:
        machine.state, machine.ended = "terminated", self.event_queue.now
        self._tell(machine)
        self.event_queue.at(
            self.event_queue.now + REMEMBERED + timedelta(minutes=5), lambda: self._forget(machine.id)
        )
        group = self.groups[machine.group]
        member = group.members.get(machine.id)
        if member is not None and member.state not in COUNTED:
            self._removed(group, member)

    def _forget(self, machine: str) -> None:
        del self.machines[machine]

    def _removed(self, group: Group, member: Member) -> None:
        if group.members.pop(member.machine.id, None) is not None:
            self._finish(member, "Successful")
            self.event("EC2 Instance Terminate Successful", group.name)

    def _refuse(self, group: Group) -> None:
        message = (
            "We currently do not have sufficient g4dn.xlarge capacity in the Availability Zone you requested "
            f"({ZONE}). Launching EC2 instance failed."
        )
        activity = self._activity(group, f"Launching a new EC2 instance.  Status Reason: {message}")
        activity.status, activity.message, activity.ended = "Failed", message, self.event_queue.now
        group.failures += 1
        first, most = TRY_AGAIN
        self.event_queue.after(min(first * 2 ** (group.failures - 1), most), lambda: self.reconcile(group))
        self.refused(group, message)
        self.event("EC2 Instance Launch Unsuccessful", group.name)

    def _activity(self, group: Group, description: str) -> Activity:
        self._number += 1
        activity = Activity(f"activity-{self._number}", description, self.event_queue.now)
        group.activities.insert(0, activity)
        return activity

    def _finish(self, member: Member, status: str) -> None:
        if member.activity is not None:
            member.activity.status, member.activity.ended = status, self.event_queue.now

    def _tell(self, machine: Machine) -> None:
        for listener in self.changed:
            listener(machine)
