"""The five workflows as Step Functions will read them."""

from typing import Any

import pytest

from lamplighter.application.cluster.settings import LATE, PATIENCE
from lamplighter.domain.schedules.failsafe import FIRES_WITHIN, RETRIED
from lamplighter.domain.schedules.schedule import NEAREST
from local.aws.stepfunctions.choice import holds
from tests.infra.workflow_definitions import definitions

OPEN = [
    *("Admit", "ArmFailsafe", "Scale", "AwaitNodes", "ApplyGpuSettings", "AwaitGpus", "Validate", "Announce"),
    *("Release", "HandOn"),
]
#: States that let a function start: which, and before which step.
WARM = {"WarmNodegroups": ("nodegroups", "Admit"), "WarmNotices": ("notices", "Validate")}
#: States that a run without trouble does not come to.
TROUBLE = ("MarkLeaked", "AwaitLateGpus")
CLOSE = [
    *(
        "Announce",
        "RestoreExperiments",
        "GiveBack",
        "Drain",
        "Scale",
        "ProveZero",
        "Settle",
        "Disarm",
        "Receipt",
    )
]
EXTEND = ["Extend", "Announce"]
CHANGE = ["Change", "Plan", "Announce"]
EXPERIMENT = [
    *("Prepare", "AnnounceChange", "Change", "Observe", "Restore", "ProveRestored", "Report", "Announce")
]
STEPS = {"open": OPEN, "close": CLOSE, "extend": EXTEND, "change": CHANGE, "experiment": EXPERIMENT}


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
            name = next((way for way in steps if way not in {*seen, *TROUBLE}), None)
        else:
            name = state.get("Next")
    return [name for name in seen if workflow["States"][name]["Type"] == "Task" and name not in WARM]


@pytest.mark.parametrize("workflow", STEPS)
def test_the_steps_are_those_of_the_design_in_order(workflow: str) -> None:
    assert tasks_along(definitions()[workflow]) == STEPS[workflow]


@pytest.mark.parametrize("workflow", STEPS)
def test_every_step_gets_its_name_and_the_run_and_leaves_its_result_under_its_name(workflow: str) -> None:
    for name in STEPS[workflow]:
        state = definitions()[workflow]["States"][name]
        assert state["Parameters"] == {"step": name, "run.$": "$", "execution.$": "$$.Execution.Id"}
        assert state["ResultPath"] == f"$.results.{name}"


@pytest.mark.parametrize("workflow", STEPS)
def test_a_poll_is_a_retry_and_a_final_no_is_never_repeated(workflow: str) -> None:
    for name in STEPS[workflow]:
        final, poll, trouble = definitions()[workflow]["States"][name]["Retry"]
        assert (final["ErrorEquals"], final["MaxAttempts"]) == (["BadInput", "Refused", "Stale"], 0)
        assert poll["ErrorEquals"] == ["TryLater"]
        # Only what may take hours is asked about ever less often, and never seldom.
        slows_down = name == "Validate"
        assert (poll["BackoffRate"] > 1, poll.get("MaxDelaySeconds", 0) <= 10) == (slows_down, True)
        assert trouble["ErrorEquals"] == ["States.ALL"]


@pytest.mark.parametrize("name", WARM)
def test_a_function_starts_before_it_is_needed_and_nothing_waits_for_it(name: str) -> None:
    found = definitions()["open"]["States"]
    function, following = WARM[name]
    parameters = found[name]["Parameters"]
    assert (parameters["InvocationType"], parameters["Payload"]) == ("Event", {"step": "Warm", "run": {}})
    assert parameters["FunctionName"].endswith(f":function:{function}")
    assert found[name]["Next"] == following
    # Where Lambda refuses, the step starts cold; the run's state stays as it is.
    assert found[name]["Catch"] == [{"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": following}]
    assert (found[name]["ResultPath"], found[name].get("Retry")) == (None, None)


def test_an_opening_begins_with_the_function_that_orders_nodes() -> None:
    assert definitions()["open"]["StartAt"] == "WarmNodegroups"
    assert definitions()["open"]["States"]["AwaitGpus"]["Next"] == "WarmNotices"


def test_proof_of_zero_is_sought_for_more_than_half_an_hour() -> None:
    poll = definitions()["close"]["States"]["ProveZero"]["Retry"][1]
    assert poll["IntervalSeconds"] * poll["MaxAttempts"] > 30 * 60


@pytest.mark.parametrize(
    ("workflow", "step"), [("open", "Admit"), ("extend", "Extend"), ("change", "Change")]
)
def test_a_command_is_decided_however_long_all_functions_are_busy(workflow: str, step: str) -> None:
    """It is good for a quarter of an hour, and is refused as too old after that: nobody goes without an answer."""
    trouble = definitions()[workflow]["States"][step]["Retry"][-1]
    waits = [
        min(trouble["IntervalSeconds"] * trouble["BackoffRate"] ** tried, trouble["MaxDelaySeconds"])
        for tried in range(trouble["MaxAttempts"])
    ]

    assert (trouble["ErrorEquals"], sum(waits) > 15 * 60) == (["States.ALL"], True)


