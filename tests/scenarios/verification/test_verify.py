"""`lamplighter verify` with an idle lab: every step passes, each fault fails its step, and nothing is left."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone

from lamplighter.lab.model import Lab
from local.aws import iam
from local.aws.api import mapping_templates
from local.aws.api.mapping_templates import url_encoded
from local.aws.cloudformation import deployment
from local.aws.cloudformation.kinds import Failed, Order
from local.aws.cloudformation.types import functions
from local.aws.events.targets import Targets
from tests.account_recording.administrator import administrator, calls_of
from tests.account_recording.replay import STEPS, replay
from tests.scenarios.command_line.commands import Command, commands
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.lab_day import LabDay, Said
from tests.scenarios.rails import ways

pytestmark = pytest.mark.long

LAB = """
name: demo
time_zone: UTC
gpu_operator: {enabled: false}
guard: {longest_lease: 1h, budget: {amount: "500"}}
pools:
  gpu: {max_nodes: 2}
slack: {channel: C0123456789}
"""
JOURNAL = "lamplighter-verify.json"
THROWAWAY = "lamplighter-verify"


class VerifiedLab(LabDay):
    """The lab, and the folder in which the command is called."""

    folder: Path
    owner: Mapping[str, str]

    def verify(self, *words: str) -> Said:
        with self._begun("--json", "report.json", *words) as program:
            stdout, stderr = program.communicate()
        return Said(program.returncode, stdout, stderr)

    def stopped(self, step: str, line: str, sent: int) -> int:
        """A verify of one step that gets a signal when it has printed the line. Returns its exit code."""
        with self._begun("--steps", step) as program:
            for said in program.stderr:
                self.hear(said)
                if line in said:
                    program.send_signal(sent)
                    break
            program.communicate()
        return program.returncode

    def hear(self, line: str) -> None:
        """The program has printed a line."""

    def _begun(self, *words: str) -> Command:
        environment = {**os.environ, **self.cloud.played(), **self.owner}
        return commands().begin(("verify", "--yes", *words), environment, self.folder)

    def verdicts(self) -> dict[str, str]:  # type: ignore[override]
        document = json.loads((self.folder / "report.json").read_text("utf-8"))
        return {one["step"]: one["verdict"] for one in document["steps"]}

    def left(self) -> list[str]:
        """What a verify has left behind in the account and in its folder."""
        stacks = self.api("cloudformation").describe_stacks()["Stacks"]
        names = [stack["StackName"] for stack in stacks]
        tables = self.api("dynamodb").list_tables()["TableNames"]
        stopped = [
            function["FunctionName"]
            for function in self.api("lambda").list_functions()["Functions"]
            if self.api("lambda")
            .get_function_concurrency(FunctionName=function["FunctionName"])
            .get("ReservedConcurrentExecutions")
            is not None
        ]
        leases = [lease.id for lease in self.ledger.leases("gpu") if lease.state.value != "closed"]
        journal = [JOURNAL] if (self.folder / JOURNAL).exists() else []
        made = [name for name in [*names, *tables] if name.startswith(THROWAWAY)]
        return [*made, *stopped, *leases, *self.live(), *journal]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerifiedLab]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        day = VerifiedLab(cloud)
        url = cloud.endpoints().slack_url
        assert url is not None
        # The template puts together the address that API Gateway would have at AWS.
        cloud.aws.stacks._find("demo-controller").outputs["SlackUrl"] = url
        day.folder, day.owner = tmp_path_factory.mktemp("verify"), administrator(cloud.aws)
        yield day


def test_every_step_passes(day: VerifiedLab) -> None:
    said = day.verify("--record", "recording")

    assert said.code == 0, said
    not_tried = {step for step, verdict in day.verdicts().items() if verdict == "not-tried"}
    assert not_tried == {"foreign-starts", "rails"}, said.stdout  # they want a NodePool
    assert set(day.verdicts().values()) == {"passed", "not-tried"}, said.stdout
    assert day.left() == []
    recorded = {path.stem: path.read_text("utf-8") for path in (day.folder / "recording").iterdir()}
    # Of the step slack nothing is recorded.
    assert {*recorded, "slack"} == set(day.verdicts()) - not_tried
    account = day.api("sts").get_caller_identity()["Account"]
    lines = [line for text in recorded.values() for line in text.splitlines()]
    assert not [line for line in lines if account in line or re.search(r"\bdemo\b", line)]
    assert str(day.cloud.endpoints().signing_secret) not in "".join(lines)
    for step in STEPS:
        recording = day.folder / "recording" / f"{step}.jsonl"
        assert replay(recording, calls_of(day.cloud.aws, day.owner), account, day.clock.sleep) == []
    assert day.left() == []


@contextmanager
def patched(owner: object, name: str, value: object) -> Iterator[None]:
    """The embedded cloud behaves otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


def one_refused(lab: Lab) -> dict[str, list[Zone]]:
    """The letters of an account in which EKS takes one of the lab's zones and refuses the others."""
    first, *others = lab.cluster.zones
    ids = {first: "use1-az1", **dict.fromkeys(others, "use1-az3")}
    return {lab.region: [Zone(name=name, region_name=lab.region, zone_id=ids[name]) for name in ids]}


@contextmanager
def no_policy_asked(day: VerifiedLab) -> Iterator[None]:
    """The embedded cloud judges no call by the account's own key, not even by the policy of a bus."""
    with patched(day, "owner", {}), patched(iam, "_DENIED_BY_RESOURCES", frozenset()):
        yield


