"""Verdicts by node: the ledger keeps a document without them, and the verdicts of each node in an item beside it.

An item of DynamoDB holds 400 KB and a state of a workflow 256 KiB. The verdicts of a hundred nodes with eight GPUs are
larger. proofs.py and receipts.py decide which document has rows, and how long they are kept.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.table import LedgerTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROWS = "ROWS#"
_AFTER_ALL = "\U0010ffff"
Row: TypeAlias = Mapping[str, object]
Numbered: TypeAlias = list[tuple[int, dict[str, Any]]]


class LedgerRows:
    """The rows of one lab's ledger, by the sort key of their document."""

    def __init__(self, table: str, dynamodb: "DynamoDBClient | None" = None) -> None:
        self._table = LedgerTable(table, dynamodb)

    def _keep_rows(
        self, pool: str, document: str, rows: Iterable[Row], until: datetime | None = None
    ) -> None:
        """Keeps rows, one item for each node. Call it before you write the document that shows them."""
        by_node: dict[str, list[tuple[int, Row]]] = {}
        for number, row in enumerate(rows):
            by_node.setdefault(str(row.get("node") or ""), []).append((number, row))
        self._table.put_all(
            [
                items.item(
                    ROWS + pool,
                    f"{document}#{node}",
                    {"rows": json.dumps(numbered, sort_keys=True)},
                    until=until,
                )
                for node, numbered in by_node.items()
            ]
        )

    def _rows(self, pool: str, document: str) -> list[dict[str, Any]]:
        """The rows of one document, in the order in which they were kept; empty if it has none."""
        return self._rows_of(pool, [document]).get(document, [])

    def _rows_of(self, pool: str, documents: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """By sort key, the rows of documents whose sort keys are close together. One read gets all of them."""
        if not documents:
            return {}
        first, last = f"{min(documents)}#", f"{max(documents)}#{_AFTER_ALL}"
        numbered: dict[str, Numbered] = {}
        for item in self._table.query(ROWS + pool, first, last):
            attributes = items.values(item)
            document, _, _ = str(attributes["sk"]).rpartition("#")
            numbered.setdefault(document, []).extend(json.loads(str(attributes["rows"])))
        return {
            document: [row for _, row in sorted(rows, key=lambda numbered_row: numbered_row[0])]
            for document, rows in numbered.items()
        }
