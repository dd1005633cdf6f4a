"""Each way to zero of a pool on EKS Auto Mode, alone: every function of the lab is deleted, and then one rail after the
other is taken away. AWS lets nobody end the instances of Auto Mode, so there is none through EC2.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease
from local.auto_mode.definitions import CLAIMS
from local.cloud import Cloud
from tests.scenarios.auto_mode.auto_mode_day import AutoModeDay
from tests.scenarios.examples.opened import NOON

LAB = """
name: demo
cluster: {auto_mode: {enabled: true, switch_off: true}}
gpu_operator: {enabled: false}
guard: {longest_lease: 1h}
pools: {gpu: {kind: auto-mode, instance_type: g5.8xlarge, efa: true, max_nodes: 2, drain: 1m}}
"""
BAR = "/api/v1/namespaces/lamplighter/configmaps/demo-gpu"
FAILSAFE_AFTER = timedelta(minutes=10)
#: Of a drain without pods, EC2's end of an instance, and the next sample.
ENDING = timedelta(minutes=6)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AutoModeDay]:
    path = tmp_path_factory.mktemp("lab") / "lab.yaml"
    path.write_text(LAB, "utf-8")
    with Cloud(path, start=NOON, progress=print) as cloud:
        cloud.up()
        yield AutoModeDay(cloud)


@pytest.fixture(scope="module")
def lease(day: AutoModeDay) -> Lease:
    """A lease whose node runs, in a lab without functions."""
    opened = day.opened(1, "30m")
    day.without_functions()
    return opened


@pytest.fixture
def node(day: AutoModeDay, lease: Lease) -> str:
    """A node that no lease has: an administrator opened the bar, took a lock away, and scaled the NodePool."""
    assert lease
    for name in day.locks():
        day.api("iam").delete_role_policy(RoleName=day.launching_role(), PolicyName=name)
    bar(day, day.now + timedelta(hours=8))
    day.scale(0)
    day.until_zero(timedelta(minutes=15))
    day.scale(1)
    sample = day.until("a node", lambda sample: bool(sample.kubernetes_nodes), timedelta(minutes=15))
    [instance] = sample.instances
    return instance


def bar(day: AutoModeDay, until: Any) -> None:
    day.kubernetes.merge(BAR, {"data": {"notAfter": f"{until:%Y-%m-%dT%H:%M:%SZ}"}})


def runs(day: AutoModeDay) -> list[tuple[str, str]]:
    """The rails on which the failsafe's machine was started, oldest first, and how each run ended."""
    machine, stepfunctions = day.machine(), day.api("stepfunctions")
    listed = stepfunctions.list_executions(stateMachineArn=machine)["executions"]
    described = [stepfunctions.describe_execution(executionArn=one["executionArn"]) for one in listed]
    described.sort(key=lambda one: one["startDate"])
    return [(json.loads(one["input"])["rail"], one["status"]) for one in described]


def run(day: AutoModeDay, rail: str) -> tuple[str, str]:
    """Starts the machine as the failsafe's schedules do. How the run ended, and its error."""
    stepfunctions = day.api("stepfunctions")
    given = json.dumps({"pool": "gpu", "rail": rail})
    arn = stepfunctions.start_execution(stateMachineArn=day.machine(), input=given)["executionArn"]

    day.until(f"the rail {rail} has ended", lambda _: arn not in day.running(), timedelta(minutes=15))
    told = stepfunctions.describe_execution(executionArn=arn)
    return str(told["status"]), str(told.get("error", ""))


@pytest.mark.usefixtures("lease")
def test_a_node_with_efa_has_its_interfaces_and_the_group_in_which_efa_is_allowed(day: AutoModeDay) -> None:
    [instance] = day.described()

    kinds = sorted(interface["InterfaceType"] for interface in instance["NetworkInterfaces"])
    assert kinds == ["efa-only", "interface"]
    [group] = day.api("ec2").describe_security_groups(Filters=[{"Name": "tag:Name", "Values": ["demo-efa"]}])[
        "SecurityGroups"
    ]
    assert group["GroupId"] in {one["GroupId"] for one in instance["SecurityGroups"]}


def test_the_kubernetes_rail_brings_the_pool_to_zero(day: AutoModeDay, lease: Lease) -> None:
    begun = len(day.samples)
    running = day.live()
    armed = lease.closes + FAILSAFE_AFTER

    zero = day.until_zero(armed - day.now + ENDING)

    assert zero.at >= armed
    leased = [sample for sample in day.samples[begun:] if sample.at < lease.closes]
    assert {sample.instances for sample in leased} == {running}
    # The later starts find nothing, and lock nothing.
    day.pass_until(armed + timedelta(minutes=35))
    assert runs(day) == [
        ("kubernetes", "SUCCEEDED"),
        ("kubernetes", "SUCCEEDED"),
        ("lock", "SUCCEEDED"),
        ("switch-off", "SUCCEEDED"),
    ]
    assert (day.locks(), day.auto_mode_is_on()) == ([], True)


def test_the_life_of_a_node_ends_it_and_the_launch_bar_lets_no_other_come(
    day: AutoModeDay, node: str
) -> None:
    bar(day, day.now)
    life = day.lab.node_life("gpu")
    day.pass_until(day.now + life - timedelta(minutes=15))
    assert day.live() == (node,)

    day.until_zero(timedelta(minutes=15) + ENDING)

    day.pass_until(day.now + timedelta(minutes=30))
    assert (day.live(), day.look().desired, day.claims()) == ((), 1, [])


def test_the_lock_bars_launches_and_ends_nothing(day: AutoModeDay, node: str) -> None:
    """Without Kubernetes' answer to the machine, nothing ends the node. A person is paged."""
    cluster = day.lab.cluster_name
    entries = day.api("eks").list_access_entries(clusterName=cluster)["accessEntries"]
    [machine] = [arn for arn in entries if "failsafe-machine" in arn]
    day.api("eks").delete_access_entry(clusterName=cluster, principalArn=machine)

    assert run(day, "lock") == ("FAILED", "Leaked")

    assert day.locks() == [f"lamplighter-lock-{day.node_pool}"]
    day.scale(2)

    def refused(_: object) -> bool:
        conditions = [c for claim in day.claims() for c in claim.get("status", {}).get("conditions", [])]
        return any((c["type"], c["reason"]) == ("Launched", "Unauthorized") for c in conditions)

    day.until("a claim that may not launch", refused, timedelta(minutes=5))
    assert day.live() == (node,)
    assert len(day.kubernetes.get(CLAIMS)["items"]) == 2


def test_the_switch_off_ends_every_node(day: AutoModeDay, node: str) -> None:
    assert day.live() == (node,)

    assert run(day, "switch-off") == ("SUCCEEDED", "")

    assert day.live() == ()
    assert not day.auto_mode_is_on()
    lines = day.command("doctor", "--deployed", "--json").rows
    assert [line["outcome"] for line in lines if line["check"] == "auto-mode"] == ["not-ok"]
