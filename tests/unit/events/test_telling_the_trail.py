"""Runs that tell the trail and answer requests: what fails is told by the next one, and nothing is missed."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.application.events.receiving import receive
from lamplighter.application.events.telling import tell
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.events.asked import DECIDED_WITHIN
from lamplighter.domain.events.cursor import GIVEN_UP_AFTER, OVERLAP
from lamplighter.errors import LamplighterError, OutsideFailed
from tests.unit.events.bus import EIGHT, EVENT, MINUTE, LabWithBus, event, lab_with_bus, lease


def told(bus: LabWithBus) -> list[str]:
    """The types of what the bus took since the last look."""
    found = [kind for kind, _ in bus.eventbridge.told]
    bus.eventbridge.put.clear()
    return found


def test_what_happened_before_the_bus_was_there_is_not_told(bus: LabWithBus) -> None:
    bus.happens("breach", -6)
    bus.happens("warned", -1)
    assert tell("gpu", bus.services) == ["warned"]
    bus.happens("leaked", 1)
    bus.at(2)

    assert tell("gpu", bus.services) == ["leaked"]
    assert tell("gpu", bus.services) == []


def test_what_the_bus_does_not_take_is_told_by_the_next_run_and_the_rest_once(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    for kind in ("breach", "leaked", "breach"):
        bus.happens(kind, 1)
    bus.at(2)
    bus.eventbridge.refuses = lambda entry: "InternalFailure" if entry["DetailType"] == "leaked" else None
    with pytest.raises(OutsideFailed, match="1 of the events: InternalFailure"):
        tell("gpu", bus.services)
    assert told(bus) == ["breach", "breach"]
    bus.at(100)
    bus.eventbridge.refuses = lambda _: None

    assert tell("gpu", bus.services) == ["leaked"]
    assert tell("gpu", bus.services) == []


def test_what_the_bus_does_not_take_for_a_day_is_given_up_and_keeps_nothing_back(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    bus.happens("leaked", 1)
    bus.eventbridge.refuses = lambda entry: "InternalFailure" if entry["DetailType"] == "leaked" else None
    day = GIVEN_UP_AFTER / MINUTE
    for minutes in range(2, int(day) + 30, 29):
        bus.at(minutes)
        with pytest.raises(OutsideFailed):
            tell("gpu", bus.services)
    bus.at(day + 31)
    bus.happens("breach", day + 30)
    bus.eventbridge.refuses = lambda _: None
    tell("gpu", bus.services)

    assert told(bus)[-1] == "breach"
    cursor = bus.services.ledger.cursor("gpu")
    assert cursor is not None
    assert cursor.until == EIGHT + (day + 31) * MINUTE


def test_a_quiet_pool_writes_its_cursor_now_and_then_only(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    version = bus.dynamodb.version
    for minutes in range(5, 20, 5):
        bus.at(minutes)
        tell("gpu", bus.services)
    assert bus.dynamodb.version == version
    bus.at(20)
    tell("gpu", bus.services)
    assert bus.dynamodb.version == version + 1


def test_the_verdicts_of_a_run_are_one_event(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    for _ in range(12):
        bus.happens("verdict", 1, lease="event-1")
    bus.at(2)
    # More of them may be on the way: the notice comes after all.
    assert tell("gpu", bus.services) == []
    bus.happens("verdict", 1, lease="event-1")
    bus.happens("announced", 2, lease="event-1", details={"notice": "open"})

    assert tell("gpu", bus.services) == ["verdict", "pool-open"]
    assert tell("gpu", bus.services) == []


def test_verdicts_without_a_notice_are_told_all_the_same(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    bus.happens("verdict", 1, lease="event-1")
    bus.at(3)
    assert tell("gpu", bus.services) == ["verdict"]


# --- answers -------------------------------------------------------------------------------------


def test_a_decided_request_is_answered_once_and_what_follows_names_it(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    bus.workflows.decide = bus.grants
    receive(json.dumps(event()), bus.services)
    [command] = bus.workflows.commands
    bus.happens("lease-granted", 0, who=command.by, lease=command.lease_id)
    bus.happens("announced", 1, lease=command.lease_id, details={"notice": "open"})
    bus.at(2)

    assert tell("gpu", bus.services) == ["lease-granted", "pool-open"]
    names = {"in_reply_to": EVENT, "owner": "ci-training", "lease": command.lease_id}
    assert all(names.items() <= detail.items() for _, detail in bus.eventbridge.told)
    assert tell("gpu", bus.services) == []
    assert bus.services.ledger.asked("gpu") == []


def test_an_undecided_request_waits_and_is_refused_at_last(bus: LabWithBus) -> None:
    receive(json.dumps(event()), bus.services)
    bus.at(25)
    assert tell("gpu", bus.services) == []
    bus.at((15 * MINUTE + DECIDED_WITHIN) / MINUTE + 1)
    assert tell("gpu", bus.services) == ["lease-refused"]
    assert tell("gpu", bus.services) == []


def test_every_event_with_the_same_token_gets_its_answer(bus: LabWithBus) -> None:
    bus.workflows.decide = bus.grants
    for name in ("first", "again"):
        receive(json.dumps(event({"token": "run-7"}, id=name)), bus.services)
    assert tell("gpu", bus.services) == ["lease-granted", "lease-granted"]
    assert {detail["in_reply_to"] for _, detail in bus.eventbridge.told} == {"first", "again"}
    assert len(bus.workflows.started) == 1


def test_an_answer_that_the_bus_does_not_take_is_given_by_the_next_run(bus: LabWithBus) -> None:
    bus.workflows.decide = bus.grants
    receive(json.dumps(event()), bus.services)
    bus.eventbridge.refuses = lambda _: "ThrottlingException"
    with pytest.raises(OutsideFailed):
        tell("gpu", bus.services)
    bus.eventbridge.refuses = lambda _: None

    assert tell("gpu", bus.services) == ["lease-granted"]


def test_a_lease_of_a_person_answers_no_event(bus: LabWithBus) -> None:
    tell("gpu", bus.services)
    bus.keep(lease("cli-1", source="cli", owner="alice"))
    bus.happens("warned", 1, lease="cli-1")
    bus.at(2)
    tell("gpu", bus.services)

    [(_, detail)] = bus.eventbridge.told
    assert (detail["owner"], detail["in_reply_to"]) == ("alice", None)


# --- nothing is missed ---------------------------------------------------------------------------

TOLD_KINDS = ("warned", "breach", "leaked", "closing")
ACTIONS = st.one_of(
    st.tuples(st.just("happens"), st.sampled_from(TOLD_KINDS), st.integers(-3, int(OVERLAP / MINUTE))),
    st.tuples(st.just("passes"), st.sampled_from((0.01, 1.0, 4.0, 14.0, 16.0, 40.0, 300.0))),
    st.tuples(st.just("runs"), st.integers(0, 2**12 - 1)),
    st.tuples(st.just("dies"), st.integers(1, 6)),
    st.tuples(st.just("meets"), st.integers(0, 2**12 - 1), st.integers(0, 2**12 - 1)),
    st.tuples(st.just("outage")),
)


class Died(BaseException):
    """The function's process is gone."""


