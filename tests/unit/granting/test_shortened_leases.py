"""An end that the lab moves nearer, with notice, and the money of nodes that are missing."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from lamplighter.domain.billing.holds import freed, retaken
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting.extension import Extension
from lamplighter.domain.granting.following import curfewed, follow, shortened
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.budget import Account
from lamplighter.reasons.reason import Said, reason
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease, usd
from tests.unit.granting.test_extensions import CURFEW_AT_TEN, MINE, MONEY, asked, order
from tests.unit.granting.test_grants import POOL

FROM_THE_LAB = order(source="guard", because=reason("lease.window-moved", until=EIGHT + HOUR))


@pytest.mark.parametrize(
    ("wanted", "now", "closes"),
    [
        (EIGHT + HOUR, EIGHT, EIGHT + HOUR),
        (EIGHT + 15 * MINUTE, EIGHT, EIGHT + 15 * MINUTE),
        (EIGHT + MINUTE, EIGHT, EIGHT + 15 * MINUTE),
        # The end of a notice that is no whole minute is the next one.
        (EIGHT + MINUTE, EIGHT + SECOND, EIGHT + 16 * MINUTE),
        (EIGHT + MINUTE, EIGHT + timedelta(microseconds=1), EIGHT + 16 * MINUTE),
        (EIGHT + MINUTE, EIGHT + 104 * MINUTE, EIGHT + 119 * MINUTE),
        (EIGHT + MINUTE, EIGHT + 105 * MINUTE, None),
    ],
)
def test_the_lab_gives_fifteen_minutes_notice(
    wanted: datetime, now: datetime, closes: datetime | None
) -> None:
    one = replace(MINE, price_per_hour=Decimal(2), hold=usd(8), missing=1)

    after = shortened(one, wanted, POOL, now)

    if closes is None:
        assert after is None
    else:
        free = 2 * ((one.closes - closes) // SECOND)
        assert after == replace(
            one,
            closes=closes,
            hold=usd(8) - replace(usd(free), amount=usd(free).amount / 3600),
            asked_until=wanted,
        )


@pytest.mark.parametrize("source", ["window", "guard"])
def test_only_the_lab_s_own_rules_shorten_a_lease(source: str) -> None:
    command = replace(FROM_THE_LAB, source=source, closes=EIGHT + HOUR)

    assert asked(command, MINE) == Extension(
        "shortened",
        "alice's lease ends at 21:00 on 2026-11-20 (Etc/UTC), instead of 22:00 on 2026-11-20 (Etc/UTC): "
        "its window was moved to end at 21:00 on 2026-11-20 (Etc/UTC); 2.00 USD is held",
        MINE,
        replace(MINE, closes=EIGHT + HOUR, hold=usd(2), asked_until=EIGHT + HOUR),
    )
    assert "the lab asks for it at 21:00" in str(asked(replace(command, because=None), MINE).reason)


def test_an_end_that_comes_within_the_notice_stays() -> None:
    soon = replace(MINE, closes=EIGHT + 15 * MINUTE)
    assert asked(replace(FROM_THE_LAB, closes=EIGHT + 5 * MINUTE), soon) == Extension(
        "refused", "alice's lease ends at 20:15 on 2026-11-20 (Etc/UTC) anyway", soon
    )


def moved(by: str, source: str, because: Said, one: Lease, closes: datetime) -> Command:
    """The command without its id, which is a digest."""
    return Command(
        id="",
        verb=Verb.EXTEND,
        pool="gpu",
        owner=one.owner,
        by=by,
        source=source,
        issued=EIGHT,
        expires=EIGHT + 15 * MINUTE,
        lease=one.id,
        closes=closes,
        window=one.window,
        date=one.date,
        because=because,
    )


def test_a_running_lease_follows_its_window_to_another_end() -> None:
    one = lease(asked_until=EIGHT + 2 * HOUR, date="2026-11-20")
    ends = {one.id: EIGHT + HOUR, "other": EIGHT}

    command = follow(one, ends, EIGHT)

    assert command is not None
    assert command.id.startswith("follow-evening-1-")
    assert replace(command, id="") == moved(
        "window evening", "window", reason("lease.window-moved", until=EIGHT + HOUR), one, EIGHT + HOUR
    )
    again = follow(replace(one, generation=one.generation + 1), ends, EIGHT)
    assert again is not None
    assert again.id != command.id


def test_a_lease_whose_window_is_gone_or_as_it_was_or_whose_end_a_person_moved_stays() -> None:
    one = lease(asked_until=EIGHT + 2 * HOUR)

    assert follow(one, {one.id: EIGHT + 2 * HOUR}, EIGHT) is None
    assert follow(one, {}, EIGHT) is None
    assert follow(replace(one, asked_until=None), {one.id: EIGHT + HOUR}, EIGHT) is None
    assert follow(one, {one.id: EIGHT + HOUR}, EIGHT + 2 * HOUR) is None


def test_a_person_s_lease_ends_at_a_curfew_that_came_after_its_grant() -> None:
    one = replace(MINE, closes=EIGHT + 3 * HOUR)

    command = curfewed(one, CURFEW_AT_TEN, EIGHT)

    assert command is not None
    assert replace(command, id="") == moved(
        "the curfew", "guard", reason("lease.curfew-came", until=EIGHT + 2 * HOUR), one, EIGHT + 2 * HOUR
    )


@pytest.mark.parametrize(
    "one",
    [
        MINE,
        replace(MINE, closes=EIGHT + HOUR),
        lease(closes=180),
        replace(MINE, closes=EIGHT + 3 * HOUR, opens=EIGHT + MINUTE),
    ],
)
def test_a_lease_that_ends_by_the_curfew_a_window_s_and_one_that_does_not_run_are_left(one: Lease) -> None:
    assert curfewed(one, CURFEW_AT_TEN, EIGHT) is None


def test_in_the_stretch_of_a_curfew_nothing_is_moved_into_the_past() -> None:
    one = replace(MINE, closes=EIGHT + 3 * HOUR)
    assert curfewed(one, CURFEW_AT_TEN, EIGHT + 2 * HOUR) is None
    assert curfewed(one, CURFEW_AT_TEN, EIGHT + 2 * HOUR - SECOND) is not None


SHORT = replace(MINE, nodes=3, price_per_hour=Decimal(2), hold=usd(12))


def test_the_money_of_missing_nodes_is_free_from_now_to_the_end() -> None:
    once = replace(SHORT, missing=1, hold=usd(10), wanted_before=((EIGHT + HOUR, 3),))

    assert freed(SHORT, 1, POOL, EIGHT + HOUR) == once
    assert freed(once, 1, POOL, EIGHT + HOUR) == once
    assert freed(once, 0, POOL, EIGHT + HOUR) == once
    assert freed(SHORT, 1, POOL, SHORT.closes) == SHORT
    assert freed(once, 3, POOL, EIGHT + 90 * MINUTE) == replace(
        once, missing=3, hold=usd(8), wanted_before=((EIGHT + HOUR, 3), (EIGHT + 90 * MINUTE, 2))
    )


def test_as_many_missing_nodes_are_asked_for_anew_as_there_is_money_for_and_the_rest_is_given_up() -> None:
    missing = replace(SHORT, missing=2, hold=usd(8))
    at = EIGHT + HOUR
    enough, short = replace(MONEY, spent=usd(96)), replace(MONEY, spent=usd("96.01"))

    assert retaken(missing, POOL, enough, at) == replace(
        missing, missing=0, hold=usd(12), wanted_before=((at, 1),)
    )
    assert retaken(missing, POOL, short, at) == replace(
        missing, nodes=2, missing=0, hold=usd(10), wanted_before=((at, 1),)
    )
    nothing = replace(MONEY, spent=usd("98.01"))
    assert retaken(missing, POOL, nothing, at) == replace(missing, nodes=1, missing=0)
    none_came = replace(missing, missing=3, hold=usd(6))
    assert retaken(none_came, POOL, nothing, at) == none_came
    assert retaken(missing, POOL, enough, missing.closes) == missing
    assert retaken(SHORT, POOL, enough, at) == SHORT


def test_an_owner_s_part_bounds_what_is_held_again() -> None:
    missing = replace(SHORT, missing=2, hold=usd(8))
    terms = replace(POOL, owners={"alice": usd(9)})
    used = replace(MONEY, accounts={"alice": Account(usd(5), usd(0))})

    assert retaken(missing, terms, used, EIGHT + HOUR).nodes == 3
    assert retaken(missing, replace(terms, owners={"alice": usd(8)}), used, EIGHT + HOUR).nodes == 2
    assert retaken(missing, replace(terms, owners={"alice": usd(6)}), used, EIGHT + HOUR).nodes == 1
