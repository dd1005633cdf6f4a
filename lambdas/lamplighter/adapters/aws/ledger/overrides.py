"""What leases borrowed of the cluster's settings, and what must be put back: one item a loan.

Loans have a partition of their own, so that whoever borrows need not be able to write anything else. One that
was given back stays for a while: a change that was on its way then may land after it, and is found by it.
"""

from contextlib import suppress
from datetime import datetime

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.gpu.overrides import Loan

LOAN = "LOAN"
FIRST, LAST = "!", "\U0010ffff"


class LedgerLoans(LedgerReads):
    """The ledger's loans."""

    def loan(self, what: str) -> Loan | None:
        """The loan of that name, given back or not; None where there was none lately."""
        found = self._table.get(LOAN, what)
        return None if found is None else Loan.from_item(what, items.values(found))

    def loans(self) -> list[Loan]:
        """Every loan, those that were given back lately among them."""
        found = [items.values(each) for each in self._table.query(LOAN, FIRST, LAST)]
        return [Loan.from_item(str(each["sk"]), each) for each in found]

    def keep_loan(self, loan: Loan) -> Loan:
        """Write a loan down before anything is changed; the one that stands, where one is not given back."""
        with suppress(Conflict):
            self._table.put(
                items.item(LOAN, loan.what, dict(loan.to_item())),
                "attribute_not_exists(pk) OR attribute_exists(#ended)",
            )
            return loan
        return self.loan(loan.what) or loan

    def change_holders(self, before: Loan, after: Loan) -> None:
        """Other leases hold the loan now. Conflict where its holders are not as read, or it is given back."""
        self._table.update(
            LOAN,
            before.what,
            "SET #holders = :after",
            "#holders = :before AND attribute_not_exists(#ended)",
            after=after.to_item()["holders"],
            before=before.to_item()["holders"],
        )

    def end_loan(self, loan: Loan, now: datetime) -> None:
        """It is given back. Conflict where somebody joined it meanwhile."""
        self._table.update(
            LOAN,
            loan.what,
            "SET #ended = :now, #ttl = :ttl",
            "#holders = :holders AND #since = :since",
            now=items.milliseconds(now),
            ttl=int((now + items.KEEP_CLOSED).timestamp()),
            holders=loan.to_item()["holders"],
            since=loan.to_item()["since"],
        )
