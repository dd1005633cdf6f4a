"""The template of the how-to of pipelines: what cfn-lint says of it, and what its roles may do."""

from typing import Any

import yaml

from tests.checkout import ROOT
from tests.infra.cfn_lint import NOTHING, complaints

FILE = ROOT / "docs/how-to/run/pipeline/pipeline.yaml"
RESOURCES: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))["Resources"]


def test_cfn_lint_finds_nothing() -> None:
    assert complaints([FILE], ignored=["E0000"]) == NOTHING


def tasks(machine: str) -> dict[str, str]:
    """The states that call AWS, with what they call."""
    states = RESOURCES[machine]["Properties"]["Definition"]["States"]
    return {name: state["Resource"] for name, state in states.items() if state["Type"] == "Task"}


def allowed(role: str) -> set[str]:
    return {
        action
        for policy in RESOURCES[role]["Properties"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }


def called(resource: str) -> str:
    """A Task's call as IAM names it."""
    service, action = resource.removeprefix("arn:aws:states:::").removeprefix("aws-sdk:").split(":")
    name = action.partition(".")[0]
    return f"{'states' if service == 'sfn' else service}:{name[0].upper()}{name[1:]}"


def test_each_role_may_do_what_its_machine_calls_and_no_more() -> None:
    # The cluster's access entry decides about Jobs.
    in_kubernetes = {"eks:RunJob"}
    for machine, role in (("Pipeline", "PipelineRole"), ("Answers", "AnswersRole")):
        assert {called(resource) for resource in tasks(machine).values()} - in_kubernetes == allowed(role)


def test_every_task_before_the_close_leads_to_it_when_it_fails() -> None:
    states = RESOURCES["Pipeline"]["Properties"]["Definition"]["States"]
    for name in tasks("Pipeline"):
        if name != "Close":
            [catcher] = states[name]["Catch"]
            assert (catcher["ErrorEquals"], catcher["Next"]) == (["States.ALL"], "Close")


def test_every_wait_has_an_end_before_the_lease_has() -> None:
    states = RESOURCES["Pipeline"]["Properties"]["Definition"]["States"]
    leased = states["Open"]["Parameters"]["Entries"][0]["Detail"]["for_seconds"]

    job = states["Train"]["Parameters"]["Job"]["spec"]["activeDeadlineSeconds"]
    assert job < states["Train"]["TimeoutSeconds"] < leased
    assert states["AwaitOpen"]["TimeoutSeconds"] < leased
