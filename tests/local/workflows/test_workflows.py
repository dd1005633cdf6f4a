"""The three workflows as they are synthesised, run with functions that answer from a script."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.infra.workflow_definitions import FUNCTIONS, definitions

# Each step takes the next line of its script; without one it answers what opens and closes quietly.
SCRIPTED = """
import json, pathlib
class TryLater(Exception): pass
class Stale(Exception): pass
class Broken(Exception): pass
QUIET = {
    "Admit": {"outcome": "granted", "later": False, "lease": {"id": "cli-1"}},
    "Scale": {"over": False},
    "AwaitNodes": {"shortage": None},
    "Validate": {"verdict": "passed", "then": "keep"},
    "HandOn": {"handed_on": False},
    "RestoreExperiments": {"over": False},
    "ProveZero": {"zero": True},
}
def handler(event, context):
    folder, step = pathlib.Path(FOLDER), event["step"]
    if step == "Warm":
        with open(folder / "warmed", "a") as warmed:
            warmed.write(context.function_name + "\\n")
        return {}
    with open(folder / "calls", "a") as calls:
        calls.write(json.dumps(event) + "\\n")
    script = json.loads((folder / "script").read_text())
    lines = script.get(step, [])
    answer = lines.pop(0) if lines else QUIET.get(step, {})
    (folder / "script").write_text(json.dumps(script))
    if isinstance(answer, str):
        raise {"TryLater": TryLater, "Stale": Stale, "Broken": Broken}[answer]("as scripted")
    return answer
"""
ALWAYS = 6
"""As often as a step is tried at all."""
COMMAND = {"id": "cli-open-1", "pool": "gpu", "owner": "alice", "verb": "open"}


class Workflows:
    """The deployed workflows, and what their functions were asked."""

    def __init__(self, aws: Any, folder: Path) -> None:
        self._aws, self._folder = aws, folder
        code = f"FOLDER = {str(folder)!r}\n{SCRIPTED}"
        for name in FUNCTIONS:
            aws.function(name, code)
        role = aws.role("workflows", "lambda:InvokeFunction", "states:*")
        account = role.split(":")[4]
        close = f"arn:aws:states:ap-northeast-2:{account}:stateMachine:close"
        self.arns = {
            name: aws.call(
                "stepfunctions",
                "create_state_machine",
                name=name,
                definition=json.dumps(definition),
                roleArn=role,
            )["stateMachineArn"]
            for name, definition in definitions(close).items()
        }
        aws.clock.hurry(True)

    def run(self, workflow: str, **script: list[object]) -> str:
        (self._folder / "script").write_text(json.dumps(script))
        (self._folder / "calls").write_text("")
        started = self._aws.call(
            "stepfunctions",
            "start_execution",
            stateMachineArn=self.arns[workflow],
            input=json.dumps({"command": COMMAND}),
        )
        self._aws.embedded.moto_additions.wait_for_execution(started["executionArn"])
        found = self._aws.call("stepfunctions", "describe_execution", executionArn=started["executionArn"])
        return str(found["status"])

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self._folder / "calls").read_text().splitlines()]

    @property
    def steps(self) -> list[str]:
        return [call["step"] for call in self.calls]

    @property
    def warmed(self) -> list[str]:
        """The functions that were asked to start, in this and earlier runs."""
        return (self._folder / "warmed").read_text().splitlines()

    def closes(self) -> list[dict[str, Any]]:
        """The commands of the CloseLab runs."""
        found = self._aws.call("stepfunctions", "list_executions", stateMachineArn=self.arns["close"])
        commands = []
        for each in found["executions"]:
            self._aws.embedded.moto_additions.wait_for_execution(each["executionArn"])
            described = self._aws.call(
                "stepfunctions", "describe_execution", executionArn=each["executionArn"]
            )
            commands.append(json.loads(described["input"])["command"])
        return commands


@pytest.fixture
def lab(aws: Any, tmp_path: Path) -> Workflows:
    folder = tmp_path / "scripted"
    folder.mkdir()
    return Workflows(aws, folder)


def test_an_opening_without_trouble_goes_through_every_step_once(lab: Workflows) -> None:
    assert lab.run("open") == "SUCCEEDED"
    assert lab.steps == [
        "Admit",
        "ArmFailsafe",
        "Scale",
        "AwaitNodes",
        "ApplyGpuSettings",
        "AwaitGpus",
        "Validate",
        "Announce",
    ]
    assert set(lab.calls[-1]["run"]["results"]) == set(lab.steps[:-1])
    assert lab.warmed == ["nodegroups", "notices"]


#: A workflow, what its functions answer, and the steps of its run.
SHORT_RUNS: tuple[tuple[str, dict[str, list[object]], list[str]], ...] = (
    ("open", {"Admit": [{"outcome": "refused"}]}, ["Admit", "Announce"]),
    ("open", {"Admit": [{"outcome": "granted", "later": True}]}, ["Admit", "Announce"]),
    ("open", {"Scale": [{"over": True}]}, ["Admit", "ArmFailsafe", "Scale"]),
    ("open", {"Scale": ["Stale"]}, ["Admit", "ArmFailsafe", "Scale"]),
    ("close", {"RestoreExperiments": [{"over": True}]}, ["Announce", "RestoreExperiments"]),
    ("extend", {}, ["Extend", "Announce"]),
)


def test_a_run_whose_lease_is_refused_later_over_or_another_s_goes_no_further(lab: Workflows) -> None:
    for workflow, script, steps in SHORT_RUNS:
        assert lab.run(workflow, **script) == "SUCCEEDED", script
        assert lab.steps == steps, script
        assert workflow != "open" or lab.closes() == [], script


def test_a_step_is_asked_again_while_it_says_try_later(lab: Workflows) -> None:
    assert lab.run("open", AwaitNodes=["TryLater", "TryLater"]) == "SUCCEEDED"
    assert lab.steps.count("AwaitNodes") == 3


def test_a_failure_that_stays_closes_what_was_opened(lab: Workflows) -> None:
    assert lab.run("open", AwaitGpus=["Broken"] * ALWAYS) == "FAILED"

    [command] = lab.closes()
    assert (command["verb"], command["pool"], command["opened_by"]) == ("close", "gpu", "cli-open-1")
    assert command["because"].startswith("Broken: ")
    assert "as scripted" in command["because"]
    assert lab.steps[-9:] == [
        "Announce",
        "RestoreExperiments",
        "GiveBack",
        "Drain",
        "Scale",
        "ProveZero",
        "Settle",
        "Disarm",
        "Receipt",
    ]


def test_a_shortage_goes_round_every_five_minutes_until_all_came(lab: Workflows, aws: Any) -> None:
    begun = aws.clock.time()

    assert lab.run("open", AwaitNodes=[{"shortage": "1 of 2 nodes"}]) == "SUCCEEDED"

    assert aws.clock.time() - begun >= 300
    assert lab.steps.count("Scale") == 2
    assert lab.steps[7:12] == ["Diagnose", "Announce", "Release", "HandOn", "ArmFailsafe"]
