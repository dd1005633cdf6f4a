"""Queries of a table look at their own partition, as DynamoDB's do: moto sorts the whole table for each.

So what a lab has done does not make every later read slower. What a query means stays moto's.
"""

import copy
from typing import Any

from moto.dynamodb.models.table import Table

_plain_query = Table.query


def read_partitions() -> None:
    """Take moto's seam; idempotent."""
    Table.query = _query  # type: ignore[method-assign,assignment]


def _query(  # noqa: PLR0917 (moto's signature)
    table: Any,
    hash_key: Any,
    comparison: str | None,
    bounds: list[Any],
    limit: int,
    after: Any,
    forward: bool,
    projection: Any,
    index: str | None = None,
    *rest: Any,
    **more: Any,
) -> Any:
    if index is None and hash_key in table.items and table.range_key_attr:
        found = table.items[hash_key]
        table = copy.copy(table)
        table.items = {hash_key: _between(found, bounds) if comparison == "BETWEEN" else found}
    return _plain_query(
        table, hash_key, comparison, bounds, limit, after, forward, projection, index, *rest, **more
    )


def _between(partition: Any, bounds: list[Any]) -> Any:
    """The items of a partition whose sort key is a text within the bounds; other kinds are left to moto."""
    if any(bound.type != "S" for bound in bounds):
        return partition
    first, last = (bound.value for bound in bounds)
    return {key: item for key, item in partition.items() if key.type != "S" or first <= key.value <= last}
