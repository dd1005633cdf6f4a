"""Deciding grows with the lab and no faster: steps of the interpreter are counted, no clock is read."""

from datetime import datetime
from functools import partial

import pytest

from tests.bench.deciding import AT, CLOCK_CHANGE, Labs
from tests.bench.growth import exponent
from tests.bench.steps import steps_of

EVEN = 240
"""Pools after which everything in the benchmark's lab comes again: days, zones and hours."""


@pytest.mark.parametrize("at", [AT, CLOCK_CHANGE])
@pytest.mark.parametrize("refused", [False, True], ids=["granted", "refused and skipped"])
def test_twice_as_many_more_pools_take_exactly_twice_as_many_more_steps(at: datetime, refused: bool) -> None:
    once, twice, four = (
        steps_of(Labs(times * EVEN, at, refused=refused, skipped=refused).decide) for times in (1, 2, 4)
    )
    assert four - twice == 2 * (twice - once)


def test_windows_no_two_of_which_are_alike_take_steps_in_proportion_too() -> None:
    steps = {pools: float(steps_of(Labs(pools, AT, alike=False).decide)) for pools in (480, 960, 1920)}
    assert exponent(steps) == pytest.approx(1, abs=0.02)


def test_the_exponent_tells_a_square_from_a_line() -> None:
    sizes = (1, 2, 5, 10)
    assert exponent({size: 3.0 * size for size in sizes}) == pytest.approx(1)
    assert exponent({size: 3.0 * size**2 for size in sizes}) == pytest.approx(2)


def test_steps_are_counted_and_a_quadratic_search_is_seen() -> None:
    def pairs(size: int) -> int:
        return sum(1 for one in range(size) for other in range(size) if one == other)

    steps = {size: float(steps_of(partial(pairs, size))) for size in (50, 100, 200)}

    assert exponent(steps) == pytest.approx(2, abs=0.05)
