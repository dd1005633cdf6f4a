"""The step `again` of `lamplighter verify` needs no lab: it passes, each fault fails it, and nothing is left."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from local.aws.cloudformation import deployment
from local.aws.cloudformation.deployment import Deployment
from local.aws.cloudformation.kinds import Order, Physical
from local.aws.cloudformation.registry import KINDS
from local.aws.cloudformation.service import CloudFormation
from local.aws.cloudformation.stack import Stack
from local.clock_page import ClockPage
from tests.account_recording.administrator import administrator
from tests.local.conftest import Aws, embedded
from tests.scenarios.command_line.commands import Command, commands
from tests.scenarios.verification.test_verify import JOURNAL, THROWAWAY, patched
from tests.steady.hang import HANG_SECONDS

pytestmark = pytest.mark.long
SECRET = "AWS::SecretsManager::Secret"
VERIFY = "verify", "--yes", "--steps", "again", "--json", "report.json"


class Verified:
    """An account without a lab, and the folder in which the command is called."""

    def __init__(self, aws: Aws, folder: Path) -> None:
        self.aws, self.folder = aws, folder
        self.environment: Mapping[str, str] = {
            **os.environ,
            **aws.environment(),
            **administrator(aws.embedded),
            "LAMPLIGHTER_SLEEP": f"{aws.embedded.endpoint}{ClockPage.SLEEP}",
        }

    def begun(self, *words: str) -> Command:
        return commands().begin((*VERIFY, *words), self.environment, self.folder)

    def verify(self, *words: str) -> tuple[str, str]:
        """The verdict, and the last line of evidence."""
        with self.begun(*words) as program:
            program.communicate()
        [result] = json.loads((self.folder / "report.json").read_text("utf-8"))["steps"]
        return result["verdict"], result["evidence"][-1]

    def left(self) -> list[str]:
        """What is left in the account and in the folder."""
        call = self.aws.call
        names = [
            *call("dynamodb", "list_tables")["TableNames"],
            *(stack["StackName"] for stack in call("cloudformation", "describe_stacks")["Stacks"]),
            *(secret["Name"] for secret in call("secretsmanager", "list_secrets")["SecretList"]),
            *(group["logGroupName"] for group in call("logs", "describe_log_groups")["logGroups"]),
            *(group["Name"] for group in call("scheduler", "list_schedule_groups")["ScheduleGroups"]),
        ]
        return [name for name in names if name.startswith(THROWAWAY)] + [
            path.name for path in self.folder.glob(JOURNAL)
        ]


@pytest.fixture
def verified(tmp_path: Path) -> Iterator[Verified]:
    folder = tmp_path / "verify"
    folder.mkdir()
    with embedded(tmp_path) as aws:
        aws.clock.hurry(True)
        aws.embedded.server.page(ClockPage.PATH, ClockPage(aws.clock).answer)
        yield Verified(aws, folder)


def test_the_same_names_are_deployed_again(verified: Verified) -> None:
    verdict, line = verified.verify()
    assert verdict == "passed", line
    assert verified.left() == []


@contextmanager
def secrets_have_a_recovery_window() -> Iterator[None]:
    def deleted(order: Order, physical: Physical) -> None:
        order.call("secretsmanager", "delete_secret", SecretId=physical.id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS, SECRET, replace(KINDS[SECRET], delete=deleted))
        yield


@contextmanager
def a_roll_back_deletes_what_it_imported() -> Iterator[None]:
    roll_back = Deployment._roll_back

    def forgets(of_stack: Deployment, *how: str) -> None:
        of_stack.imported.clear()
        roll_back(of_stack, *how)

    with patched(Deployment, "_roll_back", forgets):
        yield


FAULTS: dict[str, tuple[Callable[[], AbstractContextManager[None]], str]] = {
    "the destroy keeps nothing": (
        lambda: patched(deployment, "RETAIN", frozenset()),
        "the destroy deleted the table",
    ),
    "a roll-back deletes": (a_roll_back_deletes_what_it_imported, "the roll-back of a deploy"),
    "nothing is imported": (
        lambda: patched(Deployment, "_there", lambda *_: None),
        "Kept: ",
    ),
    "the secret's name is taken": (secrets_have_a_recovery_window, "Secret: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_step(verified: Verified, fault: str) -> None:
    makes, evidence = FAULTS[fault]
    with makes():
        verdict, last = verified.verify()

    assert verdict == "failed"
    assert evidence in last
    assert verified.left() == []


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_ends_early_leaves_nothing(verified: Verified, sent: int) -> None:
    with verified.begun() as program:
        assert program.stderr is not None
        for said in program.stderr:
            if "the destroy kept the table" in said:
                program.send_signal(sent)
                break
        program.communicate()
    assert JOURNAL in verified.left()

    assert verified.verify("--resume")[0] == "passed"
    assert verified.left() == []


def test_a_stack_at_work_is_awaited_before_it_is_deleted(verified: Verified) -> None:
    begun, killed, looks, goes_on = Event(), Event(), count(1), verified.aws.clock.event()
    apply, find = Deployment.apply, CloudFormation._find

    def held(of_stack: Deployment, *how: Any) -> None:
        begun.set()
        goes_on.wait()
        apply(of_stack, *how)

    def found(stacks: CloudFormation, name: str, **how: bool) -> Stack:
        # Who deletes it after the first look is refused.
        if killed.is_set() and next(looks) == 2:
            goes_on.set()
        return find(stacks, name, **how)

    with patched(Deployment, "apply", held), patched(CloudFormation, "_find", found):
        with verified.begun() as program:
            assert begun.wait(HANG_SECONDS)
            program.send_signal(signal.SIGKILL)
            program.communicate()
        killed.set()
        try:
            assert verified.verify("--resume")[0] == "passed"
        finally:
            goes_on.set()
    assert verified.left() == []
