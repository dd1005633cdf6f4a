"""A lease as it is shown: its standing at every instant, its cost, and what is told of it."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import Noted
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.views import lease_view, told
from lamplighter.domain.views.lease_view import Known, LeaseStanding, LeaseView, cost_so_far
from lamplighter.domain.views.stages import Stage, StageState, StageView
from lamplighter.domain.views.told import FindingView, VerdictRow
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import Said, Sentences, reason
from tests.builders.leases import EIGHT, HOUR, MINUTE, lease, usd

LEASE = lease()


def entry(kind: str, why: Said = "why", who: str = "notices", minutes: int = 0, **details: str) -> Entry:
    return Entry(EIGHT + minutes * MINUTE, "gpu", kind, who, "what", why, lease="evening-1", details=details)


def view(one: Any = LEASE, minutes: float = 60, **known: Any) -> LeaseView:
    return lease_view.of(
        one, Known(PoolState("gpu", leaked_because="i-1 is there"), **known), EIGHT + minutes * MINUTE
    )


@pytest.mark.parametrize(
    ("state", "missing", "minutes", "standing"),
    [
        (LeaseState.PLANNED, 0, 60, LeaseStanding.PLANNED),
        (LeaseState.REFUSED, 0, 60, LeaseStanding.REFUSED),
        (LeaseState.CLOSED, 1, 60, LeaseStanding.CLOSED),
        (LeaseState.CLOSING, 0, 60, LeaseStanding.CLOSING),
        (LeaseState.ADMITTED, 0, -0.1, LeaseStanding.PLANNED),
        (LeaseState.ADMITTED, 0, 0, LeaseStanding.OPENING),
        (LeaseState.OPENING, 0, 60, LeaseStanding.OPENING),
        (LeaseState.OPEN, 0, 119.9, LeaseStanding.OPEN),
        (LeaseState.OPEN, 0, 120, LeaseStanding.CLOSING),
        (LeaseState.OPEN, 1, 60, LeaseStanding.DEGRADED),
        (LeaseState.OPENING, 1, 60, LeaseStanding.DEGRADED),
    ],
)
def test_a_lease_stands_as_its_state_and_the_clock_say(
    state: LeaseState, missing: int, minutes: float, standing: LeaseStanding
) -> None:
    found = view(replace(LEASE, state=state, missing=missing), minutes)
    assert found.standing is standing
    assert found.in_force is (standing in {LeaseStanding.OPENING, LeaseStanding.OPEN, LeaseStanding.DEGRADED})
    assert found.usable == 2 - missing
    assert found.leaked_because == ("i-1 is there" if state is LeaseState.CLOSING else None)


def test_a_lease_that_waits_for_pods_promises_no_gpus_and_says_why() -> None:
    opening = replace(LEASE, state=LeaseState.OPENING)
    trail = (entry("announced", "no node yet", notice="degraded"),)
    waiting = view(opening, progress={Stage.NODES: Noted(0, 0, EIGHT, EIGHT)}, audit=trail)
    booting = view(opening, progress={Stage.NODES: Noted(0, 2, EIGHT, EIGHT)}, audit=trail)

    assert (waiting.standing, waiting.gpus_expected, waiting.no_node_yet) == (
        LeaseStanding.DEGRADED,
        None,
        "no node yet",
    )
    assert booting.gpus_expected is not None
    assert booting.no_node_yet is None


@pytest.mark.parametrize(
    ("verdict", "state", "expected"),
    [
        ("passed", LeaseState.OPEN, True),
        ("failed", LeaseState.OPEN, False),
        ("not-proven", LeaseState.OPEN, False),
        ("failed", LeaseState.PLANNED, True),
    ],
)
def test_gpus_that_a_check_refuted_are_not_expected(verdict: str, state: LeaseState, expected: bool) -> None:
    ready = replace(LEASE, ready=EIGHT + 9 * MINUTE, state=state)
    found = view(ready, verdicts=[{"check": "smi", "verdict": verdict}])
    assert found.gpus_expected == (EIGHT + 9 * MINUTE if expected else None)
    assert found.verdict_rows == (VerdictRow("smi", "", verdict, "", {}),)


def test_why_a_lease_is_refused_is_its_refusal_or_of_a_refused_one_its_reason() -> None:
    planned = replace(LEASE, state=LeaseState.PLANNED, because="the exam")
    assert view(planned).refused_because is None
    will_not_open = view(replace(planned, refusal="it is full"))
    assert (will_not_open.refused_because, will_not_open.gpus_expected) == ("it is full", None)
    assert view(replace(planned, state=LeaseState.REFUSED)).refused_because == "the exam"


def test_what_programs_read_of_a_lease_is_this() -> None:
    stage = StageView(Stage.NODES, StageState.GOING, 1, 3, EIGHT)
    finding = FindingView(EIGHT, "gpu", None, "xid", "one fell off", "replace it", "gpu")
    found = replace(view(), stages=(stage,), bar=0.12345, verdict=Outcome.PASSED, findings=(finding,))

    assert found.to_json() == {
        "standing": "open",
        "missing": 0,
        "stages": [stage.to_json()],
        "boot": [],
        "progress": 0.123,
        "gpus_expected": "2026-11-20T20:10:00Z",
        "cost_so_far": {"amount": "0.0000", "currency": "USD"},
        "verdict": "passed",
        "degraded": None,
        "failed": None,
        "findings": [finding.to_json()],
    }
    assert finding.to_json() == {
        "at": "2026-11-20T20:00:00Z", "cause": "xid", "layer": "gpu", "summary": "one fell off", "advice": "replace it"
    }  # fmt: skip
    bare = replace(found, gpus_expected=None, cost_so_far=None, verdict=None).to_json()
    assert (bare["gpus_expected"], bare["cost_so_far"], bare["verdict"]) == (None, None, None)


ORDERED = replace(LEASE, ordered=EIGHT + 30 * MINUTE, hold=usd(6), price_per_hour=Decimal(2))


@pytest.mark.parametrize(
    ("more", "minutes", "cost"),
    [
        ({}, 30, 0),
        ({}, 15, 0),
        ({}, 60, 2),
        ({"missing": 1}, 60, 1),
        ({"hold": usd(1)}, 60, 1),
        ({}, 500, 6),
        ({"hold": usd(9)}, 500, 6),
        ({"overrun": NodeTime(HOUR, usd(3))}, 500, 9),
        ({"cost": usd(5), "overrun": NodeTime(HOUR, usd(3))}, 500, 5),
        ({"ordered": None}, 500, 0),
        ({"ordered": None, "overrun": NodeTime(HOUR, usd(3))}, 500, 3),
        ({"price_per_hour": None}, 60, 7),
        ({"price_per_hour": Decimal(0)}, 60, 0),
    ],
)
def test_a_lease_costs_its_nodes_by_the_clock_up_to_its_hold_and_what_ran_past_it(
    more: dict[str, Any], minutes: int, cost: int
) -> None:
    one = replace(ORDERED, **{"hold": usd(7) if "price_per_hour" in more else usd(6), **more})
    assert cost_so_far(one, Decimal(7), EIGHT + minutes * MINUTE) == usd(cost)


def test_where_nobody_knows_a_price_no_cost_is_told() -> None:
    assert cost_so_far(replace(ORDERED, price_per_hour=None), None, EIGHT + HOUR) is None


def test_a_row_of_the_checks_says_nothing_that_was_not_kept() -> None:
    whole = {
        "check": "smi",
        "node": "a",
        "verdict": "passed",
        "reason": "8 GPUs",
        "measurements": {"gpus": 8},
    }

    assert from_odd_document(VerdictRow, whole) == VerdictRow("smi", "a", "passed", "8 GPUs", {"gpus": 8})
    assert from_odd_document(VerdictRow, {"check": None, "measurements": [8]}) == VerdictRow(
        "", "", "", "", {}
    )


def test_a_finding_is_read_from_the_trail() -> None:
    said = entry("finding", cause="xid", summary="one fell off", advice="replace it", layer="gpu")
    assert FindingView.read(said) == FindingView(
        EIGHT, "gpu", "evening-1", "xid", "one fell off", "replace it", "gpu"
    )
    assert FindingView.read(entry("finding")) == FindingView(EIGHT, "gpu", "evening-1", "unknown", "what", "")


def test_of_a_lease_that_is_over_each_cause_is_told_once_as_it_was_found_first() -> None:
    first = entry("finding", cause="xid", summary="one", advice="first")
    again = entry("finding", cause="xid", summary="one", advice="again", minutes=5)
    other = entry("finding", cause="xid", summary="two", minutes=6)
    found = told.findings([first, entry("scaled"), again, other], LEASE, EIGHT + 9 * HOUR)
    assert [(each.summary, each.advice) for each in found] == [("one", "first"), ("two", "")]


def test_what_is_wrong_with_an_opening_is_what_its_last_notice_said() -> None:
    degraded, failed = (
        entry("announced", "slow", notice="degraded"),
        entry("announced", "gone", notice="failed"),
    )
    well, other = (
        entry("announced", "all is well", notice="open"),
        entry("announced", "later", notice="extended"),
    )

    assert told.degraded_because([]) is None
    assert told.degraded_because([degraded, other]) == "slow"
    assert told.degraded_because([degraded, failed, other]) == "gone"
    assert told.degraded_because([degraded, well]) is None


def test_why_nodes_are_missing_is_what_the_notices_said_last_without_what_comes_of_it() -> None:
    free = reason("capacity.hold-free", money="3.00 USD")
    first = entry("degraded", Sentences(("no capacity in a; b is asked", free)), who="nodegroups")
    asked = entry("degraded", "asked again", who="leases")
    assert told.short_because([first, asked, entry("scaled")]) == "no capacity in a; b is asked"
    assert told.short_because([first, entry("degraded", "a quota", who="nodegroups")]) == "a quota"
    assert told.short_because([asked]) is None


def test_an_opening_was_given_up_where_its_own_run_closed_it_last() -> None:
    given_up = entry("closing", "no GPU came", who="OpenLab")
    assert told.failed_because([given_up, entry("scaled")]) == "no GPU came"
    assert told.failed_because([given_up, entry("closing", who="alice")]) is None
    assert told.failed_because([]) is None
