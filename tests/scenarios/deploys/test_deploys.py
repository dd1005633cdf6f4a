"""Deploys and a destroy while a pool is leased: refused by name, or without any effect on the lease, or closed first.

One lease runs through most of it, until the destroy closes it. Then the lab is deployed again.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from local.aws.cloudformation.stack import Stack
from local.demo.observations import Sample
from tests.scenarios.conftest import LAB
from tests.scenarios.lab_day import LabDay

CONTROLLERS = {"leases", "nodegroups", "cluster", "guard", "planner", "notices", "deploy"}
COMPLETE = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}


@pytest.fixture(scope="module")
def leased(started: LabDay) -> Iterator[tuple[LabDay, Lease]]:
    """A lease of one node, long enough for all deploys."""
    started.until_quiet()
    lease = started.open(1, "6h", "--owner", "alice")
    started.until_state(lease.id, LeaseState.OPEN)
    yield started, lease
    started.cloud.aws.moto_additions.faults.clear()
    if started.lease(lease.id).state is not LeaseState.CLOSED:
        # Without the tests of a destroy it is still open.
        assert started.command("close", "gpu", "--yes").code == 0


def test_other_windows_and_nothing_else_disturbs_no_one(leased: tuple[LabDay, Lease], tmp_path: Path) -> None:
    # given a running lease
    lab, lease = leased
    before = lab.look()

    # when the lab is deployed with one window more
    late = lab.now + timedelta(hours=8)
    extra = f'  - {{name: extra, nodes: 1, dates: [{late:%Y-%m-%d}], start: "{late:%H}:00", end: "{late:%H}:30"}}\n'
    ended = lab.cloud.redeploy(_lab(tmp_path, LAB.read_text("utf-8") + extra))

    # then the deploy is done, the window is planned, and the lease never noticed
    assert {stack.status for stack in ended} <= COMPLETE, _told(ended)
    assert lab.lease(f"extra-{late:%Y-%m-%d}").state is LeaseState.PLANNED
    assert _undisturbed(lab, lease, before.instances)

    # and the same deploy again changes nothing at all
    assert {stack.status for stack in lab.cloud.redeploy()} <= COMPLETE
    assert lab.live() == before.instances


def test_a_change_of_the_leased_pool_is_refused_by_name(leased: tuple[LabDay, Lease], tmp_path: Path) -> None:
    # given a running lease, and how its pool is made
    lab, lease = leased
    before, made = lab.look(), _nodegroup(lab)

    # when the lab is deployed with another instance type and disk
    text = (
        LAB.read_text("utf-8")
        .replace("g5.xlarge", "g5.2xlarge")
        .replace("max_nodes: 2", "max_nodes: 2, disk_gib: 200")
    )
    ended = lab.cloud.redeploy(_lab(tmp_path, text))

    # then it is refused with the lease's name and end, and all is as it was
    assert ended[-1].status == "UPDATE_ROLLBACK_COMPLETE", _told(ended)
    assert lease.id in ended[-1].failure()
    assert "alice's lease" in ended[-1].failure()
    assert f"{lease.closes:%H:%M}" in ended[-1].failure()
    assert _nodegroup(lab) == made
    assert _undisturbed(lab, lease, before.instances)

    # and the lab as it was still deploys
    ended = lab.cloud.redeploy(LAB)
    assert {stack.status for stack in ended} <= COMPLETE, _told(ended)


@pytest.mark.long
def test_a_destroy_without_proof_of_zero_fails(leased: tuple[LabDay, Lease]) -> None:
    # given a running lease whose instance will not go
    lab, lease = leased
    (stuck,) = lab.live()
    lab.cloud.aws.moto_additions.faults.stuck_termination()
    # The step that proves zero crashes every time, so that nobody must wait half an hour for a refusal.
    lab.cloud.faults.kill_step("ProveZero", "gpu", times=6)

    # when the controller is destroyed
    stack = _destroyed(lab)

    # then that fails, says what is left, and everything that goes on closing is still there
    assert stack.status == "DELETE_FAILED"
    assert stuck in stack.failure()
    assert _functions(lab) >= CONTROLLERS
    assert lab.lease(lease.id).state is LeaseState.CLOSING
    assert lab.ledger.pool("gpu").leaked_since is not None


@pytest.mark.long
def test_a_destroy_proves_zero_first_and_leaves_the_ledger_alone(leased: tuple[LabDay, Lease]) -> None:
    # given the instance that goes at last
    lab, lease = leased
    begun = lab.now
    lab.cloud.aws.moto_additions.faults.clear()

    # when the controller is destroyed again
    stack = _destroyed(lab)

    # then zero was proven and the lease settled before anything was taken away
    assert stack.status == "DELETE_COMPLETE", stack.failure()
    # The close that failed before goes on, and may prove it once more while the stack is deleted.
    proven = min(entry.at for entry in lab.entries(begun, "zero-proven"))
    taken = [event["Timestamp"] for event in stack.events if event["ResourceStatus"] == "DELETE_COMPLETE"]
    assert proven < min(at for at in taken if at > begun)
    assert lab.lease(lease.id).state is LeaseState.CLOSED
    assert lab.receipt(lease.id)["proof_of_zero"]["instances"] == []
    # and the ledger is all that is left
    assert not _functions(lab) & CONTROLLERS
    assert _left(lab) == [f"table {lab.lab.name}-ledger"]


@pytest.mark.long
def test_a_new_deploy_takes_the_ledger_up_again(leased: tuple[LabDay, Lease]) -> None:
    # given a lab of which only the ledger was left
    lab, lease = leased
    spent = lab.command("leases")
    assert spent.code == 2  # there is no lab to ask

    # when it is deployed again
    ended = lab.cloud.redeploy(LAB, import_existing=True)
    assert {stack.status for stack in ended} <= COMPLETE, _told(ended)

    # then it knows what was
    listed = lab.command("leases", "--all", "--json")
    assert lease.id in {row["id"] for row in listed.rows}
    assert lab.receipt(lease.id)["node_seconds"] > 0
    # and opens and closes as before
    again = lab.open(1, "40m")
    lab.until_state(again.id, LeaseState.OPEN)
    lab.until_state(again.id, LeaseState.CLOSED)
    lab.until_quiet()


@pytest.mark.long
def test_what_opens_while_the_pool_is_changed_waits_for_it_and_loses_nothing(
    leased: tuple[LabDay, Lease], tmp_path: Path
) -> None:
    # given a pool that nobody has, and a deploy with another maximum, at which EKS takes its time
    lab, begun = leased[0], leased[0].now
    faults = lab.cloud.aws.moto_additions.faults
    faults.endless_updates(lab.pool.nodegroup)
    path = _lab(tmp_path, LAB.read_text("utf-8").replace("max_nodes: 2", "max_nodes: 1"))
    going = lab.beside(lambda: lab.cloud.redeploy(path))
    while lab.ledger.deploy_mark("gpu") is None:
        assert not going.ended, _told(going.result())
        lab.clock.sleep(0.5)

    # when somebody opens the pool, then that waits until the deploy is done
    lease = lab.open(1, "90m")
    waiting = lambda _: bool(lab.entries(begun, "held-up"))  # noqa: E731
    lab.until("the opening waits", waiting, timedelta(minutes=10), timedelta(seconds=5))
    assert lab.look().desired == 0
    faults.clear(lab.pool.nodegroup)
    ended = going.result()
    assert {stack.status for stack in ended} <= COMPLETE, _told(ended)
    assert lab.ledger.deploy_mark("gpu") is None

    # and then it gets its node, and keeps it
    lab.until_state(lease.id, LeaseState.OPEN)
    assert [entry.lease for entry in lab.entries(begun, "held-up")] == [lease.id]
    assert _undisturbed(lab, lab.lease(lease.id), lab.live())
    lab.until_state(lease.id, LeaseState.CLOSED, within=timedelta(hours=2))
    lab.until_quiet()


def _lab(folder: Path, text: str) -> Path:
    path = folder / "lab.yaml"
    path.write_text(text, "utf-8")
    return path


def _told(ended: Sequence[Stack]) -> str:
    return "; ".join(f"{stack.name} {stack.status} {stack.failure()}" for stack in ended)


def _undisturbed(lab: LabDay, lease: Lease, instances: tuple[str, ...]) -> bool:
    """The lease keeps its end and its instances over more than one sweep."""
    begun = len(lab.samples)
    lab.until("a sweep passed", _after(lab.now + timedelta(minutes=6)), timedelta(minutes=10))
    kept = all(sample.instances == instances and sample.desired == 1 for sample in lab.samples[begun:])
    now = lab.lease(lease.id)
    return kept and (now.state, now.closes) == (LeaseState.OPEN, lease.closes)


def _after(instant: datetime) -> Callable[[Sample], bool]:
    return lambda sample: sample.at >= instant


def _nodegroup(lab: LabDay) -> tuple[object, ...]:
    found = lab.api("eks").describe_nodegroup(clusterName=lab.pool.cluster, nodegroupName=lab.pool.nodegroup)
    said = found["nodegroup"]
    return said["launchTemplate"], said["scalingConfig"], said["labels"], said["amiType"]


def _destroyed(lab: LabDay) -> Stack:
    """The result of destroying the controller. The test also reads the state during it."""
    going = lab.beside(lambda: lab.cloud.destroy(f"{lab.lab.name}-controller"))
    lab.until("the destroy has ended", lambda _: going.ended, timedelta(hours=8), timedelta(minutes=2))
    return going.result()


def _functions(lab: LabDay) -> set[str]:
    found = lab.api("lambda").list_functions()["Functions"]
    prefix = f"{lab.lab.name}-"
    return {
        one["FunctionName"].removeprefix(prefix) for one in found if one["FunctionName"].startswith(prefix)
    }


def _left(lab: LabDay) -> list[str]:
    """The resources of the controller that still exist, by the services' own lists."""
    name = lab.lab.name
    tables = lab.api("dynamodb").list_tables()["TableNames"]
    machines = lab.api("stepfunctions").list_state_machines()["stateMachines"]
    groups = lab.api("scheduler").list_schedule_groups()["ScheduleGroups"]
    rules = lab.api("events").list_rules()["Rules"]
    topics = lab.api("sns").list_topics()["Topics"]
    queues = lab.api("sqs").list_queues().get("QueueUrls", [])
    claims = lab.api("ssm").describe_parameters()["Parameters"]
    alarms = lab.api("cloudwatch").describe_alarms()["MetricAlarms"]
    found = [f"table {table}" for table in tables]
    found += [f"workflow {machine['name']}" for machine in machines]
    found += [f"schedule group {group['Name']}" for group in groups if group["Name"] != "default"]
    found += [f"rule {rule['Name']}" for rule in rules]
    found += [f"topic {topic['TopicArn']}" for topic in topics]
    found += [f"queue {queue}" for queue in queues]
    found += [f"parameter {claim['Name']}" for claim in claims if "claims" in claim["Name"]]
    found += [f"alarm {alarm['AlarmName']}" for alarm in alarms]
    return [one for one in found if name in one]
