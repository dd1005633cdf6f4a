"""What the ledger keeps for the bus: requests until they are answered, notes of closes, and the cursor."""

from datetime import timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.events import KEEP_ASKED, KEEP_CLOSED, KEEP_OPENED, LedgerEvents
from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.orders import EXPIRES_AFTER
from lamplighter.domain.events.asked import AskedByEvent
from lamplighter.domain.events.cursor import Cursor
from tests.builders.leases import EIGHT, MINUTE
from tests.ledger_table import kept
from tests.unit.ledger.test_ledger import entry

ASKED = AskedByEvent("e-1", "c-1", Verb.OPEN, "gpu", "ci", "event-1", EIGHT + EXPIRES_AFTER)


@pytest.fixture
def bus(dynamodb: Any) -> LedgerEvents:
    return LedgerEvents("ledger", dynamodb)


def ttl(sort_key: str) -> object:
    return kept("EVENT#gpu", sort_key)["ttl"]


def test_a_request_is_kept_until_it_is_answered_and_again_it_is_the_same(bus: LedgerEvents) -> None:
    bus.ask(ASKED, EIGHT)
    bus.ask(ASKED, EIGHT)
    assert bus.asked("gpu") == [ASKED]
    assert bus.asked("big") == []
    assert ttl("ASKED#e-1") == (EIGHT + KEEP_ASKED).timestamp()
    bus.forget(ASKED)

    assert bus.asked("gpu") == []


def test_the_lease_that_a_request_opened_names_it(bus: LedgerEvents) -> None:
    bus.ask(ASKED, EIGHT)
    bus.forget(ASKED)

    assert bus.opened_by("gpu", "event-1") == "e-1"
    assert bus.opened_by("big", "event-1") is None
    assert ttl("OPENED#event-1") == (EIGHT + KEEP_OPENED).timestamp()


def test_a_close_is_noted_for_longer_than_an_open_is_good(bus: LedgerEvents) -> None:
    assert not bus.close_noted("gpu", "c-1", EIGHT)
    bus.note_close("gpu", "c-1", EIGHT)

    assert bus.close_noted("gpu", "c-1", EIGHT + EXPIRES_AFTER)
    assert not bus.close_noted("big", "c-1", EIGHT)
    assert not bus.close_noted("gpu", "c-1", EIGHT + KEEP_CLOSED)
    assert ttl("CLOSED#c-1") == (EIGHT + KEEP_CLOSED).timestamp()
    assert KEEP_CLOSED > EXPIRES_AFTER


def test_a_cursor_is_read_as_it_was_written_and_counts_its_moves(bus: LedgerEvents) -> None:
    assert bus.cursor("gpu") is None
    bus.move_cursor("gpu", Cursor(EIGHT, frozenset({"b", "a"})))
    assert bus.cursor("gpu") == Cursor(EIGHT, frozenset({"a", "b"}), 1)
    moved = Cursor(EIGHT + timedelta(milliseconds=1), version=1)
    bus.move_cursor("gpu", moved)

    assert bus.cursor("gpu") == Cursor(moved.until, frozenset(), 2)
    assert "ttl" not in kept("EVENT#gpu", "CURSOR")


def test_of_two_runs_that_move_the_cursor_one_does(bus: LedgerEvents) -> None:
    bus.move_cursor("gpu", Cursor(EIGHT))
    with pytest.raises(Conflict):
        bus.move_cursor("gpu", Cursor(EIGHT + MINUTE))
    assert bus.cursor("gpu") == Cursor(EIGHT, version=1)


def test_the_trail_has_each_entry_by_its_own_key_oldest_first(bus: LedgerEvents, ledger: Ledger) -> None:
    for minutes in (3, 1, 2, 2):
        ledger.append_audit(entry("breach", minutes))
    found = bus.trail("gpu", EIGHT + 2 * MINUTE)

    assert [each for _, each in found] == [entry("breach", minutes) for minutes in (2, 2, 3)]
    assert len({key for key, _ in found}) == 3
    assert [key for key, _ in found] == sorted(key for key, _ in found)


def test_nothing_of_the_bus_is_in_the_pools_own_partition(bus: LedgerEvents, dynamodb: Any) -> None:
    """The functions of the bus may write only here."""
    bus.ask(ASKED, EIGHT)
    bus.forget(ASKED)
    bus.note_close("gpu", "c-1", EIGHT)
    bus.move_cursor("gpu", Cursor(EIGHT))

    partitions = {item["pk"]["S"] for item in dynamodb.scan(TableName="ledger")["Items"]}
    assert partitions == {"EVENT#gpu"}
