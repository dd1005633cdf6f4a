"""No run passes 25,000 events: counted on the pictures, with every retry that they allow."""

from typing import Any

from lamplighter.domain.granting.handing_on import MOST_EVENTS
from local.aws.stepfunctions.limits import Limits
from tests.infra.workflow_definitions import definitions

FULL = Limits().history_events
GRANTED = ["WarmNodegroups", "Admit"]
#: From a round's beginning to its HandOn: replaced nodes are awaited and judged once more, late ones again.
TO_THE_ORDER = ["ArmFailsafe", "Scale"]
ONE_LOOK = ["AwaitNodes", "ApplyGpuSettings", "AwaitGpus", "WarmNotices", "Validate"]
REPLACED = ["AnnounceReplacement", "Empty", "Replace"]
TOLD = ["Diagnose", "Announce"]
LATE = ["AwaitLateGpus", "WarmNotices", "Validate"]
ROUND = [
    *(*TO_THE_ORDER, *ONE_LOOK, *REPLACED, *ONE_LOOK, *TOLD, *LATE, *TOLD),
    *("Release", "WaitForCapacity", "HandOn"),
]


FALLBACK = ["HasNoNode", "ReleaseForFallback", "FallBack", "IsMoved", "HasNoNode"]


def most_events(state: dict[str, Any]) -> int:
    """Entered and left; three for each try of a task, and one look of the Choice after it."""
    if state["Type"] != "Task":
        return 4
    return 4 + 3 * (1 + sum(retrier["MaxAttempts"] for retrier in state.get("Retry", [])))


def test_a_run_that_needs_every_try_of_every_step_comes_to_its_first_hand_over() -> None:
    states = definitions()["open"]["States"]
    assert 2 + sum(most_events(states[name]) for name in [*GRANTED, *ROUND]) < FULL


def test_a_run_that_does_not_hand_on_has_room_for_another_round_with_every_try() -> None:
    states = definitions()["open"]["States"]
    assert MOST_EVENTS + sum(most_events(states[name]) for name in ROUND) < FULL


def test_so_does_a_run_that_first_looks_for_a_fallback_pool() -> None:
    states = definitions(falls_back=True)["open"]["States"]
    assert MOST_EVENTS + sum(most_events(states[name]) for name in [*ROUND, *FALLBACK]) < FULL


def test_no_task_is_left_out_of_the_count() -> None:
    states = definitions(falls_back=True)["open"]["States"]
    tasks = {name for name, state in states.items() if state["Type"] == "Task"}
    # It ends the run, and nothing comes after it.
    assert tasks - {*GRANTED, *ROUND, *FALLBACK} == {"CloseAfterFailure"}


def test_the_other_workflows_go_nowhere_twice_and_fit() -> None:
    for name in ("close", "extend", "change", "experiment"):
        states = definitions()[name]["States"]
        assert 2 + sum(most_events(state) for state in states.values()) < FULL, name
