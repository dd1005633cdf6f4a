"""The receipts of a lab, kept for ever: each a document, and its verdicts by node beside it."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.rows import LedgerRows
from lamplighter.domain.checks.gpu_proof import together

ROWS = "verdicts"
_AFTER_ALL = "\U0010ffff"


class LedgerReceipts(LedgerRows):
    """The ledger's receipts. One of an earlier release has its verdicts inside."""

    def put_receipt(self, pool: str, closed: datetime, lease_id: str, receipt: Mapping[str, object]) -> None:
        """Keep a receipt for ever; writing it again is the same."""
        sort_key = _key(closed, lease_id)
        rows = receipt.get(ROWS)
        said: dict[str, items.Value] = {"document": json.dumps(receipt, sort_keys=True)}
        if isinstance(rows, list) and rows:
            self._keep_rows(pool, sort_key, rows)
            brief = {name: value for name, value in receipt.items() if name != ROWS}
            said = {"document": json.dumps(brief, sort_keys=True), "verdict": together(rows).value}
        self._table.put(items.item(items.pool_key(pool), sort_key, said))

    def receipts(self, pool: str, newest: int | None = None) -> list[dict[str, Any]]:
        """The contract's receipts: all, oldest first; or only the newest so many, newest first."""
        found = self._found(pool, newest)
        rows = self._rows_of(pool, [sort_key for sort_key, _, verdict in found if verdict is not None])
        return [
            receipt if verdict is None else _whole(receipt, rows.get(sort_key, []))
            for sort_key, receipt, verdict in found
        ]

    def receipts_in_brief(self, pool: str, newest: int | None = None) -> list[dict[str, Any]]:
        """The same, and instead of the verdicts of every node what they came to together, as `verdict`."""
        return [
            receipt if verdict is None else receipt | {"verdict": verdict}
            for _, receipt, verdict in self._found(pool, newest)
        ]

    def receipt(self, pool: str, lease_id: str, closed: datetime) -> dict[str, Any] | None:
        """One receipt, where it is known when its lease was closed; None where there is none."""
        found = self._table.get(items.pool_key(pool), _key(closed, lease_id))
        if found is None:
            return None
        sort_key, receipt, verdict = _read(found)
        return receipt if verdict is None else _whole(receipt, self._rows(pool, sort_key))

    def _found(self, pool: str, newest: int | None) -> list[tuple[str, dict[str, Any], str | None]]:
        found = self._table.query(items.pool_key(pool), items.RECEIPT, items.RECEIPT + _AFTER_ALL, newest)
        return [_read(item) for item in found]


def _key(closed: datetime, lease_id: str) -> str:
    return f"{items.RECEIPT}{items.sortable(closed)}#{lease_id}"


def _read(found: Mapping[str, Any]) -> tuple[str, dict[str, Any], str | None]:
    """Sort key, document, and what its verdicts came to where they stand beside it."""
    said = items.values(found)
    verdict = said.get("verdict")
    return str(said["sk"]), json.loads(str(said["document"])), None if verdict is None else str(verdict)


def _whole(receipt: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """With its verdicts where their name puts them, as the whole document would have come back."""
    whole = {**receipt, ROWS: rows}
    return {name: whole[name] for name in sorted(whole)}
