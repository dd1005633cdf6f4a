"""When the first schedule of a failsafe must run: ten minutes after the last end of the running leases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.failsafe import failsafe_instant
from tests.builders.guard_facts import lease
from tests.builders.leases import EIGHT, MINUTE

HOUR = 60 * MINUTE


@pytest.mark.parametrize(("state", "runs"), [
    (LeaseState.PLANNED, False),
    (LeaseState.ADMITTED, True),
    (LeaseState.OPENING, True),
    (LeaseState.OPEN, True),
    (LeaseState.CLOSING, True),
    (LeaseState.CLOSED, False),
    (LeaseState.REFUSED, False),
])  # fmt: skip
def test_a_granted_lease_and_one_that_is_being_closed_run(state: LeaseState, runs: bool) -> None:
    at = failsafe_instant([lease(closes=30, state=state)], EIGHT)
    assert at == (EIGHT + 40 * MINUTE if runs else None)


def test_it_follows_the_last_end_of_leases_that_have_begun_one_that_is_over_included() -> None:
    over = lease("over", closes=-30)
    long = lease("long", opens=0, closes=60)
    later = lease("later", opens=1, closes=300)

    assert failsafe_instant([], EIGHT) is None
    assert failsafe_instant([later], EIGHT) is None
    assert failsafe_instant([over], EIGHT) == EIGHT - 20 * MINUTE
    assert failsafe_instant([long, over, later], EIGHT) == EIGHT + 70 * MINUTE


def test_it_is_a_whole_second() -> None:
    odd = replace(lease(), closes=EIGHT + timedelta(seconds=5, microseconds=7))
    assert failsafe_instant([odd], EIGHT) == EIGHT + timedelta(minutes=10, seconds=5)
