"""Each way to zero of node groups and of EKS Auto Mode, alone; those of Karpenter are in test_karpenter_rails.py.

Three pools end at the same time, each by another rail. AWS lets nobody end the instances of Auto Mode, so there is no
rail through EC2, and its lock ends nothing.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from local.cloud import COMPLETE
from tests.scenarios.auto_mode.auto_mode_day import AutoModeDay
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay
from tests.scenarios.rails import ways
from tests.scenarios.rails.figures import Record, held

pytestmark = pytest.mark.long

AUTO_MODE = """
name: demo
time_zone: UTC
cluster: {auto_mode: {enabled: true, switch_off: true}}
gpu_operator: {enabled: false}
guard: {longest_lease: 1h, curfew: "12:40", budget: {amount: "500"}}
pools:
  gpu: {kind: auto-mode, instance_type: g5.8xlarge, efa: true, max_nodes: 2, drain: 1m}
"""
#: A failsafe may switch Auto Mode off only where nothing else has nodes.
BOTH = f"""{AUTO_MODE.replace(", switch_off: true", "").rstrip()}
  groups: {{ami_type: BOTTLEROCKET_x86_64_NVIDIA}}
  past: {{ami_type: BOTTLEROCKET_x86_64_NVIDIA}}
"""
CURFEW = NOON + timedelta(minutes=40)
BAR = "/api/v1/namespaces/lamplighter/configmaps/demo-gpu"
#: After an end: until a rail has ended everything, or has failed.
WITHIN = timedelta(minutes=55)


@dataclass
class Pools:
    """The lab's pools: one of Auto Mode, and node groups of which one ends through EKS and one past it."""

    gpu: AutoModeDay
    groups: LabDay
    past: LabDay

    @property
    def all(self) -> tuple[LabDay, ...]:
        return self.gpu, self.groups, self.past


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pools]:
    with deployed_lab(tmp_path_factory, BOTH) as cloud:
        yield Pools(AutoModeDay(cloud), LabDay(cloud, "groups"), LabDay(cloud, "past"))


def test_the_curfew_alone(pools: Pools, record_property: Record) -> None:
    leases = ways.opened(pools.all, "1h")
    assert {lease.closes for lease in leases.values()} == {CURFEW}
    with ExitStack() as taken:
        taken.enter_context(ways.functions_dead(pools.gpu))
        taken.enter_context(ways.curfew_by(pools.gpu, "kubernetes"))
        taken.enter_context(ways.curfew_by(pools.groups, "eks"))
        taken.enter_context(ways.curfew_by(pools.past, "group"))
        for day in leases:
            ways.keep_failsafe(day)

        minutes = ways.ended(leases, WITHIN)

    ways.settled(leases)
    ways.after_curfew(pools.gpu, CURFEW)
    held(record_property, "auto-mode", "curfew", minutes["gpu"])
    held(record_property, "node-group", "curfew", minutes["groups"])
    held(record_property, "node-group", "curfew-group", minutes["past"])


def test_the_close_workflow_alone(pools: Pools, record_property: Record) -> None:
    leases = ways.opened(pools.all[:2], "15m")
    with ways.functions_live(pools.gpu, but="guard"), ways.schedules_powerless(pools.gpu):
        minutes = ways.ended(leases, WITHIN)

    ways.settled(leases)
    held(record_property, "auto-mode", "close", minutes["gpu"])
    held(record_property, "node-group", "close", minutes["groups"])


def test_the_guard_alone(pools: Pools, record_property: Record) -> None:
    leases = ways.opened(pools.all[:2], "15m")
    with ways.functions_dead(pools.gpu, but={"guard"}), ways.schedules_powerless(pools.gpu):
        minutes = ways.ended(leases, WITHIN)

    ways.settled(leases)
    held(record_property, "auto-mode", "guard", minutes["gpu"])
    held(record_property, "node-group", "guard", minutes["groups"])


def test_each_rail_of_the_failsafe_alone(pools: Pools, record_property: Record) -> None:
    # Where the tests before are left out, the curfew is still to come.
    ways.after_curfew(pools.gpu, CURFEW)
    leases = ways.opened(pools.all, "15m")
    with ways.functions_dead(pools.gpu):
        ways.keep_failsafe(pools.gpu, 10)
        ways.keep_failsafe(pools.groups, 10)
        ways.keep_failsafe(pools.past, 30)

        minutes = ways.ended(leases, WITHIN)

        # The run ends after its next look, at which no node is left.
        seen = ("kubernetes", "SUCCEEDED")
        ways.until(pools.gpu, "the run has ended", lambda: last_run(pools.gpu) == seen, timedelta(minutes=3))
        assert pools.gpu.locks() == []
    ways.settled(leases)
    held(record_property, "auto-mode", "kubernetes", minutes["gpu"])
    held(record_property, "node-group", "eks", minutes["groups"])
    held(record_property, "node-group", "group", minutes["past"])