def test_a_receipt_is_tried_for_an_hour_since_nobody_else_writes_it() -> None:
    final, poll, trouble = definitions()["close"]["States"]["Receipt"]["Retry"]
    waits = [
        min(trouble["IntervalSeconds"] * trouble["BackoffRate"] ** tried, trouble["MaxDelaySeconds"])
        for tried in range(trouble["MaxAttempts"])
    ]
    assert (trouble["ErrorEquals"], sum(waits) > 60 * 60) == (["States.ALL"], True)
    # throttled for as long
    assert poll["IntervalSeconds"] * poll["MaxAttempts"] > 60 * 60
    assert final["MaxAttempts"] == 0


@pytest.mark.parametrize(("workflow", "step"), [("open", "Admit"), ("close", "Disarm")])
def test_a_shot_of_the_failsafe_is_waited_for_to_its_end(workflow: str, step: str) -> None:
    poll = definitions()[workflow]["States"][step]["Retry"][1]
    assert poll["IntervalSeconds"] * poll["MaxAttempts"] > (NEAREST + FIRES_WITHIN + RETRIED).total_seconds()


def test_every_failure_of_ours_while_opening_leads_to_closing() -> None:
    states = definitions()["open"]["States"]
    for name in (each for each in OPEN if each not in {"Announce", "HandOn"}):
        assert [catch["Next"] for catch in states[name]["Catch"]] == ["LeaseIsOver", "CloseAfterFailure"]
    assert states["CloseAfterFailure"]["Resource"].endswith(":states:startExecution")
    command = states["CloseAfterFailure"]["Parameters"]["Input"]["command"]
    assert command["verb"] == "close"
    assert command["opened_by.$"] == "$.command.id"


def test_a_notice_that_cannot_be_sent_closes_nothing() -> None:
    assert [catch["Next"] for catch in definitions()["open"]["States"]["Announce"]["Catch"]] == [
        "IsNodeMissing"
    ]


def test_a_shortage_goes_round_again_behind_an_armed_failsafe() -> None:
    states = definitions()["open"]["States"]
    assert states["IsNodeMissing"]["Choices"][-1]["Next"] == "Release"
    assert states["Release"]["Next"] == "WaitForCapacity"
    assert (states["WaitForCapacity"]["Seconds"], states["WaitForCapacity"]["Next"]) == (300, "HandOn")


def test_a_node_pool_that_has_no_node_yet_goes_round_without_a_release() -> None:
    choices = definitions(adopts_node_pools=True)["open"]["States"]["IsNodeMissing"]["Choices"]

    def after_the_notice(**awaited: object) -> str | None:
        data = {"results": {"AwaitNodes": {"shortage": None, "instances": [], **awaited}}}
        return next((rule["Next"] for rule in choices if holds(rule, data, {})), None)

    assert after_the_notice(with_pods="no node yet") == "WaitForCapacity"
    # What came is proven, and then the run is over.
    assert after_the_notice(with_pods="more come", instances=[{"id": "i-1"}]) is None
    assert after_the_notice() is None
    assert choices[1:] == definitions()["open"]["States"]["IsNodeMissing"]["Choices"]


def test_a_lease_without_any_node_moves_only_after_nothing_is_ordered_or_held_for_it() -> None:
    assert "FallBack" not in definitions()["open"]["States"]
    states = definitions(falls_back=True)["open"]["States"]
    choice = states[states["AwaitNodes"]["Next"]]

    def after(state: dict[str, Any], step: str, **result: object) -> str:
        data = {"results": {step: result}}
        return next((rule["Next"] for rule in state["Choices"] if holds(rule, data, {})), state["Default"])

    assert after(choice, "AwaitNodes", shortage="no capacity") == "ApplyGpuSettings"
    assert after(choice, "AwaitNodes", shortage="no capacity", falls_back=True) == "ReleaseForFallback"
    assert states["ReleaseForFallback"]["Next"] == "FallBack"
    moved = states[states["FallBack"]["Next"]]
    assert after(moved, "FallBack", moved=False) == "ApplyGpuSettings"
    assert states[after(moved, "FallBack", moved=True)]["Type"] == "Succeed"
    assert [catch["Next"] for catch in states["FallBack"]["Catch"]] == ["ApplyGpuSettings"]


def test_a_run_that_is_handed_on_ends_and_whatever_keeps_it_from_that_lets_it_go_on() -> None:
    states = definitions()["open"]["States"]
    assert states["HandOn"]["Next"] == "IsHandedOn"
    (handed_on,) = states["IsHandedOn"]["Choices"]
    assert (states[handed_on["Next"]]["Type"], states["IsHandedOn"]["Default"]) == ("Succeed", "ArmFailsafe")
    assert [catch["Next"] for catch in states["HandOn"]["Catch"]] == ["ArmFailsafe"]


