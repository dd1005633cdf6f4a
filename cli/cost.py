"""`lamplighter cost`: what the present budget period has held, spent and left, and what each lease cost."""

from datetime import datetime
from typing import Any

from cli import deployment, printing
from cli.options import AsJson, LabName
from lamplighter.domain.instant import written
from lamplighter.domain.lease import LeaseState
from lamplighter.domain.money import Money, period_of


def command(as_json: AsJson = False, lab_name: LabName = None) -> None:
    """Show the budget of the present period and the cost of the windows that closed in it.

    Node hours are under the guard; volumes, load balancers, NAT and the control plane are not.

    \b
    Examples:
      lamplighter cost
      lamplighter cost --json
    """
    found = deployment.find(lab_name)
    budget = found.lab.guard.budget
    period = period_of(found.now, budget.period, found.zone)
    kept = found.ledger.budget(period.key, budget.currency)
    planned = sum(
        (
            lease.hold
            for name in found.lab.pools
            for lease in found.ledger.leases(name)
            if lease.state is LeaseState.PLANNED and lease.period == period.key
        ),
        Money.zero(budget.currency),
    )
    limit = Money.of(budget.amount, budget.currency)
    receipts = [
        receipt
        for name in found.lab.pools
        for receipt in found.ledger.receipts(name)
        if period.begins <= datetime.fromisoformat(receipt["closed"]) < period.ends
    ]
    if as_json:
        printing.as_json(
            {
                "period": period.key,
                "begins": written(period.begins),
                "ends": written(period.ends),
                "budget": limit.to_json(),
                "held": kept.held.to_json(),
                "spent": kept.spent.to_json(),
                "planned": planned.to_json(),
                "left": (limit - kept.used).to_json(),
                "leases": [_document(receipt) for receipt in receipts],
            }
        )
        return
    printing.say(
        f"{period.key}: {limit} budget, {kept.spent} spent, {kept.held} held, {limit - kept.used} left "
        f"until {printing.local(period.ends, found.zone)}"
    )
    if planned.amount:
        printing.say(f"Of what is left, {planned} is planned for the windows of the next 36 hours.")
    if receipts:
        printing.table(
            ["lease", "owner", "closed", "node hours", "cost"],
            [
                [
                    receipt["lease"],
                    receipt["owner"],
                    printing.local(datetime.fromisoformat(receipt["closed"]), found.zone),
                    f"{receipt['node_seconds'] / 3600:.2f}",
                    f"{receipt['cost']['amount']} {receipt['cost']['currency']}",
                ]
                for receipt in receipts
            ],
        )
    printing.say("Not under the guard: volumes, load balancers, NAT, the control plane and the system nodes.")


def _document(receipt: dict[str, Any]) -> dict[str, object]:
    keys = ("lease", "pool", "owner", "closed", "node_seconds", "cost")
    return {key: receipt[key] for key in keys}
