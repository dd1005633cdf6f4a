"""A lab's account in a terminal: the period in one line, then owners, windows, receipts and prices."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from cli import printing
from lamplighter.application.views.account import LabAccount
from lamplighter.data import standing
from lamplighter.domain.billing.statement import Ahead, Row
from lamplighter.domain.granting.admission import Refusal
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.unguarded import unguarded
from lamplighter.domain.views.lab_view import SpendingView
from lamplighter.reasons.reason import in_english
from lamplighter.values.counted import counted

UNKNOWN_PRICE = "not known: nothing opens; set price_per_hour of the pool in lab.yaml"


def show(account: LabAccount, zone: ZoneInfo) -> None:
    """Print the account to stdout."""
    budget = account.budget
    printing.say(summary(budget, zone))
    if budget.beyond.amount:
        printing.say(
            f"Of what is spent, {budget.overrun} is for nodes that ran past the end of a lease, and "
            f"{budget.unleased} for nodes without a lease."
        )
    today, uncounted = account.today, account.uncounted
    printing.say(f"Today {today.cost} ({_hours(today.seconds)} node hours).")
    for lease, ran in account.running:
        name = printing.drawn(lease.called(), zone)
        printing.say(f"Running: {name} on pool {lease.pool}, {ran.cost} of {lease.hold} so far.")
    if uncounted.time:
        printing.say(
            f"Nodes past or without a lease cost {uncounted.cost} so far; the guard counts it as spent within "
            "20 minutes."
        )
    ahead = account.ahead
    printing.say(
        f"Forecast for {printing.local(budget.ends, zone)}: {budget.forecast}, with "
        f"{budget.planned} for {counted(len(ahead.leases), 'window')} to come."
    )
    _refused(ahead, zone)
    _rows("owner", budget.owners)
    _rows("window", budget.windows)
    _receipts(account, zone)
    _prices(account, zone)


def summary(spending: SpendingView, zone: ZoneInfo) -> str:
    """The period in a line, for `cost` and `status`."""
    beyond = f" ({spending.beyond} of it past or without a lease)" if spending.beyond.amount else ""
    return (
        f"{spending.period}: {spending.limit} budget, {spending.spent} spent{beyond}, {spending.held} held, "
        f"{spending.left} left until {printing.local(spending.ends, zone)}"
    )


def _refused(ahead: Ahead, zone: ZoneInfo) -> None:
    """One line for each window that will not open, with its first date: later dates have the same reason."""
    of_window: dict[tuple[str, str], list[tuple[Lease, Refusal]]] = {}
    for lease, refusal in ahead.refused:
        of_window.setdefault((lease.window or lease.id, refusal.lack.value), []).append((lease, refusal))
    for (window, _), dates in of_window.items():
        lease, refusal = dates[0]
        more = f" nor on {counted(len(dates) - 1, 'later date')}" if len(dates) > 1 else ""
        reason = printing.drawn(refusal.reason, zone)
        printing.say(f"As things stand {window} will not open on {lease.date}{more}: {reason}.")


def _rows(name: str, rows: Sequence[Row]) -> None:
    if rows:
        printing.table(
            [name, "spent", "held", "to come", "in all", "limit"],
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


def _receipts(account: LabAccount, zone: ZoneInfo) -> None:
    if account.receipts:
        printing.table(
            ["lease", "owner", "closed", "node hours", "past its end", "cost"],
            [
                [
                    receipt["lease"] or "(none)",
                    receipt["owner"] or "-",
                    printing.local(datetime.fromisoformat(receipt["closed"]), zone),
                    _hours(receipt["node_seconds"]),
                    _hours(overrun["node_seconds"]) if (overrun := receipt.get("overrun")) else "-",
                    str(Money.from_json(receipt["cost"])),
                ]
                for receipt in account.receipts
            ],
        )


def _prices(account: LabAccount, zone: ZoneInfo) -> None:
    for pool, price in account.prices.items():
        known = printing.drawn(price.reason(account.now), zone) if price else UNKNOWN_PRICE
        printing.say(f"A node of pool {pool}: {known}.")
    printing.table(
        ["not under the guard", "how many", "price"],
        [
            [in_english(part) for part in (item.what, item.counted, item.cost)]
            for item in unguarded(account.lab)
        ],
        f"Prices of {standing.known_on().isoformat()}; the AWS bill has what they come to",
    )


def _hours(seconds: int) -> str:
    return f"{seconds / 3600:.2f}"
