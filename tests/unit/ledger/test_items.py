"""The whole items that the ledger keeps, both ways: values, instants, pools, budgets, skips and pauses."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger import money as ledger_money
from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Pause, Skip
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.pool import Phase, PoolState, SeenGpus
from tests.builders.leases import DAY, EIGHT, MINUTE, SECOND, persons, usd
from tests.ledger_table import kept

MILLISECONDS = int(EIGHT.timestamp()) * 1000
DECISION = Decision("skip-1", "skipped", "for a reason", EIGHT)
AGAIN = Decision("unskip-1", "unskipped", "for a reason", EIGHT)
WHY = Entry(EIGHT, "gpu", "skipped", "alice", "did it", "for a reason")


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (None, {"NULL": True}),
        (True, {"BOOL": True}),
        (False, {"BOOL": False}),
        (0, {"N": "0"}),
        (7, {"N": "7"}),
        ("", {"S": ""}),
        ({"a": [1, None]}, {"M": {"a": {"L": [{"N": "1"}, {"NULL": True}]}}}),
    ],
)
def test_a_value_comes_back_from_dynamodbs_form(value: items.Value, attribute: items.Item) -> None:
    assert items.encoded(value) == attribute
    assert items.decoded(attribute) == value
    assert type(items.decoded(attribute)) is type(value)


def test_an_item_has_its_key_its_schema_what_is_known_and_when_it_may_go() -> None:
    key = {"pk": {"S": "LAB"}, "sk": {"S": "X"}, "schema": {"N": "1"}}
    assert items.item("LAB", "X", {"a": 0, "b": None}) == {**key, "a": {"N": "0"}}
    assert items.item("LAB", "X", {}, until=EIGHT) == {**key, "ttl": {"N": str(MILLISECONDS // 1000)}}
    assert (items.pool_key("*"), items.pool_key("gpu")) == ("LAB", "POOL#gpu")


def test_an_instant_is_kept_in_whole_milliseconds() -> None:
    at = EIGHT + timedelta(milliseconds=1)

    assert items.milliseconds(at) == MILLISECONDS + 1
    assert items.at_milliseconds(MILLISECONDS + 1) == at
    assert items.at_milliseconds("1") is None
    assert items.sortable(at) == "2026-11-20T20:00:00.001000Z"


def test_an_audit_entry_is_kept_400_days_and_comes_back_as_it_was() -> None:
    entry = Entry(EIGHT, "gpu", "closed", "alice", "did it", "for a reason", "cli-1", 2, {"from": "x"})
    bare = Entry(EIGHT, "*", "closed", "alice", "did it", "for a reason")
    first, second = items.audit_item(entry), items.audit_item(entry)

    assert items.audit_entry("gpu", first) == entry
    assert items.audit_entry("*", items.audit_item(bare)) == bare
    assert first["ttl"] == {"N": str(int((EIGHT + 400 * DAY).timestamp()))}
    assert first["sk"]["S"].startswith("AUDIT#2026-11-20T20:00:00.000000Z#")
    assert first["sk"]["S"] < second["sk"]["S"]


def test_a_pool_that_nobody_touched_is_closed_and_one_with_everything_reads_so() -> None:
    at = {"N": str(MILLISECONDS)}
    instants = (
        *("held_until", "failsafe_at", "leaked_since", "acked_until", "over_since", "idle_since"),
        *("looked_at", "gpus_seen_at", "metered_until", "metering_until"),
    )
    said: dict[str, Any] = {
        **dict.fromkeys(instants, at),
        **{name: {"N": str(number)} for number, name in enumerate(("fence", "gpus_in_use", "gpus_seen"), 5)},
        "generation": {"N": "4"},
        "phase": {"S": Phase.OPEN.value},
        "holder": {"S": "run"},
        "mode": {"S": "watch"},
        "leaked_because": {"S": "why"},
        "metering_after": {"S": "cli-1"},
        "unbilled": {"S": '{"node_microseconds": 1000000, "amount": "0.5", "currency": "USD"}'},
    }

    empty = items.pool_state("gpu", None)
    assert (empty.generation, empty.phase, empty.fence, empty.unbilled) == (0, Phase.CLOSED, 0, None)
    assert items.pool_state("gpu", said) == PoolState(
        name="gpu",
        generation=4,
        phase=Phase.OPEN,
        fence=5,
        holder="run",
        held_until=EIGHT,
        failsafe_at=EIGHT,
        mode="watch",
        leaked_since=EIGHT,
        leaked_because="why",
        acked_until=EIGHT,
        over_since=EIGHT,
        idle_since=EIGHT,
        looked_at=EIGHT,
        seen_gpus=SeenGpus(6, 7, EIGHT),
        metered_until=EIGHT,
        metering_until=EIGHT,
        metering_after="cli-1",
        unbilled=NodeTime(SECOND, usd("0.5")),
    )


def test_a_budget_period_comes_back_with_its_accounts() -> None:
    budget = BudgetPeriod(
        "2026-11",
        usd(4),
        usd(3),
        7,
        {"class": Account(usd(4), usd(1))},
        overrun=usd("0.5"),
        unleased=usd("0.25"),
    )

    assert ledger_money.as_budget("2026-11", "USD", [ledger_money.as_item(budget)]) == budget
    bare = BudgetPeriod("2026-11", usd(1), usd(0), 1)
    assert ledger_money.as_budget("2026-11", "USD", [ledger_money.as_item(bare)]) == bare
    assert ledger_money.as_budget("2026-11", "USD", []) == BudgetPeriod("2026-11", usd(0), usd(0))


@pytest.mark.parametrize(
    ("held", "spent", "currency"), [(0, 0, "EUR"), (1, 0, "USD"), (0, 1, "USD"), (1, 1, "USD")]
)
def test_only_an_empty_period_follows_the_labs_new_currency(held: int, spent: int, currency: str) -> None:
    found = ledger_money.as_item(BudgetPeriod("2026-11", usd(held), usd(spent), 7))
    assert ledger_money.as_budget("2026-11", "EUR", [found]) == BudgetPeriod(
        "2026-11", Money.of(held, currency), Money.of(spent, currency), 7
    )


@pytest.mark.parametrize("because", [None, "the holiday"])
def test_a_skip_is_kept_for_45_days_and_put_back_once(ledger: Ledger, because: str | None) -> None:
    skip = Skip("evening", "2026-11-21", "alice", EIGHT, because)

    assert ledger.skipped("evening", "2026-11-21") is None
    ledger.skip(skip, ("gpu", "evening-2026-11-21"), "*", DECISION, WHY)

    found = kept("LAB", "SKIP#evening#2026-11-21")
    assert found is not None
    assert found["ttl"] == int(datetime(2027, 1, 5, tzinfo=UTC).timestamp())
    assert found.get("why") == because
    assert ledger.skipped("evening", "2026-11-21") == skip
    assert ledger.skipped("evening", "2026-11-22") is None
    assert (ledger.skips(), ledger.skips_and_pauses()) == ([skip], ([skip], []))
    with pytest.raises(Conflict):
        ledger.skip(skip, ("gpu", "evening-2026-11-21"), "*", AGAIN, WHY)
    ledger.unskip(skip, "*", AGAIN, WHY)
    assert ledger.skips() == []
    with pytest.raises(Conflict):
        ledger.unskip(skip, "*", replace(AGAIN, command="unskip-2"), WHY)


@pytest.mark.parametrize(
    ("pause", "more"),
    [
        (Pause("alice", EIGHT), {}),
        (
            Pause("alice", EIGHT, EIGHT + MINUTE, "exams"),
            {
                "until": "2026-11-20T20:01:00Z",
                "ends": MILLISECONDS + 60_000,
                "why": "exams",
                "ttl": int((EIGHT + MINUTE + 45 * DAY).timestamp()),
            },
        ),
    ],
)
def test_a_pause_is_kept_and_ended_as_read(ledger: Ledger, pause: Pause, more: dict[str, object]) -> None:
    ledger.pause(pause, "*", DECISION, [WHY])

    base = {"pk": "LAB", "sk": "PAUSE#PEOPLE", "schema": 1, "by": "alice", "at": "2026-11-20T20:00:00Z"}
    assert kept("LAB", "PAUSE#PEOPLE") == {**base, **more}
    assert (ledger.pauses(), ledger.skips_and_pauses()) == ([pause], ([], [pause]))
    with pytest.raises(Conflict):
        ledger.resume([Pause("alice", EIGHT + SECOND)], "*", AGAIN, [WHY])
    ledger.resume([pause], "*", AGAIN, [WHY])
    assert ledger.pauses() == []


def test_a_destroy_pauses_the_lab_until_it_is_deployed_or_resumed_after_it_failed(ledger: Ledger) -> None:
    ledger.begin_last_close("carol", EIGHT)
    assert ledger.pauses() == [Pause("carol", EIGHT, closing=True)]

    ledger.last_close_failed("carol", EIGHT)
    failed = Pause("carol", EIGHT, closing=True, failed=True)
    assert ledger.pauses() == [failed]

    ledger.resume([failed], "*", DECISION, [WHY])
    assert ledger.pauses() == []
    ledger.begin_last_close("carol", EIGHT)
    ledger.end_last_close()
    assert ledger.pauses() == []


def test_when_the_planner_looked_is_known_once_it_has(ledger: Ledger) -> None:
    assert ledger.planned_at() is None
    ledger.note_planned(EIGHT)
    assert ledger.planned_at() == EIGHT


@pytest.mark.parametrize(("closed", "until"), [(None, None), (EIGHT, EIGHT + 45 * DAY)])
def test_a_lease_is_kept_for_45_days_after_its_close(closed: datetime | None, until: datetime | None) -> None:
    found = items.values(items.lease_item(persons(closed=closed)))
    assert (found["pk"], found["sk"], found["schema"]) == ("POOL#gpu", "LEASE#cli-1", 1)
    assert found.get("ttl") == (None if until is None else int(until.timestamp()))
