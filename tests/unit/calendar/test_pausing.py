"""What a pause and a resume come to: the whole answer, with what it means for each lease."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause, clock_of
from lamplighter.domain.calendar.pausing import Pausing, pause, resume
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.values.zones import zone

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
CLOCK = clock_of(zone("UTC"))
FOR_GOOD = "nothing opens until somebody resumes the lab, by alice"
UNTIL_TEN = "nothing opens until 22:00 on 2026-11-20 (UTC), by alice"
RESUMED = "pools open again, by alice"
LEASE = Lease(
    id="evening-2026-11-20",
    pool="gpu",
    nodes=2,
    owner="class",
    source="window",
    state=LeaseState.PLANNED,
    opens=NOW + HOUR,
    closes=NOW + 3 * HOUR,
    hold=Money.zero("USD"),
    window="evening",
    date="2026-11-20",
)


def command(verb: Verb = Verb.PAUSE, **more: Any) -> Command:
    given = Command("c", verb, "*", "alice", "alice", "cli", NOW, NOW + HOUR)
    return replace(given, **more)


def paused(*leases: Lease, before: tuple[Pause, ...] = (), **more: Any) -> Pausing:
    return pause(command(**more), before, leases, now=NOW, clock=CLOCK)


def resumed(*pauses: Pause, leases: tuple[Lease, ...] = (), **more: Any) -> Pausing:
    return resume(command(Verb.RESUME, **more), pauses, leases, now=NOW, clock=CLOCK)


def test_a_pause_lasts_until_somebody_resumes_the_lab_or_until_an_instant() -> None:
    ten = NOW + 2 * HOUR

    assert paused() == Pausing("paused", FOR_GOOD, Pause("alice", NOW))
    assert paused(closes=ten) == Pausing("paused", UNTIL_TEN, Pause("alice", NOW, ten))
    assert paused(lasting=2 * HOUR) == Pausing("paused", UNTIL_TEN, Pause("alice", NOW, ten))
    assert paused(closes=ten + timedelta(microseconds=5)).pause == Pause("alice", NOW, ten)
    assert paused(because="the exams") == Pausing(
        "paused", f"{FOR_GOOD} because the exams", Pause("alice", NOW, None, "the exams")
    )


@pytest.mark.parametrize(("seconds", "outcome"), [(-1, "refused"), (0, "refused"), (1, "paused")])
def test_a_pause_that_would_be_over_is_refused(seconds: int, outcome: str) -> None:
    found = paused(closes=NOW + seconds * SECOND)

    assert found.outcome == outcome
    if outcome == "refused":
        said = CLOCK(NOW + seconds * SECOND)
        assert found == Pausing("refused", f"a pause until {said} would be over: that has passed")


def test_a_pause_that_takes_the_place_of_another_names_it() -> None:
    ten = Pause("bob", NOW - HOUR, NOW + 2 * HOUR)
    destroy = Pause("carol", NOW - HOUR, closing=True)

    assert paused(before=(ten, destroy)).reason == (
        f"{FOR_GOOD}, instead of until 22:00 on 2026-11-20 (UTC) as bob said"
    )
    assert paused(before=(destroy, replace(ten, until=NOW))).reason == FOR_GOOD
    assert paused(before=(Pause("bob", NOW),), lasting=2 * HOUR).reason == (
        f"{UNTIL_TEN}, instead of until somebody resumes the lab as bob said"
    )


def test_what_runs_stays_open_until_its_end() -> None:
    running = replace(LEASE, state=LeaseState.OPEN, opens=NOW - HOUR, ordered=NOW - HOUR)

    assert paused(running).reason == f"{FOR_GOOD}; the evening lease runs on until 23:00 on 2026-11-20 (UTC)"
    assert paused(replace(running, closes=NOW)).reason == FOR_GOOD


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (60, ""),
        (61, "; the evening lease opens late, at 21:01 on 2026-11-20 (UTC)"),
        (179, "; the evening lease opens late, at 22:59 on 2026-11-20 (UTC)"),
        (180, "; the evening lease of 21:00 on 2026-11-20 (UTC) does not open unless the lab is resumed"),
        (None, "; the evening lease of 21:00 on 2026-11-20 (UTC) does not open unless the lab is resumed"),
    ],
)
def test_a_window_ahead_is_untouched_late_or_kept_closed(until: int | None, said: str) -> None:
    found = paused(LEASE, closes=None if until is None else NOW + until * MINUTE)

    lasts = "somebody resumes the lab" if until is None else CLOCK(NOW + until * MINUTE)
    assert found.reason == f"nothing opens until {lasts}, by alice{said}"


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, True),
        ({"state": LeaseState.ADMITTED}, True),
        ({"state": LeaseState.ADMITTED, "ordered": NOW}, False),
        ({"state": LeaseState.OPENING}, False),
        ({"state": LeaseState.REFUSED}, False),
        ({"opens": NOW - HOUR, "closes": NOW}, False),
        ({"opens": NOW - HOUR, "closes": NOW + SECOND}, True),
    ],
)
def test_only_what_is_still_to_be_opened_is_kept_closed(changed: dict[str, Any], *, kept: bool) -> None:
    assert ("does not open unless" in paused(replace(LEASE, **changed)).reason) is kept


def test_leases_are_named_by_opening_then_by_the_order_of_their_windows() -> None:
    leases = [
        replace(LEASE, id=name, window=name, order=order, opens=NOW + hours * HOUR)
        for name, order, hours in (("d", 0, 2), ("c", 2, 1), ("b", 2, 1), ("a", 3, 1), ("e", 1, 1))
    ]

    said = [part.split(" ")[1] for part in paused(*leases).reason.split("; ")[1:]]

    assert said == ["e", "b", "c", "a", "d"]


def test_a_resume_ends_the_pauses_in_force_and_says_whose() -> None:
    ten, over = Pause("bob", NOW - HOUR, NOW + 2 * HOUR), Pause("bob", NOW - HOUR, NOW)

    assert resumed(ten, over) == Pausing(
        "resumed", f"{RESUMED}; paused by bob until 22:00 on 2026-11-20 (UTC)", ended=(ten,)
    )
    assert resumed(Pause("bob", NOW), because="it is over").reason == (
        f"{RESUMED} because it is over; paused by bob until somebody resumes the lab"
    )
    assert resumed() == resumed(over) == Pausing("unchanged", "the lab is not paused")


def test_a_resume_opens_late_what_waited() -> None:
    waiting = replace(LEASE, opens=NOW)
    later = replace(LEASE, opens=NOW + SECOND)

    assert resumed(Pause("bob", NOW - HOUR), leases=(waiting, later)).reason == (
        f"{RESUMED}; paused by bob until somebody resumes the lab; "
        "the evening lease opens now, late, and ends at 23:00 on 2026-11-20 (UTC)"
    )


@pytest.mark.parametrize(
    ("age", "failed", "outcome"),
    [
        (2 * HOUR - SECOND, False, "refused"),
        (2 * HOUR, False, "resumed"),
        (MINUTE, True, "resumed"),
    ],
)
def test_a_destroy_is_resumed_only_after_it_failed_or_two_hours(
    age: timedelta, outcome: str, *, failed: bool
) -> None:
    destroy = Pause("carol", NOW - age, closing=True, failed=failed)

    found = resumed(destroy)

    assert found == (
        Pausing("refused", "the lab is being destroyed, and nothing opens any more")
        if outcome == "refused"
        else Pausing("resumed", f"{RESUMED}; a destroy of the lab failed", ended=(destroy,))
    )
