"""The four workflows as Step Functions will read them."""

from typing import Any

import pytest

from tests.infra.workflow_definitions import definitions

OPEN = [
    "Admit",
    "ArmFailsafe",
    "Scale",
    "AwaitNodes",
    "ApplyGpuSettings",
    "AwaitGpus",
    "Validate",
    "Announce",
]
CLOSE = ["Announce", "RestoreExperiments", "Drain", "Scale", "ProveZero", "Settle", "Disarm", "Receipt"]
EXTEND = ["Extend", "Announce"]
CHANGE = ["Change", "Plan", "Announce"]
STEPS = {"open": OPEN, "close": CLOSE, "extend": EXTEND, "change": CHANGE}


def workflows() -> dict[str, dict[str, Any]]:
    return definitions()


def tasks_along(workflow: dict[str, Any]) -> list[str]:
    """The task states in the order in which a run without trouble goes through them."""
    seen, name = [], workflow["StartAt"]
    while name is not None and name not in seen:
        state = workflow["States"][name]
        seen.append(name)
        if state["Type"] == "Choice":
            # The way on is the one that leads to a step not made yet.
            ways = [choice["Next"] for choice in state["Choices"]] + [state["Default"]]
            steps = [way for way in ways if workflow["States"][way]["Type"] == "Task"]
            name = next((way for way in steps if way not in seen and way != "MarkLeaked"), None)
        else:
            name = state.get("Next")
    return [name for name in seen if workflow["States"][name]["Type"] == "Task"]


@pytest.mark.parametrize("workflow", STEPS)
def test_the_steps_are_those_of_the_design_in_order(workflow: str) -> None:
    assert tasks_along(workflows()[workflow]) == STEPS[workflow]


@pytest.mark.parametrize("workflow", STEPS)
def test_every_step_gets_its_name_and_the_run_and_leaves_its_result_under_its_name(workflow: str) -> None:
    for name in STEPS[workflow]:
        state = workflows()[workflow]["States"][name]
        assert state["Parameters"] == {"step": name, "run.$": "$"}
        assert state["ResultPath"] == f"$.results.{name}"


@pytest.mark.parametrize("workflow", STEPS)
def test_a_poll_is_a_retry_at_a_fixed_interval_and_a_final_no_is_never_repeated(workflow: str) -> None:
    for name in STEPS[workflow]:
        final, poll, trouble = workflows()[workflow]["States"][name]["Retry"]
        assert (final["ErrorEquals"], final["MaxAttempts"]) == (["BadInput", "Refused", "Stale"], 0)
        assert (poll["ErrorEquals"], poll["BackoffRate"]) == (["TryLater"], 1)
        assert trouble["ErrorEquals"] == ["States.ALL"]


def test_proof_of_zero_is_sought_for_more_than_half_an_hour() -> None:
    poll = workflows()["close"]["States"]["ProveZero"]["Retry"][1]
    assert poll["IntervalSeconds"] * poll["MaxAttempts"] > 30 * 60


def test_every_failure_of_ours_while_opening_leads_to_closing() -> None:
    states = workflows()["open"]["States"]
    for name in OPEN[:-1]:
        assert [catch["Next"] for catch in states[name]["Catch"]] == ["LeaseIsOver", "CloseAfterFailure"]
    assert states["CloseAfterFailure"]["Resource"].endswith(":states:startExecution")
    command = states["CloseAfterFailure"]["Parameters"]["Input"]["command"]
    assert command["verb"] == "close"
    assert command["opened_by.$"] == "$.command.id"


def test_a_notice_that_cannot_be_sent_closes_nothing() -> None:
    assert [catch["Next"] for catch in workflows()["open"]["States"]["Announce"]["Catch"]] == [
        "IsNodeMissing"
    ]


def test_a_shortage_goes_round_again_behind_an_armed_failsafe() -> None:
    states = workflows()["open"]["States"]
    assert states["IsNodeMissing"]["Choices"][0]["Next"] == "WaitForCapacity"
    assert (states["WaitForCapacity"]["Seconds"], states["WaitForCapacity"]["Next"]) == (300, "ArmFailsafe")


def test_while_closing_no_failure_skips_the_way_to_zero() -> None:
    states = workflows()["close"]["States"]
    catches = {name: states[name]["Catch"][0]["Next"] for name in [*CLOSE, "MarkLeaked"]}
    assert catches == {
        "Announce": "RestoreExperiments",
        "RestoreExperiments": "Drain",
        "Drain": "Scale",
        "Scale": "ProveZero",
        "ProveZero": "MarkLeaked",
        "MarkLeaked": "PoolLeaked",
        "Settle": "NotSettled",
        "Disarm": "Receipt",
        "Receipt": "NotSettled",
    }


def test_without_proof_of_zero_the_pool_is_leaked() -> None:
    choice = workflows()["close"]["States"]["IsZeroProven"]
    assert (choice["Choices"][0]["Variable"], choice["Default"]) == ("$.results.ProveZero.zero", "MarkLeaked")
