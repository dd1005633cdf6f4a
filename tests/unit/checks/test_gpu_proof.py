"""Proofs as history: the last verdict on a node, the age of a carried-over verdict, and the lowest bandwidth."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.checks.gpu_proof import GpuProof, carried_over, latest_by_node, together
from lamplighter.domain.checks.ladder import ALL_REDUCE
from lamplighter.reasons.document import document, read
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import Reason, reason

EIGHT = datetime(2026, 11, 20, 20, tzinfo=UTC)
BORN = {"node-a": EIGHT - timedelta(minutes=5), "node-b": EIGHT - timedelta(minutes=5)}


def row(node: str, check: str = "vector-add", verdict: str = "passed", **more: Any) -> dict[str, Any]:
    return {
        "check": check,
        "node": node,
        "verdict": verdict,
        "reason": "Test PASSED",
        "measurements": {},
        **more,
    }


def proof(minutes: int, *rows: dict[str, Any], ready: int | None = None) -> GpuProof:
    at = EIGHT + timedelta(minutes=minutes)
    return GpuProof(at, "gpu", "evening", "g5.xlarge", "passed", rows, ready)


def busy(node: str = "node-a", check: str = "vector-add") -> dict[str, Any]:
    return row(node, check, "not-proven", busy=True) | {"reason": "its GPUs are in use by class/notebook"}


def seen(why: str, minutes: int) -> Reason:
    """The reason of a verdict that was carried over from 20:00."""
    busy_now = str(busy()["reason"])
    return reason("check.seen-before", why=why, at=EIGHT, minutes=minutes, now=busy_now)


def test_a_proof_reads_as_it_was_written() -> None:
    found = proof(0, row("node-a", seconds=2.5), ready=312)
    assert GpuProof.from_json(to_document(found)) == found


def test_the_last_proof_of_a_node_is_what_is_known_of_it() -> None:
    newer, older = proof(30, row("node-a")), proof(0, row("node-a"), row("node-b"))
    assert latest_by_node([newer, older]) == {"node-a": newer, "node-b": older}


@pytest.mark.parametrize("before", ["passed", "failed"])
def test_a_busy_gpu_has_what_the_same_check_last_found_there_with_its_age(before: str) -> None:
    earlier = proof(
        0, row("node-a", verdict=before, measurements={"n": 50000}), row("node-b", verdict="failed")
    )

    (found,) = carried_over([busy()], [earlier], BORN, EIGHT + timedelta(minutes=45))

    assert (found["verdict"], found["measurements"], found["busy"]) == (before, {"n": 50000}, True)
    assert str(read(found["reason"])) == (
        "Test PASSED (seen at 20:00 UTC on 2026-11-20, 45 min ago; its GPUs are in use by class/notebook)"
    )


def test_what_was_not_proven_before_is_no_evidence() -> None:
    for earlier in (row("node-a", verdict="not-proven"), row("node-a", "nvidia-smi"), row("node-b")):
        assert carried_over([busy()], [proof(0, earlier)], BORN, EIGHT) == [busy()]
    assert carried_over([busy()], [], BORN, EIGHT) == [busy()]


def test_what_another_node_of_that_name_showed_is_no_evidence() -> None:
    later = {"node-a": EIGHT + timedelta(minutes=5)}
    assert carried_over([busy()], [proof(0, row("node-a"))], later, EIGHT) == [busy()]
    assert carried_over([busy()], [proof(0, row("node-a"))], {}, EIGHT) == [busy()]


def test_a_check_that_ran_keeps_its_own_verdict() -> None:
    ran = row("node-a", verdict="failed")
    assert carried_over([ran], [proof(0, row("node-a"))], BORN, EIGHT) == [ran]


def test_the_age_is_that_of_the_first_proof_however_often_it_is_carried_over() -> None:
    first = proof(0, row("node-a"))
    (once,) = carried_over([busy()], [first], BORN, EIGHT + timedelta(minutes=30))
    second = proof(30, dict(once))

    (twice,) = carried_over([busy()], [second, first], BORN, EIGHT + timedelta(minutes=60))

    assert read(twice["reason"]) == seen("Test PASSED", minutes=60)


def link(node: str, said: object, check: str = ALL_REDUCE.name, **more: Any) -> dict[str, Any]:
    return row(node, check, measurements={"busbw_gb_per_second": said}, **more)


def test_another_check_that_measures_a_bandwidth_changes_no_proof() -> None:
    assert proof(0, link("a", "1.17"), link("a", "0.31", "all_gather")).bandwidth == Decimal("1.17")
    assert proof(0, link("a", "0.31", "all_gather")).bandwidth is None


def test_the_bandwidth_of_a_proof_is_its_slowest_link_that_was_measured_now() -> None:
    assert proof(0, link("node-a", "1.17"), link("node-b", "0.31")).bandwidth == Decimal("0.31")
    assert proof(0, row("node-a"), link("node-b", "n/a"), link("node-c", None)).bandwidth is None
    assert proof(0, link("node-a", "1.17", busy=True)).bandwidth is None
    both = proof(0, link("node-a", "0.50", busy=True), link("node-a", "1.17", busy=False))
    assert both.bandwidth == Decimal("1.17")


@pytest.mark.parametrize(("minutes", "carried"), [(-1, True), (0, True), (1, False)])
def test_a_proof_of_the_instant_at_which_the_node_was_made_is_about_that_node(
    minutes: int, *, carried: bool
) -> None:
    born = {"node-a": EIGHT + timedelta(minutes=minutes)}
    (found,) = carried_over([busy()], [proof(0, row("node-a"))], born, EIGHT)
    assert (found["verdict"] == "passed") is carried


@pytest.mark.parametrize(
    ("seconds", "minutes"), [(0, 1), (29, 1), (31, 1), (89, 1), (91, 2), (150, 2), (151, 3), (3600, 60)]
)
def test_the_age_of_a_proof_is_told_in_whole_minutes_and_is_never_none(seconds: int, minutes: int) -> None:
    (found,) = carried_over([busy()], [proof(0, row("node-a"))], BORN, EIGHT + timedelta(seconds=seconds))
    assert read(found["reason"]) == seen("Test PASSED", minutes=minutes)


def test_what_is_carried_over_says_what_was_seen_and_when() -> None:
    measured = {"exit_code": 0}
    earlier = proof(0, row("node-a", measurements=measured))

    (found,) = carried_over([busy()], [earlier], BORN, EIGHT + timedelta(minutes=5))

    assert found == {
        **busy(),
        "verdict": "passed",
        "reason": document(seen("Test PASSED", minutes=5)),
        "measurements": measured,
        "seen": {"at": "2026-11-20T20:00:00Z", "reason": "Test PASSED"},
    }


@pytest.mark.parametrize(("verdicts", "outcome"), [
    ([], "not-proven"),
    (["passed"], "passed"),
    (["passed", "passed"], "passed"),
    (["passed", "not-proven"], "not-proven"),
    (["not-proven", "failed"], "failed"),
    (["passed", "failed"], "failed"),
    ([None], "not-proven"),
])  # fmt: skip
def test_verdicts_together_pass_only_where_every_one_does(verdicts: list[str | None], outcome: str) -> None:
    assert together([{"verdict": verdict} for verdict in verdicts]) == outcome


def test_a_proof_names_its_nodes_once_in_the_ladder_s_order_and_what_it_says_of_each() -> None:
    rows = [row("node-b"), row("node-a"), row("node-b", "dcgm-1")]
    assert proof(0, *rows).nodes == ["node-b", "node-a"]
    assert proof(0, *rows).of("node-b") == [rows[0], rows[2]]


def test_a_proof_whose_rows_cannot_be_read_has_none() -> None:
    kept = {**to_document(proof(0)), "verdicts": "odd", "seconds_to_ready": "soon"}
    unread = GpuProof.from_json(kept)
    assert (unread.rows, unread.seconds_to_ready) == ((), None)
    assert GpuProof.from_json({**kept, "verdicts": ["odd", row("node-a")]}).rows == (row("node-a"),)
