"""Verdicts by node: a document of many nodes stands in the ledger without them, and each node's in an item beside it.

An item of DynamoDB holds 400 KB, and a state of a workflow 256 KiB; a hundred nodes of eight GPUs say more.
Which document has rows, and for how long they are kept, is proofs.py's and receipts.py's.
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
    """The rows of the ledger of one lab, by the sort key of the document that they belong to."""

    def __init__(self, table: str, dynamodb: "DynamoDBClient | None" = None) -> None:
        self._table = LedgerTable(table, dynamodb)

    def _keep_rows(
        self, pool: str, document: str, rows: Iterable[Row], until: datetime | None = None
    ) -> None:
        """Keep rows, each in its node's item; they are written before the document that shows them."""
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
        """The rows of one document, in the order in which they were given; empty where it has none."""
        return self._rows_of(pool, [document]).get(document, [])

    def _rows_of(self, pool: str, documents: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """The rows of documents whose sort keys lie together, by sort key: one read for all of them."""
        if not documents:
            return {}
        first, last = f"{min(documents)}#", f"{max(documents)}#{_AFTER_ALL}"
        numbered: dict[str, Numbered] = {}
        for found in self._table.query(ROWS + pool, first, last):
            said = items.values(found)
            document, _, _ = str(said["sk"]).rpartition("#")
            numbered.setdefault(document, []).extend(json.loads(str(said["rows"])))
        return {
            document: [row for _, row in sorted(rows, key=lambda each: each[0])]
            for document, rows in numbered.items()
        }
