"""Whether a pool can buy Spot Instances, and whether the keys of Spot fit."""

from collections.abc import Iterator

from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.labfile.rules.parts import Misfit

SPOT_CURRENCY = "USD"


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The pools whose purchase does not fit, and those that say what to do at an interruption without Spot."""
    for name, pool in lab.pools.items():
        path: Path = ("pools", name)
        bought = tuple((*path, key) for key in ("buy", "kind", "existing"))
        if pool.spot and pool.existing is not None:
            text = f"is spot, but AWS says how an existing {pool.noun} buys its nodes; leave it out"
            yield Misfit((*path, "buy"), text, bought[1:])
        elif pool.spot and not pool.has("group"):
            text = f"is spot, which is not built for kind {pool.kind} yet; leave it out, or write kind: node-group"
            yield Misfit((*path, "buy"), text, bought[1:])
        elif pool.spot and lab.guard.budget.currency != SPOT_CURRENCY:
            text = (
                f"is spot, whose prices EC2 has in {SPOT_CURRENCY}, but the budget is in"
                f" {lab.guard.budget.currency}; leave it out, or write a budget in {SPOT_CURRENCY}"
            )
            yield Misfit((*path, "buy"), text, (("guard", "budget", "currency"),))
        if pool.on_interruption is not None and not pool.spot:
            text = f"is {pool.on_interruption}, but AWS takes no node back here; leave it out, or write buy: spot"
            yield Misfit((*path, "on_interruption"), text, (bought[0],))
