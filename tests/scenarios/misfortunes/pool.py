"""A pool of the day: what its story may do to it, as people can, and what it may see.

Actions on AWS use a person's key. A wait is a value that the story yields; day.py keeps it. The next step of a workflow
may come minutes after the one that was seen, so a story waits for the very fact that it asserts.
"""

import json
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.demo import laws
from local.demo.observations import Sample

if TYPE_CHECKING:
    from tests.scenarios.misfortunes.day import Day

FAILSAFE_AFTER = timedelta(minutes=10)
GOOD_FOR = timedelta(minutes=15)


@dataclass(frozen=True)
class Until:
    """What a story waits for: `holds` is checked after each sample."""

    what: str
    holds: Callable[[], object]
    within: timedelta = timedelta(hours=1)


#: A part of a story that returns a value; a whole story returns nothing.
Story = Generator[Until, None, None]


class Pool:
    """`samples` are all samples of it so far."""

    def __init__(self, day: "Day", name: str, group: str) -> None:
        self.day = day
        self.name = name
        self.group = group
        self.samples: list[Sample] = []

    # what is there

    @property
    def now(self) -> datetime:
        return self.day.now

    @property
    def seen(self) -> Sample:
        return self.samples[-1]

    def since(self, instant: datetime) -> list[Sample]:
        return [sample for sample in self.samples if sample.at >= instant]

    def lease(self, name: str) -> Lease:
        found = self.day.ledger.lease(self.name, name)
        assert found is not None, f"the ledger has no lease {name}"
        return found

    def entries(self, since: datetime, kind: str | None = None) -> list[Entry]:
        found = self.day.ledger.audit(self.name, since)
        return [entry for entry in found if kind is None or entry.kind == kind]

    def receipt(self, lease: str) -> Mapping[str, Any]:
        """The receipt of a lease; there must be exactly one."""
        found = self._receipts(lease)
        assert len(found) == 1, f"{len(found)} receipts of {lease}"
        return found[0]

    def ran(self, instance: str) -> timedelta:
        """How long an instance has cost money, by EC2: from its launch until it was ordered to end."""
        found = self.day.api("ec2").describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"]
        told = str(found[0]["StateTransitionReason"]).partition("(")[2].removesuffix(")")
        ended = datetime.strptime(told, "%Y-%m-%d %H:%M:%S GMT").replace(tzinfo=UTC)
        launched: datetime = found[0]["LaunchTime"]
        return ended - launched

    @property
    def leaked(self) -> bool:
        return self.day.ledger.pool(self.name).leaked_since is not None

    def sizes(self) -> tuple[int, int]:
        """Minimum and desired of the Auto Scaling group."""
        group = self.day.api("autoscaling").describe_auto_scaling_groups(
            AutoScalingGroupNames=[self._behind()]
        )
        found = group["AutoScalingGroups"][0]
        return found["MinSize"], found["DesiredCapacity"]

    def updating(self) -> bool:
        """Whether EKS is updating the node group."""
        eks, about = (
            self.day.api("eks"),
            {"name": self.day.cloud.lab.cluster_name, "nodegroupName": self.group},
        )
        found = (
            eks.describe_update(**about, updateId=each) for each in eks.list_updates(**about)["updateIds"]
        )
        return any(each["update"]["status"] == "InProgress" for each in found)

    def story(self) -> str:
        """Details for a failed test."""
        seen = self.seen
        there = f"instances {seen.instances}, desired {seen.desired}, nodes {seen.kubernetes_nodes}"
        lines = [f"{seen.at:%H:%M:%S} pool {self.name}: {there}, failsafe {seen.failsafe}"]
        lines += [f"  lease {lease.id} {lease.state} until {lease.closes:%H:%M}" for lease in seen.leases]
        trail = self.entries(seen.at - timedelta(hours=3))[-60:]
        lines += [f"  {entry.at:%H:%M:%S} {entry.kind} {entry.what}: {entry.why}" for entry in trail]
        return "\n".join(lines)

    # what people do

    def command(self, verb: Verb, **said: Any) -> Command:
        """A command of alice, as the command line makes it."""
        about: dict[str, Any] = {"owner": "alice", "by": "alice", "source": "cli"}
        about |= {"issued": self.now, "expires": self.now + GOOD_FOR, **said}
        return Command(id=f"test-{verb}-{uuid.uuid4().hex[:12]}", verb=verb, pool=self.name, **about)

    def give(self, command: Command, name: str | None = None) -> str:
        """Delivers a command to its workflow, under a name of its own if it must arrive twice."""
        region = self.day.cloud.lab.region
        workflow = (
            f"arn:aws:states:{region}:123456789012:stateMachine:{self.day.cloud.lab.name}-{command.verb}"
        )
        started = self.day.api("stepfunctions").start_execution(
            stateMachineArn=workflow,
            name=name or command.id,
            input=json.dumps({"command": command.to_json()}),
        )
        return str(started["executionArn"])

    def runs(self, execution: str) -> bool:
        """Whether a workflow's execution is still running."""
        workflows = self.day.api("stepfunctions")
        try:
            found = workflows.describe_execution(executionArn=execution)
        except workflows.exceptions.ExecutionDoesNotExist:
            return True  # it has just begun
        return bool(found["status"] == "RUNNING")

    def decision(self, command: Command) -> Decision | None:
        return self.day.ledger.command(self.name, command.id)

    def open(self, nodes: int, minutes: int, **said: Any) -> Generator[Until, None, Lease]:
        said = {"nodes": nodes, "lasting": timedelta(minutes=minutes), **said}
        command = self.command(Verb.OPEN, **said)
        self.give(command)
        yield self.until("the command is decided", lambda: self.decision(command), minutes=10)
        decision = self.decision(command)
        assert decision is not None
        assert decision.outcome == "granted", decision
        return self.lease(str(decision.lease))

    def close(self, lease: Lease) -> None:
        self.give(self.command(Verb.CLOSE, lease=lease.id))

    def by_hand(self, **sizes: int) -> Generator[Until, None, None]:
        """Somebody sets minSize, maxSize or desiredSize at EKS, as soon as EKS accepts it."""
        eks = self.day.api("eks")

        def taken() -> bool:
            try:
                eks.update_nodegroup_config(
                    clusterName=self.day.cloud.lab.cluster_name, nodegroupName=self.group, scalingConfig=sizes
                )
            except eks.exceptions.ResourceInUseException:
                return False
            return True

        if not taken():
            yield self.until("EKS takes an order by hand", taken, minutes=20)

    def behind(self, **sizes: int) -> None:
        """Somebody sets MinSize or DesiredCapacity of the Auto Scaling group itself."""
        self.day.api("autoscaling").update_auto_scaling_group(AutoScalingGroupName=self._behind(), **sizes)

    # time

    def until(self, what: str, holds: Callable[[], object], minutes: float = 60) -> Until:
        return Until(what, holds, timedelta(minutes=minutes))

    def state(self, lease: Lease, *states: LeaseState, minutes: float = 60) -> Until:
        names = " or ".join(states)
        return self.until(f"{lease.id} is {names}", lambda: self.lease(lease.id).state in states, minutes)

    def opened(self, lease: Lease, minutes: float = 30) -> Until:
        """Waits until it is open and this notice was sent: by then the proof is written."""

        def said() -> bool:
            found = self.lease(lease.id)
            if found.state is not LeaseState.OPEN or found.ready is None:
                return False
            # A degraded opening, or a replacement, was announced before.
            return any(entry.lease == lease.id for entry in self.entries(found.ready, "announced"))

        return self.until(f"{lease.id} is open and said to be", said, minutes)

    def closed(self, lease: Lease, minutes: float = 90) -> Until:
        """Waits until it is closed and its receipt is written, which is the workflow's last step."""

        def settled() -> bool:
            return self.lease(lease.id).state is LeaseState.CLOSED and bool(self._receipts(lease.id))

        return self.until(f"{lease.id} is closed and has its receipt", settled, minutes)

    def zero(self, minutes: float = 60) -> Until:
        """Waits until nothing exists, nothing is ordered and nothing is armed any more."""

        def nothing() -> bool:
            seen = self.seen
            return not (seen.instances or seen.desired or seen.kubernetes_nodes or seen.failsafe)

        return self.until("the pool is at zero and disarmed", nothing, minutes)

    def another_look(self) -> Until:
        """Waits until the next sample, which sees the present state."""
        now = self.now
        return Until("another look", lambda: self.seen.at > now)

    def reached(self, instant: datetime) -> Until:
        """Until it is so late."""
        return Until(f"it is {instant:%H:%M}", lambda: self.now >= instant, timedelta(days=1))

    # judging

    def verdicts(self, *only: int) -> None:
        """These laws held, by all samples of the pool."""
        from tests.scenarios.misfortunes.day import interval  # noqa: PLC0415 -- it imports this module

        begun = self.samples[0].at
        judged = laws.judge(
            laws.Day(
                samples=self.samples,
                interval=interval(self.samples),
                entries=self.entries(begun),
                receipts=self.day.ledger.receipts(self.name),
                budget=self.day.cloud.lab.guard.budget.amount,
            )
        )
        unleased = any(sample.instances and not sample.justified() for sample in self.samples)
        for verdict in judged:
            # A node that disappeared between two samples at the end of its lease is no unanswered breach.
            if verdict.law in only and (verdict.law != 1 or unleased):
                assert verdict.held, f"law {verdict.law}: {verdict.evidence}\n{self.story()}"

    def failsafe_stood(self) -> None:
        """No two samples in a row had ordered nodes without the failsafe ten minutes after the last end."""
        wrong = [sample for sample in self.samples if not _guarded(sample)]
        twice = [after for before, after in pairwise(self.samples) if before in wrong and after in wrong]
        assert not twice, f"law 2: {twice[0]}\n{self.story()}"

    def no_node_after(self, instant: datetime) -> None:
        late = [sample for sample in self.samples if sample.at >= instant and sample.instances]
        assert not late, (
            f"{late[0].instances} at {late[0].at:%H:%M:%S}, after {instant:%H:%M:%S}\n{self.story()}"
        )

    def within_budget(self) -> None:
        """Held plus spent of the whole lab never passed the budget."""
        budget = self.day.cloud.lab.guard.budget.amount
        assert max(float(sample.committed) for sample in self.samples) <= float(budget)

    def _receipts(self, lease: str) -> list[dict[str, Any]]:
        return [receipt for receipt in self.day.ledger.receipts(self.name) if receipt["lease"] == lease]

    def _behind(self) -> str:
        found = self.day.api("eks").describe_nodegroup(
            clusterName=self.day.cloud.lab.cluster_name, nodegroupName=self.group
        )
        return str(found["nodegroup"]["resources"]["autoScalingGroups"][0]["name"])


def _guarded(sample: Sample) -> bool:
    if not (sample.justified() and sample.desired):
        return True
    last = max(lease.closes for lease in sample.leases if lease.in_force(sample.at))
    return bool(sample.failsafe) and min(sample.failsafe) == last + FAILSAFE_AFTER
