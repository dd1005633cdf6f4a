"""Fast reads of a DynamoDB table: a query reads only its own partition, and its items are written without a model.

moto sorts the whole table for each query, and looks up each attribute of each item in AWS's model before it writes it.
moto still decides which items a query returns.
"""

import base64
import copy
import json
from typing import Any

from moto.core.responses import ActionContext
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoResult

_plain_query = Table.query
_plain_result = DynamoResult.execute_result
#: Members of an answer that are items, or made of them: a name, a type and a value, in JSON as in AWS's model.
_ITEMS = frozenset({"Item", "Items", "LastEvaluatedKey"})


def read_partitions() -> None:
    """Replaces these parts of moto; calling it again changes nothing."""
    Table.query = _query  # type: ignore[method-assign,assignment]
    DynamoResult.execute_result = _result  # type: ignore[method-assign,assignment]


def _result(result: DynamoResult, context: ActionContext) -> Any:
    """The answer as moto writes it, with the items added afterwards."""
    answer = result.result
    if not isinstance(answer, dict) or not _ITEMS & set(answer):
        return _plain_result(result, context)
    items = {name: value for name, value in answer.items() if name in _ITEMS and value is not None}
    rest = DynamoResult({name: value for name, value in answer.items() if name not in _ITEMS})
    status, headers, body = _plain_result(rest, context)
    return status, headers, json.dumps({**json.loads(body), **items}, default=_binary)


def _binary(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"an item holds a {type(value).__name__}")
    return base64.b64encode(value).decode()


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
    """The items of a partition whose sort key is a text within the bounds; moto handles other types."""
    if any(bound.type != "S" for bound in bounds):
        return partition
    first, last = (bound.value for bound in bounds)
    return {key: item for key, item in partition.items() if key.type != "S" or first <= key.value <= last}
