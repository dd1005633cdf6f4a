"""Fast reads of a DynamoDB table: a query reads only its own partition, and its items are written without a model.

moto sorts the whole table for each query, copies each item that it finds, measures it twice by making each value in it
anew, and looks up each attribute of each item in AWS's model before it writes it. moto still decides which items a
query returns.
"""

import base64
import copy
import json
import threading
from typing import Any

from moto.core.responses import ActionContext
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoResult

_plain_query = Table.query
_plain_result = DynamoResult.execute_result
_plain_copy = Item.__deepcopy__
_plain_size = DynamoType.size
_reading = threading.local()
#: Members of an answer that are items, or made of them: a name, a type and a value, in JSON as in AWS's model.
_ITEMS = frozenset({"Item", "Items", "LastEvaluatedKey"})


def read_partitions() -> None:
    """Replaces these parts of moto; calling it again changes nothing."""
    Table.query = _query  # type: ignore[method-assign,assignment]
    DynamoResult.execute_result = _result  # type: ignore[method-assign,assignment]
    Item.__deepcopy__ = _copied  # type: ignore[method-assign,assignment]
    DynamoType.size = _size  # type: ignore[method-assign,assignment]


def _copied(item: Item, memo: dict[int, Any]) -> Item:
    """The item itself for a query, which only writes it out."""
    return item if getattr(_reading, "query", False) else _plain_copy(item, memo)


def _size(value: DynamoType) -> int:
    """The bytes of a value, as moto counts them."""
    held = value.value
    if value.type == "S" and isinstance(held, str):
        return _bytes(held)
    if value.type == "M":
        return sum(
            _bytes(name) + (each if isinstance(each, DynamoType) else DynamoType(each)).size()
            for name, each in held.items()
        )
    return _plain_size(value)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


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
    _reading.query = True
    try:
        return _plain_query(
            table, hash_key, comparison, bounds, limit, after, forward, projection, index, *rest, **more
        )
    finally:
        _reading.query = False


def _between(partition: Any, bounds: list[Any]) -> Any:
    """The items of a partition whose sort key is a text within the bounds; moto handles other types."""
    if any(bound.type != "S" for bound in bounds):
        return partition
    first, last = (bound.value for bound in bounds)
    return {key: item for key, item in partition.items() if key.type != "S" or first <= key.value <= last}
