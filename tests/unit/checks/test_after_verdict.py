"""After a failed check: keep the lease, close it, or replace nodes once; a check that is not proven changes nothing."""

from typing import Any

import pytest

from lamplighter.domain.checks.after_verdict import CheckDecision, JudgedNode, NextStep, decide
from lamplighter.lab.checks import OnFailure
from lamplighter.reasons.reason import reason

FREE, OTHER, USED = (
    JudgedNode("node-a", "i-a", used=False),
    JudgedNode("node-b", "i-b", used=False),
    JudgedNode("node-c", "i-c", True),
)


def row(node: str = "node-a", verdict: str = "failed", check: str = "nvidia-smi") -> dict[str, Any]:
    return {"check": check, "node": node, "verdict": verdict, "reason": "ECC errors: 3; 0 allowed"}


def decided(*rows: dict[str, Any], choice: OnFailure = "replace", replaceable: int = 2) -> CheckDecision:
    return decide(rows, [FREE, OTHER, USED], choice, replaceable=replaceable)


@pytest.mark.parametrize("choice", ["keep", "close", "replace"])
@pytest.mark.parametrize("found", [row(verdict="passed"), row(verdict="not-proven"), row(check="ready")])
def test_only_a_check_that_failed_has_consequences(choice: OnFailure, found: dict[str, Any]) -> None:
    assert decided(found, choice=choice) == CheckDecision(NextStep.KEEP, "", reason("check.none-failed"))


@pytest.mark.parametrize(("choice", "then"), [("keep", NextStep.KEEP), ("close", NextStep.CLOSE)])
def test_the_lab_says_what_follows_and_the_reason_names_check_node_and_rule(
    choice: OnFailure, then: NextStep
) -> None:
    said = decided(row(), row("node-b", "passed"), choice=choice)
    assert (said.then, said.nodes) == (then, ())
    assert str(said.reason).startswith("nvidia-smi failed on node-a: ECC errors: 3; 0 allowed; the lab ")
    assert f"checks.on_failure: {choice}" in str(said.reason)


def test_the_nodes_that_failed_are_replaced_and_no_others() -> None:
    said = decided(row(), row(check="vector-add"), row("node-b", "not-proven"))
    assert (said.then, said.nodes) == (NextStep.REPLACE, (FREE,))
    assert str(said.reason).endswith("; node-a is replaced, once")
    assert said.to_json()["replace"] == [{"name": "node-a", "instance": "i-a"}]


def test_no_more_nodes_are_replaced_than_the_lease_has_itself() -> None:
    assert decided(row(), row("node-b"), replaceable=1).nodes == (FREE,)
    assert str(decided(row(), row("node-b")).reason).endswith("; node-a and node-b are replaced, once")


def test_what_was_replaced_once_and_fails_again_is_kept() -> None:
    said = decided(row(), replaceable=0)
    assert (said.then, said.nodes) == (NextStep.KEEP, ())
    assert "replaced once already" in str(said.reason)


def test_unless_it_is_said_how_many_may_be_none_is_replaced() -> None:
    said = decide([row()], [FREE], "replace")
    assert (said.then, said.nodes) == (NextStep.KEEP, ())
    assert str(said.reason).endswith("; nodes were replaced once already, so it is kept as it is")


def test_a_node_on_which_people_work_is_not_taken_from_them() -> None:
    assert decided(row("node-c"), row()).nodes == (FREE,)
    assert decided(row("node-c")).then is NextStep.KEEP
    assert str(decided(row("node-c")).reason).endswith("the GPUs of node-c are in use, so it is kept")
