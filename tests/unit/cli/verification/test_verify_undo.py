"""What `lamplighter verify` undoes is its own, and nothing that keeps somebody safe is taken away too early."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from cli.deployment import Deployment
from cli.verification import course
from cli.verification.account import Account
from cli.verification.journal import Journal
from cli.verification.outcome import Unfit
from cli.verification.step import Play, Step
from cli.verification.steps import failsafe, foreign_starts, slack, throwaway
from cli.verification.undo import Undo, UndoKind, undo
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, HOUR, persons
from tests.unit.aws_calls import heard
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, REGION, LabOnMoto, lab_on_moto

NOTHING = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
LIMIT = Money.of(5, "USD")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.ledger.put_document(made.capacity.lab.to_json(), EIGHT)
        yield made


@pytest.fixture
def account(made: LabOnMoto) -> Account:
    deployed = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
    return Account("123456789012", REGION, lambda: EIGHT, deployed)


def stacks() -> list[str]:
    return [stack["StackName"] for stack in boto3.client("cloudformation").describe_stacks()["Stacks"]]


def played(account: Account, tmp_path: Path, step: Step) -> None:
    course.play(
        account,
        [step],
        LIMIT,
        Journal(tmp_path / "journal.json", "an account"),
        lambda _: None,
        lambda _: None,
    )


def makes(play: Play) -> None:
    play.undo(Undo(UndoKind.STACK, throwaway.STACK))
    play.account.create_stack(throwaway.STACK, NOTHING)


def test_a_stack_of_somebody_else_stays(account: Account, tmp_path: Path) -> None:
    boto3.client("cloudformation").create_stack(StackName="lamplighter-verify", TemplateBody=NOTHING)
    played(account, tmp_path, Step("one", "", "", HOUR, makes))
    assert stacks() == ["lamplighter-verify"]


def refused(operation: str) -> Any:
    """AWS refuses this call."""

    def hear(_service: str, asked: str, _given: Mapping[str, Any]) -> None:
        if asked == operation:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "denied"}}, operation)

    return heard(hear)


def test_who_stops_the_undoing_hears_what_is_left(account: Account, tmp_path: Path) -> None:
    def again(_service: str, operation: str, _given: Mapping[str, Any]) -> None:
        if operation == "DeleteStack":
            raise KeyboardInterrupt

    said: list[str] = []
    journal = Journal(tmp_path / "journal.json", "an account")
    with heard(again), pytest.raises(KeyboardInterrupt):
        course.play(account, [Step("one", "", "", HOUR, makes)], LIMIT, journal, said.append, said.append)
    assert said[-1].startswith(
        f"not undone: stack {throwaway.STACK}; `lamplighter verify --resume` tries again"
    )


def test_the_net_stays_while_a_function_has_no_concurrency(account: Account, tmp_path: Path) -> None:
    def stops(play: Play) -> None:
        makes(play)
        play.undo(Undo(UndoKind.CONCURRENCY, "lab-guard"))

    step = Step("one", "", "", HOUR, stops)
    not_undone = pytest.raises(OutsideFailed, match="not undone: concurrency lab-guard")
    with refused("DeleteFunctionConcurrency"), refused("GetFunctionConcurrency"), not_undone:
        played(account, tmp_path, step)

    assert stacks() == [throwaway.STACK]


@pytest.fixture
def function() -> str:
    """A function of the account."""
    trust = json.dumps({"Statement": []})
    role = boto3.client("iam").create_role(RoleName="any", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", "")
    boto3.client("lambda").create_function(
        FunctionName="lab-guard",
        Role=role,
        Code={"ZipFile": code.getvalue()},
        Handler="index.handler",
        Runtime="python3.13",
    )
    return "lab-guard"


@pytest.mark.parametrize(("now", "then"), [(0, None), (5, 5)])
def test_only_a_stopped_function_gets_its_concurrency_back(
    account: Account, function: str, now: int, then: int | None
) -> None:
    aws = boto3.client("lambda")
    aws.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=now)
    undo(account, Undo(UndoKind.CONCURRENCY, function))
    assert aws.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions") == then


def test_a_lease_of_somebody_else_stays_whatever_its_reason(account: Account, made: LabOnMoto) -> None:
    made.lease(because="lamplighter-verify")
    undo(account, Undo(UndoKind.LEASE, "lab/gpu/lamplighter-verify-00000000"))
    assert made.kept().state is LeaseState.ADMITTED


def test_a_lease_that_is_granted_late_is_closed(account: Account, made: LabOnMoto) -> None:
    """The order had no answer yet when the program was told to stop."""
    late = iter([EIGHT, EIGHT + HOUR])

    def clock() -> datetime:
        made.lease(because="mine")
        return next(late)

    asked = Undo(UndoKind.LEASE, "lab/gpu/mine", int((EIGHT + HOUR / 4).timestamp()))
    # This lab has no address for commands, so the close itself is refused.
    with pytest.raises(BadInput, match="close"):
        undo(replace(account, clock=clock), asked)


@pytest.mark.parametrize("kind", [UndoKind.LEASE, UndoKind.SIZE])
def test_what_is_of_another_lab_is_undone_with_that_lab(account: Account, kind: UndoKind) -> None:
    tags: Any = [{"Key": "lamplighter:lab", "Value": "other"}]
    template = json.dumps({**json.loads(NOTHING), "Outputs": {"LedgerTable": {"Value": "other-ledger"}}})
    boto3.client("cloudformation").create_stack(StackName="other", TemplateBody=template, Tags=tags)
    with pytest.raises(Unfit, match="--lab-name other"):
        undo(account, Undo(kind, "other/gpu/any"))


def test_a_lease_of_another_pool_keeps_no_node(account: Account, made: LabOnMoto) -> None:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {}, "other": {}}})
    made.capacity.ledger.put_document(lab.to_json(), EIGHT)
    made.capacity.ledger.plan(persons(pool="other", state=LeaseState.PLANNED))
    aws = boto3.client("autoscaling")
    aws.set_desired_capacity(AutoScalingGroupName=made.group, DesiredCapacity=1)
    undo(account, Undo(UndoKind.SIZE, f"lab/gpu/{made.group}"))
    [group] = aws.describe_auto_scaling_groups(AutoScalingGroupNames=[made.group])["AutoScalingGroups"]
    assert group["DesiredCapacity"] == 0


class Accepts(BaseHTTPRequestHandler):
    """The address of a lab: it takes every command."""

    def do_POST(self) -> None:
        body = b'{"id": "the-command"}'
        self.send_response(202)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Accepts) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_refused_order_leaves_no_lease_to_wait_for(made: LabOnMoto, address: str, tmp_path: Path) -> None:
    decision = Decision("the-command", "refused", "the budget is reached", EIGHT)
    made.capacity.ledger.decide("gpu", decision)
    outputs = {"LedgerTable": LEDGER, "CommandsUrl": address, "Region": REGION}
    account = Account("123456789012", REGION, lambda: EIGHT, Deployment("lab", outputs, Says(EIGHT)))
    said: list[str] = []
    journal = Journal(tmp_path / "journal.json", "an account")
    course.play(account, [failsafe.STEP], LIMIT, journal, said.append, said.append)
    assert journal.results[0].evidence == ["the lab did not grant a lease of one node: the budget is reached"]
    assert not [line for line in said if "undoing lease" in line]


def test_an_order_that_the_lab_did_not_take_leaves_no_lease_to_wait_for(
    account: Account, tmp_path: Path
) -> None:
    said: list[str] = []
    journal = Journal(tmp_path / "journal.json", "an account")
    course.play(account, [failsafe.STEP], LIMIT, journal, said.append, said.append)
    assert "this version of the lab has no address for 'open'" in journal.results[0].evidence[0]
    assert not [line for line in said if "undoing lease" in line]


def test_what_a_destroyed_lab_had_is_undone(account: Account) -> None:
    gone = replace(account, deployment=None)
    undo(gone, Undo(UndoKind.LEASE, "lab/gpu/lamplighter-verify-00000000"))
    undo(gone, Undo(UndoKind.SIZE, "lab/gpu/group"))


def test_a_role_has_the_boundary_of_the_organisation(account: Account, made: LabOnMoto) -> None:
    boundary = "arn:aws:iam::123456789012:policy/organisation-boundary"
    lab = Lab.model_validate({"name": "lab", "permissions_boundary": boundary})
    made.capacity.ledger.put_document(lab.to_json(), EIGHT)
    account.create_stack(throwaway.STACK, throwaway.schedule())
    iam = boto3.client("iam")
    [name] = [role["RoleName"] for role in iam.list_roles()["Roles"] if throwaway.STACK in role["RoleName"]]
    assert iam.get_role(RoleName=name)["Role"]["PermissionsBoundary"]["PermissionsBoundaryArn"] == boundary


def test_instances_end_themselves_where_nobody_resumes(account: Account, tmp_path: Path) -> None:
    asked: list[Mapping[str, Any]] = []

    def starts(_service: str, operation: str, given: Mapping[str, Any]) -> None:
        if operation == "RunInstances":
            asked.append(given)
            raise ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, operation)

    hours = count()
    account.clock = lambda: EIGHT + next(hours) * HOUR
    with heard(starts):
        played(account, tmp_path, replace(foreign_starts.STEP, fits=lambda _: None))

    [start] = asked
    assert start["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert "shutdown -h +30" in start["UserData"]


def test_an_answer_that_breaks_off_is_none(account: Account, tmp_path: Path) -> None:
    class BreaksOff(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "9")
            self.end_headers()

    secret = boto3.client("secretsmanager").create_secret(Name="app", SecretString=json.dumps({
        "signing_secret": "s3cret", "bot_token": "xoxb-1"}))["ARN"]  # fmt: skip
    with HTTPServer(("127.0.0.1", 0), BreaksOff) as server:
        Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        outputs = {"LedgerTable": LEDGER, "SlackUrl": url, "SlackSecretArn": secret}
        account.deployment = Deployment("lab", outputs, Says(EIGHT))
        journal = Journal(tmp_path / "journal.json", "an account")
        step = replace(slack.STEP, fits=lambda _: None)
        assert not course.play(account, [step], LIMIT, journal, lambda _: None, lambda _: None)

    [line] = journal.results[0].evidence
    assert line.startswith("the lab's address for Slack did not answer: ")
    assert "s3cret" not in journal.path.read_text("utf-8")
