"""Which planned windows will not get their nodes or their money, as things stand now.

Asks the rule of every admission (granting/admission.py) ahead for all pools in one pass, by opening and file order.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from lamplighter.domain.granting import admission
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod


def refusals(
    planned: Iterable[Lease],
    granted: Iterable[Lease],
    terms: Mapping[str, Terms],
    budgets: Mapping[str, BudgetPeriod],
) -> dict[str, admission.Refusal]:
    """By lease: why it will be refused. One that will be refused takes neither nodes nor money."""
    there = defaultdict[str, list[Lease]](list)
    for lease in granted:
        there[lease.pool].append(lease)
    promised: list[Lease] = []
    refused: dict[str, admission.Refusal] = {}
    for lease in sorted(planned, key=lambda one: (one.begins, one.order, one.id)):
        before = there[lease.pool]
        refusal = admission.refusal(lease, terms[lease.pool], before, budgets[lease.period], promised)
        if refusal is not None:
            refused[lease.id] = refusal
        else:
            before.append(lease)
            promised.append(lease)
    return refused
