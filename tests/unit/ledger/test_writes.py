"""The ledger's single writes at their edges: until when a writer writes, what stands, how long it is kept."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.pool.pool import Phase
from lamplighter.errors import Stale
from tests.builders.leases import DAY, EIGHT, MINUTE, SECOND, usd
from tests.ledger_table import keep_verdicts, kept
from tests.unit import aws_calls
from tests.unit.ledger.test_ledger import decision, entry, granted, lease


def seconds(at: datetime) -> int:
    return int(at.timestamp())


def budget(ledger: Ledger) -> BudgetPeriod:
    return ledger.budget("2026-11", "USD")


def trail(ledger: Ledger) -> list[str]:
    return [each.kind for each in ledger.audit("gpu", EIGHT)]


def test_every_read_is_consistent_and_the_newest_are_read_backwards(ledger: Ledger) -> None:
    asked: list[tuple[str, Any, Any, Any]] = []

    def hear(_service: str, operation: str, given: Mapping[str, Any]) -> None:
        asked.append((operation, given["ConsistentRead"], given.get("ScanIndexForward"), given.get("Limit")))

    with aws_calls.heard(hear):
        ledger.pool("gpu")
        ledger.leases("gpu")
        ledger.receipts("gpu", newest=2)

    assert asked == [("GetItem", True, None, None), ("Query", True, True, None), ("Query", True, False, 2)]


def test_a_writer_writes_until_its_minute_is_over(ledger: Ledger) -> None:
    with ledger.writing("gpu", "run", EIGHT) as fence:
        ledger.still_writing(fence, EIGHT + 59 * SECOND)
        with pytest.raises(Stale, match="its minute ended at 20:01 UTC on 2026-11-20"):
            ledger.still_writing(fence, EIGHT + MINUTE)


def test_the_first_decision_on_a_command_stands_for_45_days(ledger: Ledger) -> None:
    assert ledger.decide("gpu", decision(), entry("answered")) is True
    assert ledger.decide("gpu", replace(decision(), reason="another"), entry("answered")) is False
    assert ledger.decide("gpu", decision("open-2")) is True

    assert ledger.command("gpu", "open-1") == decision()
    assert trail(ledger) == ["answered"]
    assert kept("POOL#gpu", "COMMAND#open-1")["ttl"] == seconds(EIGHT + 45 * DAY)


def test_a_refused_window_is_kept_45_days_and_another_refusal_touches_no_lease(ledger: Ledger) -> None:
    planned = lease("evening", LeaseState.PLANNED)
    ledger.plan(planned)
    ledger.refuse("gpu", decision(), entry("refused"))
    assert ledger.lease("gpu", "evening") == planned

    ledger.refuse("gpu", decision("open-2"), entry("refused"), planned)

    assert kept("POOL#gpu", "LEASE#evening")["ttl"] == seconds(EIGHT + 45 * DAY)


def test_a_lease_goes_on_from_ordered_to_ready_and_never_back(ledger: Ledger) -> None:
    granted(ledger)
    steps = (
        (LeaseState.OPENING, 1, True),
        (LeaseState.OPENING, 2, True),
        (LeaseState.OPEN, 3, True),
        (LeaseState.OPEN, 4, True),
        (LeaseState.OPENING, 5, False),
    )

    assert [ledger.advance("gpu", "cli-1", to, EIGHT + at * MINUTE) for to, at, _ in steps] == [
        went for _, _, went in steps
    ]
    now = ledger.lease("gpu", "cli-1")
    assert now is not None
    assert (now.state, now.ordered, now.ready) == (LeaseState.OPEN, EIGHT + MINUTE, EIGHT + 3 * MINUTE)


def test_what_stands_of_a_lease_for_its_receipt_goes_45_days_after_its_end(ledger: Ledger) -> None:
    assert (ledger.verdicts("gpu", "cli-1"), ledger.settings("gpu", "cli-1")) == ([], {})
    keep_verdicts(ledger, lease(), [{"verdict": "passed"}])
    ledger.keep_settings(lease(), {"seats": 4})

    assert (ledger.verdicts("gpu", "cli-1"), ledger.settings("gpu", "cli-1")) == (
        [{"verdict": "passed"}],
        {"seats": 4},
    )
    until = seconds(lease().closes + 45 * DAY)
    assert (kept("POOL#gpu", "VERDICTS#cli-1")["ttl"], kept("POOL#gpu", "SETTINGS#cli-1")["ttl"]) == (
        until,
        until,
    )


def test_what_is_being_closed_is_not_closed_again(ledger: Ledger) -> None:
    written = granted(ledger)
    ledger.begin_closing([written], ledger.pool("gpu"), EIGHT + MINUTE, entry("closing", 1))
    [closing] = ledger.leases("gpu")

    ledger.begin_closing([closing], ledger.pool("gpu"), EIGHT + 2 * MINUTE, entry("closing", 2))

    assert ledger.leases("gpu") == [closing]
    assert trail(ledger) == ["lease-granted", "closing"]
    assert (ledger.pool("gpu").generation, ledger.pool("gpu").phase) == (2, Phase.CLOSING)


def test_a_lease_that_cost_nothing_gives_its_hold_back(ledger: Ledger) -> None:
    written = granted(ledger)
    ledger.begin_closing([written], ledger.pool("gpu"), EIGHT, entry("closing"))
    [closing] = ledger.leases("gpu")

    ledger.settle(replace(closing, closed=EIGHT), budget(ledger), entry("closed"))

    assert (budget(ledger).held, budget(ledger).spent) == (usd(0), usd(0))


def test_only_other_nodes_are_another_generation_of_the_pool(ledger: Ledger) -> None:
    written = granted(ledger)
    cheaper = replace(written, hold=usd(1))
    ledger.rehold(written, cheaper, pool=ledger.pool("gpu"), budget=budget(ledger), why=entry("degraded"))
    assert (ledger.pool("gpu").generation, ledger.leases("gpu")) == (1, [cheaper])

    more = replace(cheaper, nodes=2, hold=usd(2))
    ledger.rehold(cheaper, more, pool=ledger.pool("gpu"), budget=budget(ledger), why=entry("degraded"))

    assert (ledger.pool("gpu").generation, ledger.leases("gpu")) == (2, [replace(more, generation=2)])
    assert budget(ledger).held == usd(2)


def test_an_extended_lease_is_of_the_next_generation(ledger: Ledger) -> None:
    written = granted(ledger)
    later = replace(written, closes=written.closes + MINUTE, hold=usd(3))
    with ledger.writing("gpu", "extend-1", EIGHT) as fence:
        pool, answer = ledger.pool("gpu"), decision("extend-1")
        extended = ledger.extend(
            written, later, answer, pool=pool, budget=budget(ledger), fence=fence, why=entry("extended")
        )

    assert (extended.generation, ledger.pool("gpu").generation) == (2, 2)
    assert (ledger.leases("gpu"), budget(ledger).held) == ([extended], usd(3))
