"""Auto Scaling groups over the world's machines, with AWS's behaviour and delays.

A group launches missing instances. Without capacity it is refused and tries again. It ends surplus instances through a
lifecycle hook.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from tests.world.aws.machines import NOTICED, Machine, Machines

HOOK = "Terminate-LC-Hook"
COUNTED = ("Pending", "InService")
#: Seconds, shortest and longest.
LAUNCH = (1.0, 8.0)
#: EKS drains a leaving node for at most this long; a node without work is drained at once.
EKS_DRAINS = 900.0
EMPTY_DRAIN = (5.0, 40.0)
TRY_AGAIN = (60.0, 300.0)


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
    tags: dict[str, str] = field(default_factory=dict)
    """The tags that its instances have from their start."""
    members: dict[str, Member] = field(default_factory=dict)
    activities: list[Activity] = field(default_factory=list)
    resized: datetime | None = None
    failures: int = 0

    def counted(self) -> list[Member]:
        return [member for member in self.members.values() if member.state in COUNTED]


class Groups:
    """All groups of the world: the controller of its machines."""

    def __init__(self, machines: Machines) -> None:
        self.event_queue, self.chance = machines.event_queue, machines.chance
        self.machines = machines
        machines.controller = self
        self.groups: dict[str, Group] = {}
        self.event: Callable[[str, str], None] = lambda _kind, _group: None
        self.refused: Callable[[Group, str], None] = lambda _group, _message: None
        self.launched: Callable[[Group], None] = lambda _group: None
        self.retired: Callable[[Group, Machine], None] = lambda _group, _machine: None

    def resize(self, group: Group, minimum: int, maximum: int, desired: int) -> None:
        """Sets new bounds; the group starts or ends machines for them at once."""
        group.minimum, group.maximum, group.desired = minimum, maximum, desired
        group.resized = self.event_queue.now
        group.failures = 0
        self.replenish(group)

    def replenish(self, group: Group) -> None:
        self.event_queue.after(self.chance.uniform(*LAUNCH), lambda: self.reconcile(group))

    def reconcile(self, group: Group) -> None:
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
        self.machines.shut_down(member.machine)
        if member.machine.ended is not None:
            # EC2 had taken it back before the group could end it.
            self._removed(self.groups[member.machine.group], member)
        return True

    def runs(self, machine: Machine) -> None:
        """A launched instance is in service now."""
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

    def shuts_down(self, machine: Machine) -> None:
        """An instance that was ended past its group is noticed after a while."""
        group = self.groups[machine.group]
        member = group.members.get(machine.id)
        if member is not None and member.state in COUNTED:
            self.event_queue.after(NOTICED, lambda: self._lost(group, member))

    def ended(self, machine: Machine) -> None:
        group = self.groups[machine.group]
        member = group.members.get(machine.id)
        if member is not None and member.state not in COUNTED:
            self._removed(group, member)

    def _lost(self, group: Group, member: Member) -> None:
        if member.state in COUNTED:
            member.state = "Terminating"
            member.activity = self._activity(group, f"Terminating EC2 instance: {member.machine.id}")
            if member.machine.ended is not None:
                self._removed(group, member)
            self.reconcile(group)

    def _launch(self, group: Group) -> bool:
        if not self.machines.available(group.pool):
            self._refuse(group)
            return False
        machine = self.machines.start(group.pool, group.name)
        # AWS's own tag: an instance that somebody starts with a pool's tags does not have it.
        machine.tags = {**group.tags, "aws:autoscaling:groupName": group.name}
        activity = self._activity(group, f"Launching a new EC2 instance: {machine.id}")
        group.members[machine.id] = Member(machine, activity=activity)
        return True

    def _removed(self, group: Group, member: Member) -> None:
        if group.members.pop(member.machine.id, None) is not None:
            self._finish(member, "Successful")
            self.event("EC2 Instance Terminate Successful", group.name)

    def _refuse(self, group: Group) -> None:
        refusal = self.machines.troubles.refusal
        activity = self._activity(group, f"Launching a new EC2 instance.  Status Reason: {refusal}")
        activity.status, activity.message, activity.ended = "Failed", refusal, self.event_queue.now
        group.failures += 1
        first, most = TRY_AGAIN
        self.event_queue.after(min(first * 2 ** (group.failures - 1), most), lambda: self.reconcile(group))
        self.refused(group, refusal)
        self.event("EC2 Instance Launch Unsuccessful", group.name)

    def _activity(self, group: Group, description: str) -> Activity:
        activity = Activity(f"activity-{self.machines.number()}", description, self.event_queue.now)
        group.activities.insert(0, activity)
        return activity

    def _finish(self, member: Member, status: str) -> None:
        if member.activity is not None:
            member.activity.status, member.activity.ended = status, self.event_queue.now
