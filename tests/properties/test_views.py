"""Whatever happens to a lab, it can be shown, and what is shown is what the ledger has."""

import random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import read_lab, read_lease
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.errors import OutsideFailed
from tests.lengths import examples
from tests.world.history import History, Play, Step, history
from tests.world.kubernetes.kubernetes import CHECK_RUNS, QUICK_RUNS
from tests.world.labs import FIRST_SWEEP
from tests.world.world import World

STANDINGS = {
    LeaseState.PLANNED: {LeaseStanding.PLANNED},
    LeaseState.ADMITTED: {
        LeaseStanding.PLANNED,
        LeaseStanding.OPENING,
        LeaseStanding.DEGRADED,
        LeaseStanding.CLOSING,
    },
    LeaseState.OPENING: {LeaseStanding.OPENING, LeaseStanding.DEGRADED, LeaseStanding.CLOSING},
    LeaseState.OPEN: {LeaseStanding.OPEN, LeaseStanding.DEGRADED, LeaseStanding.CLOSING},
    LeaseState.CLOSING: {LeaseStanding.CLOSING},
    LeaseState.CLOSED: {LeaseStanding.CLOSED},
    LeaseState.REFUSED: {LeaseStanding.REFUSED},
}


@pytest.mark.timeout(3600)
@settings(max_examples=examples(5, 60), suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(st.randoms(use_true_random=False))
def test_a_lab_can_be_shown_at_any_point_of_any_history(chance: random.Random) -> None:
    told = history(chance)
    note(repr(told))
    assert shown_along(told)


def test_the_stages_of_a_warm_up_come_to_their_end() -> None:
    steps = (Step("wait", minutes=90), Step("open", "gpu", number=1, minutes=60))
    views = shown_along(History(steps), check_runs=QUICK_RUNS)

    opened = [view for view in views if view.state is LeaseState.OPEN]
    assert opened
    assert all(view.bar == 1 for view in opened)
    assert all(stage.at is not None for view in opened for stage in view.stages), "each was noted on its way"


def shown_along(told: History, check_runs: tuple[float, float] = CHECK_RUNS) -> list[LeaseView]:
    """Every lease as it was shown after each step; each is held against the ledger."""
    world = World(told.lab(), told.start, told.seed)
    world.kubernetes.check_runs = check_runs
    played = Play(world, told.seed)
    shown: list[LeaseView] = []
    with world:
        world.run(FIRST_SWEEP)
        for step in told.steps:
            played.step(step)
            if not played.ill:
                shown += _look(world)
                continue
            with pytest.raises(OutsideFailed, match="cannot be read"):
                _look(world)
        played.settle()
        shown += _look(world)
    return shown


def _look(world: World) -> list[LeaseView]:
    ledger, lab, now = Ledger(f"{world.lab.name}-ledger"), world.lab, world.now
    whole = read_lab(ledger, lab, now)
    views = []
    for pool in whole.pools:
        leases = ledger.leases(pool.name)
        assert [lease.id for lease in pool.leases] == [
            lease.id for lease in pool.target.in_force if lease.in_force(now)
        ]
        assert pool.gpus_free is None or pool.gpus_free >= 0
        for lease in leases:
            view = read_lease(ledger, lab, pool.name, lease.id, now)
            assert view is not None
            _agrees(view, lease)
            views.append(view)
    return views


def _agrees(view: LeaseView, lease: Lease) -> None:
    assert view.standing in STANDINGS[lease.state]
    assert 0 <= view.bar <= 1
    assert all(0 <= stage.done <= stage.of for stage in view.stages if stage.done is not None and stage.of)
    if lease.cost is not None:
        assert view.cost_so_far == lease.cost
    elif view.cost_so_far is not None:
        beyond = lease.overrun.cost if lease.overrun else None
        most = lease.hold + beyond if beyond else lease.hold
        assert view.cost_so_far <= most, "an estimate never passes what is held"