FAULTS: dict[str, Callable[[VerifiedLab], AbstractContextManager[None]]] = {
    "zones": lambda day: patched(RegionsAndZonesBackend, "zones", one_refused(day.lab)),
    # A failed create keeps what RetainExceptOnCreate would delete.
    "first-deploy": lambda _: patched(deployment, "_same", lambda *_: True),
    "bus": no_policy_asked,
    # No schedule fires.
    "schedules": lambda _: patched(Targets, "deliver", lambda *_: None),
    # API Gateway changes the bytes of a body on their way.
    "slack": lambda _: patched(
        mapping_templates, "url_encoded", lambda text: url_encoded(text.replace("+", " "))
    ),
    "unleased": ways.functions_dead,
    "failsafe": ways.schedules_powerless,
}


@pytest.mark.parametrize("step", FAULTS)
def test_a_fault_fails_its_step(day: VerifiedLab, step: str) -> None:
    with FAULTS[step](day):
        said = day.verify("--steps", step)

    assert said.code == 1, said
    assert day.verdicts() == {step: "failed"}
    assert day.left() == []


@contextmanager
def somebody_orders_zero(day: VerifiedLab) -> Iterator[None]:
    """While no function of the lab runs, a schedule of somebody else orders zero every two minutes."""
    roles, scheduler = day.api("iam"), day.api("scheduler")
    group = next(
        group["AutoScalingGroupName"]
        for group in day.api("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
        if any(tag["Key"] == "eks:nodegroup-name" and "gpu" in tag["Value"] for tag in group["Tags"])
    )
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "scheduler.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    allowed = {"Effect": "Allow", "Action": "autoscaling:*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = roles.create_role(RoleName="somebody", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    roles.put_role_policy(RoleName="somebody", PolicyName="any", PolicyDocument=document)
    target = {
        "Arn": "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup",
        "RoleArn": role,
        "Input": json.dumps({"AutoScalingGroupName": group, "DesiredCapacity": 0}),
    }
    rate, window = "rate(2 minutes)", {"Mode": "OFF"}
    scheduler.create_schedule(Name="any", ScheduleExpression=rate, FlexibleTimeWindow=window, Target=target)
    try:
        with ways.functions_dead(day):
            yield
    finally:
        scheduler.delete_schedule(Name="any")


def test_a_node_that_something_else_took_says_nothing_good_of_the_guard(day: VerifiedLab) -> None:
    with somebody_orders_zero(day):
        said = day.verify("--steps", "unleased")

    assert (said.code, day.verdicts()) == (1, {"unleased": "failed"}), said
    assert "something else ordered zero" in said.stdout
    assert day.left() == []


def test_a_first_deploy_that_fails_early_proves_nothing(day: VerifiedLab) -> None:
    code, late = functions._code, iter([False])

    def refused_once(order: Order) -> dict[str, object]:
        if next(late, True):
            return code(order)
        raise Failed("Lambda cannot assume the role yet")

    with patched(functions, "_code", refused_once):
        said = day.verify("--steps", "first-deploy")

    assert said.code == 1, said
    assert "Answers: Lambda cannot assume the role yet" in said.stdout
    assert day.left() == []


def test_what_the_caller_may_not_make_is_no_answer_of_aws(day: VerifiedLab) -> None:
    organisation = day.cloud.aws.moto_additions.organisation
    organisation.demand_boundary("arn:aws:iam::123456789012:policy/organisation-boundary")
    try:
        said = day.verify("--steps", "first-deploy,schedules")
    finally:
        organisation.forget()

    assert said.code == 0, said.stdout + said.stderr
    assert day.verdicts() == {"first-deploy": "not-tried", "schedules": "not-tried"}
    assert said.stdout.count("set the lab's key permissions_boundary") == 2
    assert day.left() == []


def test_an_answer_of_a_warm_function_says_nothing_of_a_cold_start(day: VerifiedLab) -> None:
    day.verify("--steps", "slack")
    said = day.verify("--steps", "slack")
    assert (said.code, day.verdicts()) == (0, {"slack": "not-tried"}), said
    assert "the unsigned one was dropped" in said.stderr
    assert "the function was warm" in said.stdout


def test_a_role_that_scheduler_does_not_know_yet_is_no_answer_of_aws(day: VerifiedLab) -> None:
    with patched(day.cloud.aws.moto_additions.propagation, "new_role_seconds", 60):
        said = day.verify("--steps", "schedules")
    assert day.verdicts() == {"schedules": "passed"}, said

    with patched(day.cloud.aws.moto_additions.propagation, "new_role_seconds", 3600):
        said = day.verify("--steps", "schedules")
    assert (said.code, day.verdicts()) == (3, {"schedules": "not-tried"}), said
    assert "must allow AWS EventBridge Scheduler to assume the role" in said.stdout
    assert day.left() == []


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("first-deploy", "a first deploy that failed late"),
        ("bus", "alone is refused"),
        ("schedules", "a schedule is set"),
        ("unleased", "zero was ordered"),
        ("failsafe", "functions may not run"),
    ],
)
def test_a_killed_run_is_resumed_and_leaves_nothing(day: VerifiedLab, step: str, line: str) -> None:
    assert day.stopped(step, line, signal.SIGKILL) == -signal.SIGKILL
    assert JOURNAL in day.left()
    refused = day.verify("--steps", step)
    assert refused.code == 2
    assert "--resume" in refused.stderr

    # How far the first try came is not known, so all of its money counts.
    said = day.verify("--steps", step, "--resume", "--spend", "7")

    assert said.code == 0, said
    assert day.verdicts() == {step: "passed"}
    assert day.left() == []


def test_a_stopped_run_undoes_what_it_made(day: VerifiedLab) -> None:
    assert day.stopped("failsafe", "functions may not run", signal.SIGINT) == 130
    assert day.left() == [JOURNAL]

    (day.folder / JOURNAL).unlink()
