"""The receipts of a lab, kept for ever. Each is a document; its verdicts by node are in items beside it."""

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
    """The ledger's receipts. A receipt of an earlier release contains its verdicts."""

    def put_receipt(self, pool: str, closed: datetime, lease_id: str, receipt: Mapping[str, object]) -> None:
        """Keeps a receipt for ever. Writing it again changes nothing."""
        sort_key = _key(closed, lease_id)
        rows = receipt.get(ROWS)
        attributes: dict[str, items.Value] = {"document": json.dumps(receipt, sort_keys=True)}
        if isinstance(rows, list) and rows:
            self._keep_rows(pool, sort_key, rows)
            brief = {name: value for name, value in receipt.items() if name != ROWS}
            attributes = {"document": json.dumps(brief, sort_keys=True), "verdict": together(rows).value}
        self._table.put(items.item(items.pool_key(pool), sort_key, attributes))

    def receipts(self, pool: str, newest: int | None = None) -> list[dict[str, Any]]:
        """All receipts as the contract has them, oldest first; or only the `newest` ones, newest first."""
        stored = self._stored(pool, newest)
        rows = self._rows_of(pool, [sort_key for sort_key, _, verdict in stored if verdict is not None])
        return [
            receipt if verdict is None else _whole(receipt, rows.get(sort_key, []))
            for sort_key, receipt, verdict in stored
        ]

    def receipts_in_brief(self, pool: str, newest: int | None = None) -> list[dict[str, Any]]:
        """The same, with one `verdict` for all nodes together instead of the verdicts of each node."""
        return [
            receipt if verdict is None else receipt | {"verdict": verdict}
            for _, receipt, verdict in self._stored(pool, newest)
        ]

    def receipt(self, pool: str, lease_id: str, closed: datetime) -> dict[str, Any] | None:
        """The receipt of a lease that was closed at this instant, or None."""
        item = self._table.get(items.pool_key(pool), _key(closed, lease_id))
        if item is None:
            return None
        sort_key, receipt, verdict = _read(item)
        return receipt if verdict is None else _whole(receipt, self._rows(pool, sort_key))

    def _stored(self, pool: str, newest: int | None) -> list[tuple[str, dict[str, Any], str | None]]:
        stored = self._table.query(items.pool_key(pool), items.RECEIPT, items.RECEIPT + _AFTER_ALL, newest)
        return [_read(item) for item in stored]


def _key(closed: datetime, lease_id: str) -> str:
    return f"{items.RECEIPT}{items.sortable(closed)}#{lease_id}"


def _read(item: Mapping[str, Any]) -> tuple[str, dict[str, Any], str | None]:
    """The sort key, the document, and the common verdict if the rows are in items beside it."""
    attributes = items.values(item)
    verdict = attributes.get("verdict")
    return (
        str(attributes["sk"]),
        json.loads(str(attributes["document"])),
        None if verdict is None else str(verdict),
    )


def _whole(receipt: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The receipt with its verdicts, the names in order, as if the document had been kept whole."""
    whole = {**receipt, ROWS: rows}
    return {name: whole[name] for name in sorted(whole)}
