"""`lamplighter simulate --live`: the plan of the deployed lab, with the skips, pauses and leases of its ledger."""

from datetime import datetime
from functools import partial

from cli import deployed, deployment, printing
from cli.deployment import Deployment
from cli.files import write_document
from cli.instants import instant
from lamplighter.application.views.free_times import A_WEEK
from lamplighter.domain.calendar.changes import paused_at
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.planner.live import live
from lamplighter.errors import BadInput


def show(begins: str | None, ends: str | None, lab_name: str | None, out: str | None) -> None:
    """The same document and tables as for a lab file; the document has the budgets as well."""
    asked = instant("--from", begins) if begins else None
    until = instant("--to", ends) if ends else None
    found = deployment.find(lab_name)
    begin = asked or found.now
    end = until or _a_week_from(begin)
    if begin >= end:
        since = f"--from {begins}" if begins else f"now, {printing.local(begin, found.zone)}"
        raise BadInput(f"--to: {ends or begins} is not after {since}, write a later instant")
    known = deployed.look(found)
    budgets = deployed.budgets(found, known, begin, end)
    simulation = live(known, budgets, begin, end, found.now)
    records = deployed.records(found, known)
    outlooks = [records[window.pool].outlook(window.opens) for window in simulation.windows]
    if out is not None:
        kept = [_budget(found, budget) for budget in budgets.values()]
        document = simulation.to_json(
            partial(printing.drawn, zone=found.zone), [each.to_json() for each in outlooks]
        )
        write_document({**document, "budgets": kept}, out)
        if out == "-":
            return
    from cli.plan import simulation_month, simulation_table  # noqa: PLC0415 - rich is slow, and JSON needs none of it

    pause = paused_at(known.pauses, found.now)
    if pause is not None:
        printing.say(f"PAUSED: {printing.drawn(pause.reason(), found.zone)}")
    simulation_table.show(found.lab, simulation, [printing.drawn(each.said, found.zone) for each in outlooks])
    simulation_month.show(found.lab, simulation)
    for budget in budgets.values():
        printing.say(f"{budget.period}: {budget.held} held, {budget.spent} spent, of {_limit(found)}")


def _a_week_from(begin: datetime) -> datetime:
    try:
        return begin + A_WEEK
    except OverflowError:
        return begin


def _budget(found: Deployment, budget: BudgetPeriod) -> dict[str, object]:
    return {
        "period": budget.period,
        "amount": str(found.lab.guard.budget.amount),
        "held": budget.held.to_json(),
        "spent": budget.spent.to_json(),
    }


def _limit(found: Deployment) -> str:
    return f"{found.lab.guard.budget.amount} {found.lab.guard.budget.currency}"