def test_the_life_of_a_node_of_auto_mode_alone_and_no_other_node_comes(
    pools: Pools, record_property: Record
) -> None:
    day = pools.gpu
    leases = ways.opened([day], "1h")
    [instance] = day.described()
    with ways.functions_dead(day), ways.schedules_powerless(day):
        day.pass_until(instance["LaunchTime"] + day.lab.node_life("gpu") - timedelta(minutes=5))
        minutes = ways.ended(leases, day.lab.node_life("gpu"))

        # The bar is shut since the lease's end, though the NodePool still asks for a node.
        day.pass_until(day.now + timedelta(minutes=30))
        assert (day.live(), day.look().desired, day.claims()) == ((), 1, [])
    ways.settled(leases)
    held(record_property, "auto-mode", "life", minutes["gpu"])


def test_the_lock_of_auto_mode_bars_launches_and_ends_nothing_and_the_switch_off_alone_ends_every_node(
    pools: Pools, record_property: Record, tmp_path: Path
) -> None:
    """Without Kubernetes' answer to the machine. A person is paged after the lock."""
    alone = tmp_path / "lab.yaml"
    alone.write_text(AUTO_MODE, "utf-8")
    assert {stack.status for stack in pools.gpu.cloud.redeploy(alone)} <= COMPLETE
    day = AutoModeDay(pools.gpu.cloud)
    leases = ways.opened([day], "15m")
    [node], [instance] = day.live(), day.described()
    assert sorted(each["InterfaceType"] for each in instance["NetworkInterfaces"]) == [
        "efa-only",
        "interface",
    ]
    assert efa_group(day) in {one["GroupId"] for one in instance["SecurityGroups"]}
    day.without_functions()
    ways.keep_failsafe(day, 30, 40)
    keep_the_machine_out(day)

    ways.until(day, "the lock has ended", lambda: last_run(day) == ("lock", "FAILED"), WITHIN)
    assert day.locks() == [f"lamplighter-lock-{day.node_pool}"]
    assert day.live() == (node,)
    day.kubernetes.merge(BAR, {"data": {"notAfter": f"{day.now + timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}"}})
    day.scale(2)
    ways.until(day, "a claim that may not launch", lambda: refused(day), timedelta(minutes=3))
    assert day.live() == (node,)

    minutes = ways.ended(leases, WITHIN)

    seen_off = ("switch-off", "SUCCEEDED")
    ways.until(day, "the switch-off has ended", lambda: last_run(day) == seen_off, timedelta(minutes=3))
    assert not day.auto_mode_is_on()
    lines = day.command("doctor", "--deployed", "--json").rows
    assert [line["outcome"] for line in lines if line["check"] == "auto-mode"] == ["not-ok"]
    held(record_property, "auto-mode", "switch-off", minutes["gpu"])


def last_run(day: AutoModeDay) -> tuple[str, str]:
    """The rail on which the failsafe's machine was started last, and how its run ended."""
    machine, stepfunctions = day.machine(), day.api("stepfunctions")
    listed = stepfunctions.list_executions(stateMachineArn=machine)["executions"]
    arn = max(listed, key=lambda one: one["startDate"])["executionArn"]
    run = stepfunctions.describe_execution(executionArn=arn)
    return json.loads(run["input"])["rail"], run["status"]


def efa_group(day: AutoModeDay) -> str:
    wanted = [{"Name": "tag:Name", "Values": ["demo-efa"]}]
    [group] = day.api("ec2").describe_security_groups(Filters=wanted)["SecurityGroups"]
    return str(group["GroupId"])


def keep_the_machine_out(day: AutoModeDay) -> None:
    """The cluster does not know the failsafe's machine any more."""
    eks, cluster = day.api("eks"), day.lab.cluster_name
    entries = eks.list_access_entries(clusterName=cluster)["accessEntries"]
    [machine] = [arn for arn in entries if "failsafe-machine" in arn]
    eks.delete_access_entry(clusterName=cluster, principalArn=machine)


def refused(day: AutoModeDay) -> bool:
    conditions = [each for claim in day.claims() for each in claim.get("status", {}).get("conditions", [])]
    return any((each["type"], each["reason"]) == ("Launched", "Unauthorized") for each in conditions)
