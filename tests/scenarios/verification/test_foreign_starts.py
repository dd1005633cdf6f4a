"""`lamplighter verify` in a lab with a NodePool: a hundred instances of others start while the lab is idle."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend

from cli.verification.undo import TAG
from tests.account_recording.administrator import administrator
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.verification.test_verify import JOURNAL, VerifiedLab, patched

pytestmark = pytest.mark.long

LAB = """
name: demo
time_zone: UTC
cluster: {auto_mode: {enabled: true}}
gpu_operator: {enabled: false}
pools:
  gpu: {kind: auto-mode, max_nodes: 2}
"""
STEP = "foreign-starts"
GUARD = "demo-guard"


class CrowdedLab(VerifiedLab):
    """The lab in an account with instances that are not its own."""

    def live(self) -> tuple[str, ...]:
        """Those of a verify that are not terminated."""
        filters = [{"Name": "tag-key", "Values": [TAG]}]
        pages = self.api("ec2").describe_instances(Filters=filters)["Reservations"]
        return tuple(
            instance["InstanceId"]
            for page in pages
            for instance in page["Instances"]
            if instance["State"]["Name"] != "terminated"
        )

    def evidence(self) -> str:
        document = json.loads((self.folder / "report.json").read_text("utf-8"))
        return str(document["steps"][0]["evidence"][-1])


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrowdedLab]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        day = CrowdedLab(cloud)
        day.folder, day.owner = tmp_path_factory.mktemp("verify"), administrator(cloud.aws)
        yield day


def test_a_hundred_starts_of_others_leave_the_lab_its_functions(day: CrowdedLab) -> None:
    said = day.verify("--steps", STEP)

    assert said.code == 0, said
    assert day.verdicts() == {STEP: "passed"}, said
    assert "100 instances of t4g.nano ran" in said.stderr
    assert day.left() == []


@pytest.mark.parametrize(("vcpus", "verdict"), [(120, "passed"), (48, "not-tried")])
def test_the_quota_of_vcpus_says_how_many_start(day: CrowdedLab, vcpus: int, verdict: str) -> None:
    start = EC2Backend.run_instances

    def within_quota(backend: EC2Backend, image: str, count: int, *rest: Any, **more: Any) -> Any:
        if 2 * count > vcpus:
            raise EC2ClientError("VcpuLimitExceeded", f"your current vCPU limit is {vcpus}")
        return start(backend, image, count, *rest, **more)

    with patched(EC2Backend, "run_instances", within_quota):
        said = day.verify("--steps", STEP)

    assert said.code == 0, said
    assert day.verdicts() == {STEP: verdict}, said
    assert ("50 instances of t4g.nano ran" in said.stderr) is (verdict == "passed")
    assert day.left() == []


@contextmanager
def each_event_starts_a_sweep(day: CrowdedLab) -> Iterator[None]:
    aws = day.api("lambda")
    queue = day.cloud.aws.around.arn("sqs", "demo-instance-events")
    [mapping] = aws.list_event_source_mappings(EventSourceArn=queue)["EventSourceMappings"]
    names = "BatchSize", "MaximumBatchingWindowInSeconds"
    aws.update_event_source_mapping(UUID=mapping["UUID"], BatchSize=1, MaximumBatchingWindowInSeconds=0)
    try:
        yield
    finally:
        aws.update_event_source_mapping(UUID=mapping["UUID"], **{name: mapping[name] for name in names})


@contextmanager
def the_guard_has_no_place(day: CrowdedLab) -> Iterator[None]:
    aws = day.api("lambda")
    aws.put_function_concurrency(FunctionName=GUARD, ReservedConcurrentExecutions=0)
    try:
        yield
    finally:
        aws.delete_function_concurrency(FunctionName=GUARD)
        # The queue delivers again what was throttled, and CloudWatch counts by whole minutes.
        day.pass_until(day.now + timedelta(minutes=2))


@contextmanager
def the_queue_takes_no_event(day: CrowdedLab) -> Iterator[None]:
    sqs = day.api("sqs")
    queue = {"QueueUrl": sqs.get_queue_url(QueueName="demo-instance-events")["QueueUrl"]}
    before = sqs.get_queue_attributes(**queue, AttributeNames=["Policy"])["Attributes"]["Policy"]
    nobody = {"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [nobody]})
    sqs.set_queue_attributes(**queue, Attributes={"Policy": policy})
    try:
        yield
    finally:
        sqs.set_queue_attributes(**queue, Attributes={"Policy": before})


@contextmanager
def no_event_comes(day: CrowdedLab) -> Iterator[None]:
    events = day.api("events")
    events.disable_rule(Name="demo-instance-states")
    try:
        yield
    finally:
        events.enable_rule(Name="demo-instance-states")


FAULTS: dict[str, tuple[Callable[[CrowdedLab], AbstractContextManager[None]], str]] = {
    "no batch": (each_event_starts_a_sweep, "times within a minute"),
    "throttled": (the_guard_has_no_place, f"the function {GUARD} was throttled"),
    "dead letters": (the_queue_takes_no_event, "messages more than before"),
    "no event": (no_event_comes, "as by its timer"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_step(day: CrowdedLab, fault: str) -> None:
    makes, evidence = FAULTS[fault]
    with makes(day):
        said = day.verify("--steps", STEP)

    assert said.code == 1, said
    assert day.verdicts() == {STEP: "failed"}
    assert evidence in day.evidence(), said
    assert day.left() == []


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_ends_early_leaves_no_instance(day: CrowdedLab, sent: int) -> None:
    day.stopped(STEP, "instances of t4g.nano ran", sent)
    assert bool(day.live()) is (sent == signal.SIGKILL)
    assert JOURNAL in day.left()

    said = day.verify("--steps", STEP, "--resume")

    assert said.code == 0, said
    assert day.verdicts() == {STEP: "passed"}
    assert day.left() == []