@dataclass
class Runs:
    """Runs of the function over one pool: `minutes` after eight it is now."""

    bus: LabWithBus
    minutes: float = 0.0
    entries: dict[str, Entry] = field(default_factory=dict)

    def happens(self, kind: str, late: float) -> None:
        """An entry that is committed so many minutes after its own time; before the first run all is history."""
        why = f"entry {len(self.entries)}"
        self.entries[why] = self.bus.happens(kind, max(0.0, self.minutes - late), why=why)

    def passes(self, minutes: float) -> None:
        self.minutes += minutes
        self.bus.at(self.minutes)

    def runs(self, refused: int) -> None:
        """One run; the bus refuses the entries whose bit is set."""
        seen = iter(range(10**6))
        self.bus.eventbridge.refuses = lambda _: "InternalFailure" if refused >> next(seen) % 12 & 1 else None
        try:
            tell("gpu", self.bus.services)
        except LamplighterError:
            pass
        finally:
            self.bus.eventbridge.refuses = lambda _: None

    def outage(self) -> None:
        self.bus.eventbridge.fails = [OutsideFailed("no answer")]
        self.runs(0)
        self.bus.eventbridge.fails = []

    def dies(self, at: int) -> None:
        """A run ends at its call of the table or of the bus with this number."""
        left = iter(range(at))
        table, bridge = self.bus.dynamodb, self.bus.eventbridge
        calls = {"get_item": table, "query": table, "put_item": table, "put_events": bridge}

        def deadly(act: Any) -> Any:
            def call(**given: Any) -> Any:
                answer = act(**given)
                if next(left, None) is None:
                    raise Died
                return answer

            return call

        for name, of in calls.items():
            setattr(of, name, deadly(getattr(of, name)))
        try:
            self.runs(0)
        except Died:
            pass
        finally:
            for name, of in calls.items():
                delattr(of, name)

    def meets(self, mine: int, theirs: int) -> None:
        """While one run tells what it has read, another one comes and goes, and something happens in between."""
        ledger = self.bus.services.ledger
        reads = ledger.trail

        def meanwhile(pool: str, since: datetime) -> list[tuple[str, Entry]]:
            found = reads(pool, since)
            ledger.trail = reads  # type: ignore[method-assign]
            self.happens("breach", 2)
            self.runs(theirs)
            return found

        ledger.trail = meanwhile  # type: ignore[method-assign]
        self.runs(mine)
        ledger.trail = reads  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clock")


