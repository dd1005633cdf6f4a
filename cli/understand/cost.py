"""`lamplighter cost`: today, the present budget period and its forecast, by owner and window, and the prices."""

from typing import Any
from zoneinfo import ZoneInfo

from cli import deployment, printing
from cli.options import AsJson, LabName
from lamplighter.application.views.account import LabAccount
from lamplighter.data import standing
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.unguarded import unguarded
from lamplighter.reasons.fields import to_document
from lamplighter.values.instant import written


def command(as_json: AsJson = False, lab_name: LabName = None) -> None:
    """Show what GPU nodes cost today and in this budget period, what is still to come, and for whom.

    The guard controls node hours. It does not control volumes, load balancers, NAT and the control plane: the
    last table lists their prices.

    \b
    Examples:
      lamplighter cost
      lamplighter cost --json | jq .forecast
    """
    deployed = deployment.find(lab_name)
    account = LabAccount(deployed.capacity, deployed.now)
    if as_json:
        printing.as_json(document(account, deployed.zone))
        return
    from cli.understand.cost_tables import show  # noqa: PLC0415 - rich is slow to import, and JSON needs none of it

    show(account, deployed.zone)


def document(account: LabAccount, zone: ZoneInfo) -> dict[str, object]:
    """The JSON document; the reasons in it have their instants by the clock of the zone."""
    budget, ahead = account.budget, account.ahead
    return {
        "period": budget.period,
        "begins": written(budget.begins),
        "ends": written(budget.ends),
        "budget": budget.limit.to_json(),
        "held": budget.held.to_json(),
        "spent": budget.spent.to_json(),
        "overrun": budget.overrun.to_json(),
        "unleased": budget.unleased.to_json(),
        "planned": budget.planned.to_json(),
        "left": budget.left.to_json(),
        "forecast": {
            **budget.forecast.to_json(),
            "refused": [
                {
                    "lease": lease.id,
                    "code": refusal.lack.value,
                    "reason": printing.drawn(refusal.reason, zone),
                }
                for lease, refusal in ahead.refused
            ],
        },
        "today": _ran(account.today),
        "running": [{"lease": lease.id, "pool": lease.pool, **_ran(ran)} for lease, ran in account.running],
        "uncounted": _ran(account.uncounted),
        "owners": [row.to_json("owner") for row in budget.owners],
        "windows": [row.to_json("window") for row in budget.windows],
        "prices": [
            {"pool": pool, **(to_document(price) if price else {"per_hour": None})}
            for pool, price in account.prices.items()
        ],
        "not_guarded": {
            "prices_of": standing.known_on().isoformat(),
            "items": [item.to_json() for item in unguarded(account.lab)],
        },
        "leases": [_receipt(receipt) for receipt in account.receipts],
    }


def _ran(ran: NodeTime) -> dict[str, object]:
    return {"node_seconds": ran.seconds, "cost": ran.cost.to_json()}


def _receipt(receipt: dict[str, Any]) -> dict[str, object]:
    keys = ("lease", "pool", "owner", "closed", "node_seconds", "cost", "overrun")
    return {key: receipt.get(key) for key in keys}
