"""How much of a budget is used, and whether what is planned until the end of its period still fits.

People hear this before the first lease is refused. Whether a lease is refused is admission.py's rule.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lamplighter.domain.granting import spending
from lamplighter.domain.granting.spending import BudgetLimit
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who
from lamplighter.reasons.reason import Reason, Value, reason

WHOLE = 100
"""Per cent."""


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """One budget of which so much is used that people hear it."""

    owner: str | None
    """Whose part of the lab's budget it is; None: the budget itself."""
    reached: int
    """The greatest of the shares that is reached, in per cent; 0: what is planned beside it passes the budget."""
    why: Reason

    @property
    def key(self) -> str:
        """Names it within its period: each share is told once, and once that what is planned does not fit."""
        return f"{self.owner or '*'}-{self.reached or 'planned'}"


def warnings(
    terms: Terms, budget: BudgetPeriod, planned: Iterable[Lease], shares: Sequence[int]
) -> Iterator[BudgetUse]:
    """The budgets to tell of: the lab's, then each owner's part. `planned` are the windows until the period ends."""
    ahead = list(planned)
    yield from _uses(None, spending.purses("", terms, budget, ahead)[0], shares)
    for owner in {who(owner): owner for owner in terms.owners}.values():
        yield from _uses(owner, spending.purses(owner, terms, budget, ahead)[-1], shares)


def _uses(owner: str | None, limit: BudgetLimit, shares: Sequence[int]) -> Iterator[BudgetUse]:
    used, whole = limit.account.used, limit.limit
    if not whole.amount or not shares:
        # A budget of nothing refuses whatever costs money, and says so each time.
        return
    values: dict[str, Value] = {"budget": limit.whose, "used": str(used)}
    reached = max((share for share in shares if used.amount * WHOLE >= whole.amount * share), default=0)
    if reached:
        yield BudgetUse(owner, reached, reason("money.used", **values))
    beyond = used + limit.promised - whole
    if limit.promised.amount and beyond > Money.zero(whole.currency):
        values |= {"planned": str(limit.promised), "beyond": str(beyond)}
        yield BudgetUse(owner, 0, reason("money.used.too-little", **values))
