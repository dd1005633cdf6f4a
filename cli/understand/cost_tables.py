"""A lab's account as a person reads it: the period in a line, then owners, windows, receipts and the rest."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from cli import printing
from cli.understand.cost_account import DeployedAccount
from lamplighter.data import standing
from lamplighter.domain.leases.admission import Refusal
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.statement import Ahead, Row
from lamplighter.domain.money.unguarded import unguarded
from lamplighter.reasons.reason import in_english
from lamplighter.values.counted import counted

UNKNOWN_PRICE = "not known: nothing opens; set price_per_hour of the pool in lab.yaml"


def show(account: DeployedAccount, receipts: Sequence[dict[str, Any]]) -> None:
    """Prints it to stdout."""
    zone = account.found.zone
    printing.say(summary(account))
    if (account.overrun + account.unleased).amount:
        printing.say(
            f"Of what is spent, {account.overrun} ran past or beside leases and {account.unleased} without any."
        )
    today, uncounted = account.today, account.uncounted
    printing.say(f"Today {today.cost} ({_hours(today.seconds)} node hours).")
    for lease, ran in account.running:
        printing.say(f"Running: {lease.called()} on pool {lease.pool}, {ran.cost} of {lease.hold} so far.")
    if uncounted.time:
        printing.say(
            f"Running past or without a lease: {uncounted.cost} so far; the guard counts it as spent within "
            "20 minutes."
        )
    coming = account.ahead
    printing.say(
        f"Forecast for {printing.local(account.period.ends, zone)}: {account.forecast}, with "
        f"{coming.cost(account.currency)} for {counted(len(coming.leases), 'window')} to come."
    )
    _refused(coming, zone)
    _rows("owner", account.owners)
    _rows("window", account.windows)
    _receipts(receipts, account)
    _prices(account)


def summary(account: DeployedAccount) -> str:
    """The period in a line, as `cost` and `status` have it."""
    budget, ends = account.budget, printing.local(account.period.ends, account.found.zone)
    beyond = account.overrun + account.unleased
    past = f" ({beyond} of it past or without a lease)" if beyond.amount else ""
    return (
        f"{account.period.key}: {account.limit} budget, {budget.spent} spent{past}, {budget.held} held, "
        f"{account.limit - budget.used} left until {ends}"
    )


def _refused(coming: Ahead, zone: ZoneInfo) -> None:
    """Windows that will not open, a line each with the first date; it is the same reason that comes again."""
    of_window: dict[tuple[str, str], list[tuple[Lease, Refusal]]] = {}
    for lease, why in coming.refused:
        of_window.setdefault((lease.window or lease.id, why.lack.value), []).append((lease, why))
    for (window, _), dates in of_window.items():
        lease, why = dates[0]
        more = f" nor on {counted(len(dates) - 1, 'later date')}" if len(dates) > 1 else ""
        refusal = printing.drawn(why.reason, zone)
        printing.say(f"As things stand {window} will not open on {lease.date}{more}: {refusal}.")


def _rows(what: str, rows: Sequence[Row]) -> None:
    if rows:
        printing.table(
            [what, "spent", "held", "to come", "in all", "may have"],
            [
                [
                    row.name,
                    str(row.spent),
                    str(row.held),
                    str(row.planned),
                    str(row.all),
                    str(row.limit or "-"),
                ]
                for row in rows
            ],
        )


def _receipts(receipts: Sequence[dict[str, Any]], account: DeployedAccount) -> None:
    if receipts:
        printing.table(
            ["lease", "owner", "closed", "node hours", "past or beside it", "cost"],
            [
                [
                    receipt["lease"] or "(none)",
                    receipt["owner"] or "-",
                    printing.local(datetime.fromisoformat(receipt["closed"]), account.found.zone),
                    _hours(receipt["node_seconds"]),
                    _hours(past["node_seconds"]) if (past := receipt.get("overrun")) else "-",
                    str(Money.from_json(receipt["cost"])),
                ]
                for receipt in receipts
            ],
        )


def _prices(account: DeployedAccount) -> None:
    for pool, price in account.prices.items():
        known = printing.drawn(price.reason(account.now), account.found.zone) if price else UNKNOWN_PRICE
        printing.say(f"A node of pool {pool}: {known}.")
    printing.table(
        ["not under the guard", "how many", "price"],
        [
            [in_english(part) for part in (item.what, item.counted, item.cost)]
            for item in unguarded(account.found.lab)
        ],
        f"Prices of {standing.known_on().isoformat()}; what it comes to is in AWS's own bill",
    )


def _hours(seconds: int) -> str:
    return f"{seconds / 3600:.2f}"
