"""What the guard reads from the audit trail: a close under way, earlier breaches, and a leak's history."""

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.guard.trail import closing_since, earlier_breaches, incident
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import EarlierBreach
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.pool.pool import PoolState
from tests.builders.leases import EIGHT, MINUTE


def said(
    minutes: int, kind: str, action: str | None = None, *, lease: str | None = None, nodes: int = 0
) -> Entry:
    paged = {"paged": "yes"} if action in {"mark-leaked", "page"} else {}
    details = {} if action is None else {"rule": "leaked", "action": action, **paged}
    at = EIGHT + minutes * MINUTE
    return Entry(at, "gpu", kind, "guard", "did it", "so it is", lease, nodes or None, details)


@pytest.mark.parametrize(
    ("entries", "since"),
    [
        ([], None),
        ([said(1, "closing")], 1),
        ([said(1, "closing"), said(2, "closing")], 2),
        ([said(1, "closing"), said(2, "scaled")], None),
        ([said(1, "scaled"), said(2, "closing")], 2),
        ([said(1, "closing"), said(2, "breach", "close", lease="cli-1")], 1),
        ([said(1, "breach", "close", lease="cli-1"), said(2, "breach", "close", lease="cli-1")], 1),
        ([said(1, "breach", "close", nodes=1)], 1),
        ([said(1, "breach", "close")], None),
        ([said(1, "breach", "rearm", lease="cli-1")], None),
        ([said(1, "breach", "close", lease="cli-1"), said(2, "warned", "warn", lease="cli-1")], 1),
    ],
)
def test_a_close_is_under_way_until_it_gives_its_order(entries: list[Entry], since: int | None) -> None:
    assert closing_since(entries) == (None if since is None else EIGHT + since * MINUTE)


def test_what_a_rule_said_is_remembered_with_whether_it_was_paged() -> None:
    paged = Entry(EIGHT, "gpu", "breach", "guard", "", "", None, None, {"rule": "leaked", "paged": "yes"})
    no_rule = Entry(EIGHT, "gpu", "breach", "guard", "", "", None, None, {"action": "close"})

    assert earlier_breaches([no_rule, said(1, "leaked", "page", lease="cli-1"), paged]) == (
        EarlierBreach("leaked", "page", "cli-1", EIGHT + MINUTE, paged=True),
        EarlierBreach("leaked", "", None, EIGHT, paged=True),
    )


def test_a_leak_has_its_closes_and_its_pages_since_it_began(ledger: Ledger) -> None:
    leaked = PoolState("gpu", leaked_since=EIGHT, acked_until=EIGHT + 60 * MINUTE)
    assert incident(ledger, PoolState("gpu")) is None
    assert incident(ledger, leaked) == Incident(EIGHT, silenced_until=EIGHT + 60 * MINUTE)
    unsent = {"rule": "leaked", "action": "page", "paged": "no"}
    ledger.append_audit(Entry(EIGHT + 7 * MINUTE, "gpu", "leaked", "guard", "", "", details=unsent))
    actions = ((-1, "close"), (0, "mark-leaked"), (1, "close"), (5, "page"), (9, "close"), (10, "terminate"))
    for minutes, action in actions:
        ledger.append_audit(said(minutes, "leaked", action))

    assert incident(ledger, leaked) == Incident(
        EIGHT,
        closed_at=EIGHT + 9 * MINUTE,
        tries=2,
        pages=2,
        paged_at=EIGHT + 5 * MINUTE,
        silenced_until=EIGHT + 60 * MINUTE,
    )