@given(st.lists(ACTIONS, max_size=25))
def test_each_entry_is_told_however_late_it_came_and_whatever_failed(
    folder: Path, actions: list[tuple[Any, ...]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        runs = Runs(lab_with_bus(patch, folder))
        runs.runs(0)
        for what, *given_ in actions:
            getattr(runs, what)(*given_)
        given_up = {
            why for why, entry in runs.entries.items() if runs.bus.services.now() - entry.at >= GIVEN_UP_AFTER
        }
        runs.passes(1)
        runs.runs(0)
        runs.runs(0)

        told = [detail["reason"]["text"] for _, detail in runs.bus.eventbridge.told]
        assert runs.entries.keys() - given_up <= set(told)
        assert set(told) <= runs.entries.keys()
        before = len(told)
        runs.runs(0)
        assert len(runs.bus.eventbridge.told) == before


@given(st.lists(st.tuples(st.sampled_from(TOLD_KINDS), st.integers(0, 14), st.floats(0.1, 10)), max_size=20))
def test_without_failures_each_entry_is_told_once(folder: Path, rows: list[tuple[str, int, float]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        runs = Runs(lab_with_bus(patch, folder))
        runs.runs(0)
        for kind, late, passes in rows:
            runs.happens(kind, late)
            runs.runs(0)
            runs.passes(passes)
        runs.runs(0)

        told = [detail["reason"]["text"] for _, detail in runs.bus.eventbridge.told]
        assert sorted(told) == sorted(runs.entries)


def test_the_property_sees_what_the_cursor_is_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no overlap, a late entry is missed: the runs above can tell."""
    runs = Runs(lab_with_bus(monkeypatch, folder))
    monkeypatch.setattr("lamplighter.domain.events.cursor.OVERLAP", timedelta(0))
    runs.runs(0)
    runs.passes(5)
    runs.happens("breach", 3)
    runs.runs(0)
    runs.passes(5)
    runs.happens("leaked", 7)
    runs.runs(0)

    assert [kind for kind, _ in runs.bus.eventbridge.told] == ["breach"]
