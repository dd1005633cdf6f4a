"""`lamplighter cost`: today, the present budget period and its forecast, by owner and window, and what is beside it."""

from datetime import datetime
from typing import Any

from cli import deployment, printing
from cli.options import AsJson, LabName
from cli.understand.cost_account import DeployedAccount
from lamplighter.data import standing
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.unguarded import unguarded
from lamplighter.values.instant import written


def command(as_json: AsJson = False, lab_name: LabName = None) -> None:
    """Show what GPU nodes cost today and in this budget period, what is still to come, and for whom.

    Node hours are under the guard. Volumes, load balancers, NAT and the control plane are not: they are
    listed with their prices.

    \b
    Examples:
      lamplighter cost
      lamplighter cost --json | jq .forecast
    """
    account = DeployedAccount(deployment.find(lab_name))
    receipts = [
        receipt
        for name in account.found.lab.pools
        for receipt in account.found.ledger.receipts_in_brief(name)
        if account.period.begins <= datetime.fromisoformat(receipt["closed"]) < account.period.ends
    ]
    if as_json:
        printing.as_json(document(account, receipts))
        return
    from cli.understand.cost_tables import show  # noqa: PLC0415 - rich is slow to import, and JSON needs none of it

    show(account, receipts)


def document(account: DeployedAccount, receipts: list[dict[str, Any]]) -> dict[str, object]:
    """All of it, for programs."""
    period, coming = account.period, account.ahead
    return {
        "period": period.key,
        "begins": written(period.begins),
        "ends": written(period.ends),
        "budget": account.limit.to_json(),
        "held": account.budget.held.to_json(),
        "spent": account.budget.spent.to_json(),
        "overrun": account.overrun.to_json(),
        "unleased": account.unleased.to_json(),
        "planned": coming.cost(account.currency).to_json(),
        "left": (account.limit - account.budget.used).to_json(),
        "forecast": {
            **account.forecast.to_json(),
            "refused": [
                {
                    "lease": lease.id,
                    "code": why.lack.value,
                    "reason": printing.drawn(why.reason, account.found.zone),
                }
                for lease, why in coming.refused
            ],
        },
        "today": _ran(account.today),
        "running": [{"lease": lease.id, "pool": lease.pool, **_ran(ran)} for lease, ran in account.running],
        "uncounted": _ran(account.uncounted),
        "owners": [row.to_json("owner") for row in account.owners],
        "windows": [row.to_json("window") for row in account.windows],
        "prices": [
            {"pool": pool, **(price.to_json() if price else {"per_hour": None})}
            for pool, price in account.prices.items()
        ],
        "not_guarded": {
            "prices_of": standing.known_on().isoformat(),
            "items": [item.to_json() for item in unguarded(account.found.lab)],
        },
        "leases": [_receipt(receipt) for receipt in receipts],
    }


def _ran(ran: NodeTime) -> dict[str, object]:
    return {"node_seconds": ran.seconds, "cost": ran.cost.to_json()}


def _receipt(receipt: dict[str, Any]) -> dict[str, object]:
    keys = ("lease", "pool", "owner", "closed", "node_seconds", "cost", "overrun")
    return {key: receipt.get(key) for key in keys}
