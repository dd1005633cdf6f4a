"""What a pause and a resume come to: the whole answer, with what it means for each lease."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.calendar.pausing import Pausing, pause, resume
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.builders.leases import lease
from tests.drawn import drawn

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
FOR_GOOD = "alice paused the lab: nothing opens until somebody resumes it"
UNTIL_TEN = "alice paused the lab until 22:00 on 2026-11-20 (Etc/UTC)"
BY_BOB = "bob paused the lab: nothing opens until somebody resumes it"
RESUMED = "alice resumed the lab, and pools open again"
LEASE = lease("evening-2026-11-20", 60, 180, state=LeaseState.PLANNED, window="evening", date="2026-11-20")


def clock(at: datetime) -> str:
    return f"{at:%H:%M on %Y-%m-%d} (Etc/UTC)"


def command(verb: Verb = Verb.PAUSE, **more: Any) -> Command:
    given = Command("c", verb, "*", "alice", "alice", "cli", NOW, NOW + HOUR)
    return replace(given, **more)


def paused(*leases: Lease, before: tuple[Pause, ...] = (), **more: Any) -> Pausing:
    return drawn(pause(command(**more), before, leases, now=NOW))


def resumed(*pauses: Pause, leases: tuple[Lease, ...] = (), **more: Any) -> Pausing:
    return drawn(resume(command(Verb.RESUME, **more), pauses, leases, now=NOW))


def test_a_pause_lasts_until_somebody_resumes_the_lab_or_until_an_instant() -> None:
    ten = NOW + 2 * HOUR

    assert paused() == Pausing("paused", FOR_GOOD, Pause("alice", NOW))
    assert paused(closes=ten) == Pausing("paused", UNTIL_TEN, Pause("alice", NOW, ten))
    assert paused(lasting=2 * HOUR) == Pausing("paused", UNTIL_TEN, Pause("alice", NOW, ten))
    assert paused(closes=ten + timedelta(microseconds=5)).pause == Pause("alice", NOW, ten)
    assert paused(because="the exams") == Pausing(
        "paused",
        "alice paused the lab because the exams: nothing opens until somebody resumes it",
        Pause("alice", NOW, None, "the exams"),
    )


@pytest.mark.parametrize(("seconds", "outcome"), [(-1, "refused"), (0, "refused"), (1, "paused")])
def test_a_pause_that_would_be_over_is_refused(seconds: int, outcome: str) -> None:
    found = paused(closes=NOW + seconds * SECOND)

    assert found.outcome == outcome
    if outcome == "refused":
        at = clock(NOW + seconds * SECOND)
        assert found == Pausing("refused", f"a pause until {at} would be over already")


def test_a_pause_that_takes_the_place_of_another_names_it() -> None:
    ten = Pause("bob", NOW - HOUR, NOW + 2 * HOUR)
    destroy = Pause("carol", NOW - HOUR, closing=True)

    assert paused(before=(ten, destroy)).reason == (
        f"{FOR_GOOD}; this replaces the pause before it (bob paused the lab until 22:00 on 2026-11-20 (Etc/UTC))"
    )
    assert paused(before=(destroy, replace(ten, until=NOW))).reason == FOR_GOOD
    assert paused(before=(Pause("bob", NOW),), lasting=2 * HOUR).reason == (
        f"{UNTIL_TEN}; this replaces the pause before it ({BY_BOB})"
    )


def test_what_runs_stays_open_until_its_end() -> None:
    running = replace(LEASE, state=LeaseState.OPEN, opens=NOW - HOUR, ordered=NOW - HOUR)

    assert (
        paused(running).reason == f"{FOR_GOOD}; the evening lease runs on until 23:00 on 2026-11-20 (Etc/UTC)"
    )
    assert paused(replace(running, closes=NOW)).reason == FOR_GOOD


@pytest.mark.parametrize(("until", "said"), [
    (60, ""),
    (61, "; the evening lease opens late, at 21:01 on 2026-11-20 (Etc/UTC)"),
    (179, "; the evening lease opens late, at 22:59 on 2026-11-20 (Etc/UTC)"),
    (180, "; the evening lease of 21:00 on 2026-11-20 (Etc/UTC) does not open unless somebody resumes the lab"),
    (None, "; the evening lease of 21:00 on 2026-11-20 (Etc/UTC) does not open unless somebody resumes the lab"),
])  # fmt: skip
def test_a_window_ahead_is_untouched_late_or_kept_closed(until: int | None, said: str) -> None:
    found = paused(LEASE, closes=None if until is None else NOW + until * MINUTE)
    lasts = FOR_GOOD if until is None else f"alice paused the lab until {clock(NOW + until * MINUTE)}"
    assert found.reason == f"{lasts}{said}"


@pytest.mark.parametrize(("changed", "kept"), [
    ({}, True),
    ({"state": LeaseState.ADMITTED}, True),
    ({"state": LeaseState.ADMITTED, "ordered": NOW}, False),
    ({"state": LeaseState.OPENING}, False),
    ({"state": LeaseState.REFUSED}, False),
    ({"opens": NOW - HOUR, "closes": NOW}, False),
    ({"opens": NOW - HOUR, "closes": NOW + SECOND}, True),
])  # fmt: skip
def test_only_what_is_still_to_be_opened_is_kept_closed(changed: dict[str, Any], *, kept: bool) -> None:
    assert ("does not open unless" in str(paused(replace(LEASE, **changed)).reason)) is kept


def test_leases_are_named_by_opening_then_by_the_order_of_their_windows() -> None:
    leases = [
        replace(LEASE, id=name, window=name, order=order, opens=NOW + hours * HOUR)
        for name, order, hours in (("d", 0, 2), ("c", 2, 1), ("b", 2, 1), ("a", 3, 1), ("e", 1, 1))
    ]

    said = [part.split(" ")[1] for part in str(paused(*leases).reason).split("; ")[1:]]

    assert said == ["e", "b", "c", "a", "d"]


def test_a_resume_ends_the_pauses_in_force_and_says_whose() -> None:
    ten, over = Pause("bob", NOW - HOUR, NOW + 2 * HOUR), Pause("bob", NOW - HOUR, NOW)

    assert resumed(ten, over) == Pausing(
        "resumed",
        f"{RESUMED}; this ends the pause (bob paused the lab until 22:00 on 2026-11-20 (Etc/UTC))",
        ended=(ten,),
    )
    assert resumed(Pause("bob", NOW), because="it is over").reason == (
        f"{RESUMED} because it is over; this ends the pause ({BY_BOB})"
    )
    assert resumed() == resumed(over) == Pausing("unchanged", "the lab is not paused")


def test_a_resume_opens_late_what_waited() -> None:
    waiting = replace(LEASE, opens=NOW)
    later = replace(LEASE, opens=NOW + SECOND)

    assert resumed(Pause("bob", NOW - HOUR), leases=(waiting, later)).reason == (
        f"{RESUMED}; this ends the pause ({BY_BOB}); "
        "the evening lease opens now, late, and ends at 23:00 on 2026-11-20 (Etc/UTC)"
    )


@pytest.mark.parametrize(("age", "failed", "outcome"), [
    (2 * HOUR - SECOND, False, "refused"), (2 * HOUR, False, "resumed"), (MINUTE, True, "resumed"),
])  # fmt: skip
def test_a_destroy_is_resumed_only_after_it_failed_or_two_hours(
    age: timedelta, outcome: str, *, failed: bool
) -> None:
    destroy = Pause("carol", NOW - age, closing=True, failed=failed)

    found = resumed(destroy)

    assert found == (
        Pausing("refused", "the lab is being destroyed: nothing opens any more")
        if outcome == "refused"
        else Pausing("resumed", f"{RESUMED}; a destroy of the lab had failed", ended=(destroy,))
    )
