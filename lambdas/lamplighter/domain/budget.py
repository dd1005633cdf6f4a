"""A budget period as the ledger keeps it: what is held for granted leases and what was spent.

How long a period is and what a lease costs is money.py's; refusing is grant.py's.
"""

from dataclasses import dataclass, replace
from typing import Self

from lamplighter.domain.money import Money


@dataclass(frozen=True, slots=True)
class Budget:
    """One period of a lab's budget. `version` moves with every write, so that two cannot cross."""

    period: str
    held: Money
    spent: Money
    version: int = 0

    @property
    def used(self) -> Money:
        """What may not be given away again."""
        return self.held + self.spent

    def holding(self, more: Money) -> Self:
        """With that much more set aside."""
        return replace(self, held=self.held + more)

    def freeing(self, hold: Money) -> Self:
        """With that hold given back."""
        return replace(self, held=self.held - hold)

    def paying(self, cost: Money) -> Self:
        """With that much more spent."""
        return replace(self, spent=self.spent + cost)
