"""`lamplighter simulate --live`: the plan of the deployed lab, with what its people and its ledger say."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from cli import deployment, printing
from cli.deployment import Deployment
from cli.simulate import instant, write_document
from lamplighter.domain.budget import Budget
from lamplighter.domain.changes import clock_of, paused_at
from lamplighter.domain.live import Deployed, live
from lamplighter.domain.price import known_price
from lamplighter.domain.terms import Terms, terms
from lamplighter.errors import BadInput

A_WEEK = timedelta(days=7)


def show(begins: str | None, ends: str | None, lab_name: str | None, out: str | None) -> None:
    """The same document and tables as of a lab file; the document has the budgets beside."""
    asked = instant("--from", begins) if begins else None
    until = instant("--to", ends) if ends else None
    found = deployment.find(lab_name)
    begin = asked or found.now
    end = until or begin + A_WEEK
    if begin >= end:
        raise BadInput("--to: is not after --from, write a later instant")
    deployed = Deployed(
        lab=found.lab,
        terms=_terms(found),
        leases=[lease for pool in found.lab.pools for lease in found.ledger.leases(pool)],
        skips=found.ledger.skips(),
        pauses=found.ledger.pauses(),
    )
    budgets = _budgets(found, deployed, begin, end)
    simulation = live(deployed, budgets, begin, end, found.now)
    if out is not None:
        kept = [_budget(found, budget) for budget in budgets.values()]
        write_document({**simulation.to_json(), "budgets": kept}, out)
        if out == "-":
            return
    from cli import simulation_table  # noqa: PLC0415 - rich is slow to import, and JSON needs none of it

    pause = paused_at(deployed.pauses, found.now)
    if pause is not None:
        printing.say(f"PAUSED: {pause.reason(clock_of(found.zone))}")
    simulation_table.show(found.lab, simulation)
    for budget in budgets.values():
        printing.say(f"{budget.period}: {budget.held} held, {budget.spent} spent, of {_limit(found)}")


def _terms(found: Deployment) -> dict[str, Terms]:
    """The terms of every pool whose price is known; the planner plans no other either."""
    known: dict[str, Terms] = {}
    for pool in found.lab.pools:
        kept = found.ledger.price(found.lab.region, found.lab.pools[pool].instance_type)
        try:
            known[pool] = terms(found.lab, pool, known_price(found.lab, pool, kept))
        except BadInput:
            continue
    return known


def _budgets(found: Deployment, deployed: Deployed, begin: datetime, end: datetime) -> Mapping[str, Budget]:
    """The budgets of every period that the range's windows open in, and the present one."""
    currency = found.lab.guard.budget.currency
    periods = {lease.period for lease in deployed.ahead(begin, end, found.now)}
    periods |= {each.period(found.now).key for each in deployed.terms.values()}
    return {period: found.ledger.budget(period, currency) for period in sorted(periods)}


def _budget(found: Deployment, budget: Budget) -> dict[str, object]:
    return {
        "period": budget.period,
        "amount": str(found.lab.guard.budget.amount),
        "held": budget.held.to_json(),
        "spent": budget.spent.to_json(),
    }


def _limit(found: Deployment) -> str:
    return f"{found.lab.guard.budget.amount} {found.lab.guard.budget.currency}"
