"""A pool that is bought from a reservation: no lease lies outside its hours, and its end moves those that run."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.billing import holds
from lamplighter.domain.capacity.reservation import (
    BLOCK_ENDS_EARLY,
    GONE,
    Reservation,
    ReservationType,
    ReservedHours,
)
from lamplighter.domain.granting import extension, outlook
from lamplighter.domain.granting.admission import Lack, lack_of
from lamplighter.domain.granting.following import outlasting, shortened
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.terms import Terms
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease, usd
from tests.unit.granting.test_extensions import MINE, MONEY
from tests.unit.granting.test_extensions import asked as extended
from tests.unit.granting.test_extensions import order as extend
from tests.unit.granting.test_grants import POOL, asked, order

ID = "cr-0123456789abcdef0"
TARGETED = Reservation(
    ID, ReservationType.ON_DEMAND, "active", "g5.xlarge", "ap-northeast-2a", 2, True, EIGHT, EIGHT + 2 * HOUR
)
BLOCK = replace(TARGETED, type=ReservationType.BLOCK)


def bought(known: Reservation | None) -> Terms:
    return replace(POOL, hours=ReservedHours("gpu", ID, known))


@pytest.mark.parametrize(
    ("known", "last"), [(TARGETED, EIGHT + 2 * HOUR), (BLOCK, EIGHT + 2 * HOUR - 45 * MINUTE)]
)
def test_a_lease_fits_until_the_reservation_s_end_and_a_block_s_end_is_45_minutes_earlier(
    known: Reservation, last: Any
) -> None:
    within, beyond = (asked(order(closes=end), terms=bought(known)) for end in (last, last + SECOND))

    assert within.outcome == "granted"
    assert beyond.outcome == "refused"
    assert "choose a time within these hours" in str(beyond.reason)


def test_before_its_begin_a_lease_is_refused_with_the_hours_and_the_begin_as_the_earliest_opening() -> None:
    later = replace(TARGETED, begins=EIGHT + 30 * MINUTE)

    found = asked(order(), terms=bought(later))

    assert found.reason == (
        f"reservation {ID} has the nodes of pool gpu for leases from 20:30 on 2026-11-20 (Etc/UTC) until 22:00 on"
        " 2026-11-20 (Etc/UTC); choose a time within these hours"
    )
    assert found.earliest == EIGHT + 30 * MINUTE


def test_a_reservation_without_an_end_bounds_the_opening_alone() -> None:
    endless = replace(TARGETED, ends=None)

    assert asked(order(), terms=bought(endless)).outcome == "granted"
    found = asked(order(), terms=bought(replace(endless, begins=EIGHT + SECOND)))
    assert "choose a later time" in str(found.reason)


@pytest.mark.parametrize(("known", "why"), [
    (None, "was not read yet"),
    (replace(TARGETED, state="payment-failed"), "AWS calls it payment-failed"),
    (replace(TARGETED, state=GONE), "AWS calls it gone"),
])  # fmt: skip
def test_without_a_reservation_that_has_nodes_nothing_is_granted(known: Reservation | None, why: str) -> None:
    found = asked(order(), terms=bought(known))

    assert found.outcome == "refused"
    assert why in str(found.reason)


@pytest.mark.parametrize(
    "known",
    [
        None,
        replace(TARGETED, state=GONE),
        replace(TARGETED, begins=EIGHT + HOUR, ends=None),
        replace(TARGETED, ends=EIGHT),
    ],
)
def test_a_refusal_that_is_kept_is_known_again_as_one_of_the_hours(known: Reservation | None) -> None:
    refusal = ReservedHours("gpu", ID, known).refusal(EIGHT, EIGHT + HOUR)

    assert refusal is not None
    assert lack_of(refusal) is Lack.HOURS


@pytest.mark.parametrize("state", ["scheduled", "payment-pending", "assessing"])
def test_one_that_will_have_its_nodes_is_promised_ahead(state: str) -> None:
    assert asked(order(), terms=bought(replace(TARGETED, state=state))).outcome == "granted"


def test_a_window_outside_the_hours_is_refused_ahead_and_holds_neither_nodes_nor_money() -> None:
    outside = lease(state=LeaseState.PLANNED, closes=121)
    within = lease("other-1", state=LeaseState.PLANNED)

    found = outlook.refusals([outside, within], [], {"gpu": bought(TARGETED)}, {"2026-11": MONEY})

    assert list(found) == [outside.id]
    assert found[outside.id].lack is Lack.HOURS


def test_no_extension_passes_the_reservation_s_end() -> None:
    mine = replace(MINE, closes=EIGHT + HOUR)

    assert extended(extend(closes=EIGHT + 2 * HOUR), mine, terms=bought(TARGETED)).outcome == "extended"
    refused = extended(extend(closes=EIGHT + 2 * HOUR + SECOND), mine, terms=bought(TARGETED))
    assert (refused.outcome, "until 22:00" in str(refused.reason)) == ("refused", True)
    assert extension.furthest(mine, bought(BLOCK)) == EIGHT + 2 * HOUR - BLOCK_ENDS_EARLY


@pytest.mark.parametrize("window", [None, "evening"])
def test_a_running_lease_ends_by_an_end_that_moved_nearer(window: str | None) -> None:
    one = replace(MINE, window=window)
    nearer = bought(replace(BLOCK, ends=one.closes))

    command = outlasting(one, nearer, EIGHT)

    assert command is not None
    assert (command.lease, command.closes) == (one.id, one.closes - BLOCK_ENDS_EARLY)
    after = shortened(one, one.closes - BLOCK_ENDS_EARLY, nearer, EIGHT)
    assert after is not None
    assert after.closes == one.closes - BLOCK_ENDS_EARLY


@pytest.mark.parametrize("late", [timedelta(0), HOUR])
def test_a_lease_that_ends_by_then_or_does_not_run_is_left(late: timedelta) -> None:
    fits = bought(replace(TARGETED, ends=MINE.closes + late))

    assert outlasting(MINE, fits, EIGHT) is None
    assert outlasting(MINE, POOL, EIGHT) is None
    assert outlasting(MINE, bought(replace(TARGETED, ends=EIGHT)), EIGHT - SECOND) is None


def test_what_is_prepaid_is_granted_though_other_pools_overspent_the_budget() -> None:
    prepaid = replace(POOL, price_per_hour=Decimal(0), prices={})
    spent = replace(MONEY, spent=POOL.budget + usd("0.01"))

    granted = asked(order(), terms=prepaid, budgets={"2026-11": spent, "2026-12": MONEY})
    missing = lease(missing=1, hold=usd(0), price_per_hour=Decimal(0))

    assert granted.outcome == "granted"
    assert holds.retaken(missing, prepaid, spent, EIGHT + 3 * MINUTE).missing == 0
