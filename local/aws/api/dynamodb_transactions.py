"""Fast transactions of DynamoDB: what is kept in case one is refused are the items that it names.

moto copies the whole table once for every item of a transaction.
"""

import copy
import threading
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import moto.dynamodb.models as moto_dynamodb
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

Document = Mapping[str, Any]
_plain = moto_dynamodb.DynamoDBBackend.transact_write_items
_transaction = threading.local()


def copy_named_items() -> None:
    """Replaces moto's copies in transactions; calling it again changes nothing."""
    moto_dynamodb.copy = SimpleNamespace(deepcopy=_copied)  # type: ignore[assignment,attr-defined]


def transact(backend: Any, transact_items: list[dict[str, Any]]) -> None:
    """moto's own transaction."""
    _transaction.operations = [operation for item in transact_items for operation in item.values()]
    try:
        _plain(backend, transact_items)
    finally:
        _transaction.operations = None


def _copied(value: Any) -> Any:
    operations = getattr(_transaction, "operations", None)
    if operations is None or not isinstance(value, Table):
        return copy.deepcopy(value)
    return _as_before(value, operations)


def _as_before(table: Table, operations: Iterable[Document]) -> Table:
    """The table as it stays if the transaction is refused. It shares the items that the transaction does not name."""
    before = copy.copy(table)
    before.items = copy.copy(table.items)
    for operation in operations:
        if operation.get("TableName") != table.name:
            continue
        attributes = operation.get("Key") or operation.get("Item") or {}
        if table.hash_key_attr not in attributes:
            continue
        partition = DynamoType(attributes[table.hash_key_attr])
        if partition in before.items:
            before.items[partition] = _items_as_before(table, before.items[partition], attributes)
    return before


def _items_as_before(table: Table, items: Any, attributes: Document) -> Any:
    if not table.range_key_attr:
        return copy.deepcopy(items)
    items = dict(items)
    if table.range_key_attr in attributes:
        key = DynamoType(attributes[table.range_key_attr])
        if key in items:
            items[key] = copy.deepcopy(items[key])
    return items
