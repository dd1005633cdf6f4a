"""Finds one receipt among all that the ledger keeps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.values import instant

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


def receipts_of(lab: "Lab", ledger: Ledger) -> list[dict[str, Any]]:
    """Every receipt in brief, oldest first."""
    receipts = [receipt for pool in lab.pools for receipt in ledger.receipts_in_brief(pool)]
    return sorted(receipts, key=lambda receipt: str(receipt["closed"]))


def receipt_of_lease(receipts: Sequence[dict[str, Any]], lease: str | None) -> dict[str, Any] | None:
    """The lease's last receipt; without a lease, the newest receipt of any lease, or else the newest of all."""
    newest_first = list(reversed(receipts))
    if lease is not None:
        return next((receipt for receipt in newest_first if receipt.get("lease") == lease), None)
    of_leases = (receipt for receipt in newest_first if receipt.get("lease"))
    return next(of_leases, newest_first[0] if newest_first else None)


def with_verdicts(brief: dict[str, Any], ledger: Ledger) -> dict[str, Any]:
    """The receipt with the verdict of each node. Nodes that ran without a lease were not checked."""
    if not brief.get("lease"):
        return brief
    closed = instant.read(str(brief["closed"]))
    return ledger.receipt(str(brief["pool"]), str(brief["lease"]), closed) or brief
