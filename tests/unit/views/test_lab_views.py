"""The head of what is shown of a lab: money, the proof of a pool, and when its GPUs were seen."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.pool.pool import Phase, PoolState, SeenGpus
from lamplighter.domain.views.lab_view import BudgetView, LabView, PoolView
from lamplighter.values.zones import zone
from tests.builders.leases import usd
from tests.unit.views.test_views import EIGHT, EVENING, MINUTE, pool

BUDGET = BudgetView(
    "2026-11", "month", EIGHT, EIGHT, usd(100), usd(30), usd(20), usd(2), usd(1), planned=usd(5)
)
LATER = replace(EVENING, id="later", opens=EIGHT + 30 * MINUTE, closes=EIGHT + 240 * MINUTE)


def test_what_is_left_is_neither_spent_nor_held_and_what_is_planned_comes_to_it() -> None:
    assert (BUDGET.left, BUDGET.forecast) == (usd(50), usd(55))
    assert BUDGET.to_json() == {
        "period": "2026-11", "amount": usd(100).to_json(), "spent": usd(30).to_json(),
        "overrun": usd(2).to_json(), "unleased": usd(1).to_json(), "held": usd(20).to_json(),
        "left": usd(50).to_json(),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([], None),
        ([None], None),
        ([Outcome.PASSED, None], Outcome.PASSED),
        ([Outcome.PASSED, Outcome.NOT_PROVEN], Outcome.NOT_PROVEN),
        ([Outcome.NOT_PROVEN], Outcome.NOT_PROVEN),
        ([Outcome.NOT_PROVEN, Outcome.FAILED, Outcome.PASSED], Outcome.FAILED),
    ],
)
def test_a_pool_is_proven_as_its_worst_lease(verdicts: list[Outcome | None], outcome: Outcome | None) -> None:
    leases = tuple(replace(pool(None, EVENING).leases[0], verdict=each) for each in verdicts)
    assert replace(pool(None), leases=leases).verdict is outcome


@pytest.mark.parametrize(("later", "seen"), [(timedelta(), True), (timedelta(seconds=-1), False)])
def test_what_was_seen_counts_from_the_opening_of_the_first_lease(later: timedelta, seen: bool) -> None:
    looked = SeenGpus(1, 4, EIGHT + later)
    view = pool(looked, LATER, EVENING)
    assert view.seen == (looked if seen else None)
    shown = (view.gpus_in_use, view.gpus_free, view.seen_at)
    assert shown == ((1, 3, looked.at) if seen else (None, None, None))
    assert pool(looked).gpus_free is None


def test_a_pool_is_open_until_the_last_of_its_leases_ends_and_each_owner_is_named_once() -> None:
    hers = [replace(EVENING, owner=name) for name in ("al (U1AL)", "alice (U1AL)")]
    view = pool(None, LATER, EVENING, *hers)
    assert view.until == EIGHT + 240 * MINUTE
    assert view.owners == ("evening-class", "alice (U1AL)")
    assert (pool(None).until, pool(None).owners) == (None, ())


@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.OPEN, Phase.CLOSING, Phase.LEAKED])
def test_every_phase_but_opening_is_shown_as_it_is_kept(phase: Phase) -> None:
    assert replace(pool(None), state=PoolState("gpu", phase=phase)).phase is phase


def test_a_pool_opens_while_one_of_its_leases_does() -> None:
    view = pool(None, EVENING, replace(EVENING, state=LeaseState.OPEN))
    assert replace(view, state=PoolState("gpu", phase=Phase.OPENING)).phase is Phase.OPENING


def lab(*pools: PoolView) -> LabView:
    return LabView("lab", "ap-northeast-2", zone("Asia/Seoul"), EIGHT, BUDGET, None, pools)


def test_a_pool_is_found_by_its_name() -> None:
    first, second = pool(None), replace(pool(None), name="big")
    assert lab(first, second).pool("big") == second
    assert lab(first, second).pool("gpu") == first
    assert lab(first).pool("big") is None
    assert lab().to_json() == {"lab": "lab", "region": "ap-northeast-2", "now": "2026-11-20T11:00:00Z"}