def test_what_is_late_missing_or_not_proven_is_diagnosed_and_what_is_well_is_not() -> None:
    states = definitions()["open"]["States"]
    well = {
        "AwaitNodes": {"shortage": None},
        "AwaitGpus": {"not_ready": [], "late": False},
        "Validate": {"verdict": "passed"},
    }

    def after_validate(**results: dict[str, object]) -> str:
        data = {"results": {**well, **results}}
        choice = states[states["Validate"]["Next"]]
        return str(
            next((rule["Next"] for rule in choice["Choices"] if holds(rule, data, {})), choice["Default"])
        )

    assert after_validate() == "Announce"
    assert after_validate(AwaitNodes={"shortage": "1 of 2 nodes: no capacity"}) == "Diagnose"
    assert after_validate(AwaitGpus={"not_ready": [{"name": "a", "why": "b"}], "late": True}) == "Diagnose"
    assert after_validate(Validate={"verdict": "failed"}) == "Diagnose"
    assert after_validate(Validate={"verdict": "not-proven"}) == "Diagnose"
    assert after_validate(Validate={"verdict": "not-proven", "over": True}) == "Announce"


REPLACING = ["AnnounceReplacement", "Empty", "Replace"]


def test_what_failed_is_announced_emptied_and_replaced_and_then_judged_again() -> None:
    states = definitions()["open"]["States"]
    failed = {"verdict": "failed", "then": "replace"}
    choices = states["IsAllWell"]["Choices"]
    data = {"results": {"Validate": failed, "AwaitNodes": {"shortage": None}, "AwaitGpus": {"not_ready": []}}}
    assert next(rule["Next"] for rule in choices if holds(rule, data, {})) == REPLACING[0]
    assert [states[name]["Next"] for name in REPLACING] == ["Empty", "Replace", "AwaitNodes"]
    for name in REPLACING:
        assert states[name]["Parameters"] == {"step": name, "run.$": "$", "execution.$": "$$.Execution.Id"}
        assert states[name]["ResultPath"] == f"$.results.{name}"
    for name in REPLACING[1:]:
        assert [catch["Next"] for catch in states[name]["Catch"]] == ["LeaseIsOver", "CloseAfterFailure"]
    # Nobody keeps a broken GPU because a notice could not be sent.
    assert [catch["Next"] for catch in states["AnnounceReplacement"]["Catch"]] == ["Empty"]


def test_where_the_lab_closes_what_failed_it_is_announced_first_and_the_reason_goes_along() -> None:
    states = definitions()["open"]["States"]
    data = {"results": {"Validate": {"verdict": "failed", "then": "close"}}}
    choices = states["IsNodeMissing"]["Choices"]
    assert next(rule["Next"] for rule in choices if holds(rule, data, {})) == "ChecksFailed"
    assert states["ChecksFailed"]["Parameters"]["Cause.$"] == "$.results.Validate.because"
    assert states["ChecksFailed"]["ResultPath"] == "$.failure"
    assert states["ChecksFailed"]["Next"] == "CloseAfterFailure"


def test_a_diagnosis_that_fails_keeps_no_lab_from_opening() -> None:
    catch = definitions()["open"]["States"]["Diagnose"]["Catch"]
    assert [(each["ErrorEquals"], each["Next"]) for each in catch] == [(["States.ALL"], "Announce")]
    # What an earlier round found must not be told again.
    assert catch[0]["ResultPath"] == "$.results.Diagnose"


def test_nodes_that_are_only_late_are_waited_for_after_the_notice() -> None:
    states = definitions()["open"]["States"]
    late = {"results": {"AwaitNodes": {"shortage": None}, "AwaitGpus": {"late": True}}}
    following = next(rule["Next"] for rule in states["IsNodeMissing"]["Choices"] if holds(rule, late, {}))
    soon, again = states["AwaitGpus"], states[following]
    # The same step in another rhythm: everybody waits for the first, nobody for the second.
    assert {**again, "Comment": "", "Retry": []} == {**soon, "Comment": "", "Retry": []}
    rhythms = [each["Retry"][1] for each in (soon, again)]
    assert [each["IntervalSeconds"] for each in rhythms] == [2, 10]
    for rhythm, longest in zip(rhythms, (LATE, PATIENCE - LATE), strict=True):
        assert rhythm["IntervalSeconds"] * rhythm["MaxAttempts"] > longest.total_seconds()


def test_while_closing_no_failure_skips_the_way_to_zero() -> None:
    states = definitions()["close"]["States"]
    catches = {name: states[name]["Catch"][0]["Next"] for name in [*CLOSE, "MarkLeaked"]}
    assert catches == {
        "Announce": "RestoreExperiments",
        "RestoreExperiments": "GiveBack",
        "GiveBack": "Drain",
        "Drain": "Scale",
        "Scale": "ProveZero",
        "ProveZero": "MarkLeaked",
        "MarkLeaked": "PoolLeaked",
        "Settle": "NotSettled",
        "Disarm": "Receipt",
        "Receipt": "NotSettled",
    }


def test_without_proof_of_zero_the_pool_is_leaked() -> None:
    choice = definitions()["close"]["States"]["IsZeroProven"]
    assert (choice["Choices"][0]["Variable"], choice["Default"]) == ("$.results.ProveZero.zero", "MarkLeaked")
