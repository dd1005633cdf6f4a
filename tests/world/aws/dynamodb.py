"""DynamoDB in memory: one table of items by partition and sort key, conditions, updates and transactions.

Nobody can change an item: a write puts another one in its place. So every read returns the item itself, without a copy.
Listeners are called at each write, with the item before and after it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tests.world.aws.expressions import Item, change, condition
from tests.world.outside import NotInTheWorld, refused

Key = tuple[str, str]
Stored = Mapping[str, Any]
Listener = Callable[[Stored | None, Stored | None], None]
MOST_ACTIONS = 100
"""https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html"""


class DynamoDB:
    """A table exists from its first use. The ledger is the only one."""

    def __init__(self) -> None:
        self.items: dict[Key, Stored] = {}
        self._sorted: dict[str, list[str]] = {}
        self.listeners: list[Listener] = []
        self.version = 0

    def get_item(self, *, TableName: str, Key: Item, ConsistentRead: bool = False) -> Item:
        found = self.items.get(_key(Key))
        return {"Item": found} if found is not None else {}

    def query(
        self,
        *,
        TableName: str,
        KeyConditionExpression: str,
        ExpressionAttributeValues: Mapping[str, Any],
        ConsistentRead: bool = False,
        ScanIndexForward: bool = True,
        Limit: int | None = None,
    ) -> Item:
        if KeyConditionExpression != "pk = :pk AND sk BETWEEN :first AND :last":
            raise NotInTheWorld(f"the world does not know the query {KeyConditionExpression!r}")
        pk, first, last = (ExpressionAttributeValues[name]["S"] for name in (":pk", ":first", ":last"))
        keys = self._sorted.get(pk, [])
        found = keys[bisect_left(keys, first) : bisect_right(keys, last)]
        if not ScanIndexForward:
            found.reverse()
        return {"Items": [self.items[pk, sk] for sk in found[:Limit]]}

    def put_item(self, *, TableName: str, Item: Item, **expressions: Any) -> Item:
        self._checked(_key(Item), expressions, "PutItem")
        self._write(_key(Item), dict(Item))
        return {}

    def batch_write_item(self, *, RequestItems: Mapping[str, list[Item]]) -> Item:
        """Writes whole items without conditions, at most 25 of them and none twice."""
        for requests in RequestItems.values():
            written = [request["PutRequest"]["Item"] for request in requests]
            if not 1 <= len({_key(item) for item in written}) == len(written) <= 25:
                raise refused("ValidationException", "Provided list of item keys contains duplicates", "")
            for item in written:
                self._write(_key(item), dict(item))
        return {"UnprocessedItems": {}}

    def update_item(
        self, *, TableName: str, Key: Item, ReturnValues: str = "NONE", **expressions: Any
    ) -> Item:
        self._checked(_key(Key), expressions, "UpdateItem")
        item = self._updated(Key, expressions)
        self._write(_key(Key), item)
        return {"Attributes": self.items[_key(Key)]} if ReturnValues == "ALL_NEW" else {}

    def delete_item(self, *, TableName: str, Key: Item, **expressions: Any) -> Item:
        self._checked(_key(Key), expressions, "DeleteItem")
        self._write(_key(Key), None)
        return {}

    def transact_write_items(self, *, TransactItems: list[Item], ClientRequestToken: str = "") -> Item:
        """Writes all or nothing, each item at most once and at most 100, as DynamoDB requires."""
        if len(TransactItems) > MOST_ACTIONS:
            message = f"Member must have length less than or equal to {MOST_ACTIONS}"
            raise refused("ValidationException", message, "TransactWriteItems")
        parts = [next(iter(part.items())) for part in TransactItems]
        keys = [_key(part.get("Key") or part["Item"]) for _, part in parts]
        if len(set(keys)) != len(keys):
            raise refused(
                "ValidationException",
                "Transaction request cannot include multiple operations on one item",
                "",
            )
        reasons = [
            {"Code": "None" if self._holds(key, part) else "ConditionalCheckFailed"}
            for key, (_, part) in zip(keys, parts, strict=True)
        ]
        if any(reason["Code"] != "None" for reason in reasons):
            raise refused(
                "TransactionCanceledException",
                "Transaction cancelled",
                "TransactWriteItems",
                CancellationReasons=reasons,
            )
        made: list[tuple[Key, Item | None]] = []
        for key, (kind, part) in zip(keys, parts, strict=True):
            match kind:
                case "Put":
                    made.append((key, dict(part["Item"])))
                case "Update":
                    made.append((key, self._updated(part["Key"], part)))
                case "Delete":
                    made.append((key, None))
                case "ConditionCheck":
                    pass
                case _:
                    raise NotInTheWorld(f"the world knows no {kind} in a transaction")
        for key, item in made:
            self._write(key, item)
        return {}

    def _holds(self, key: Key, given: Mapping[str, Any]) -> bool:
        text = given.get("ConditionExpression")
        if not text:
            return True
        names = given.get("ExpressionAttributeNames", {})
        values = given.get("ExpressionAttributeValues", {})
        return condition(text)(self.items.get(key, {}), names, values)

    def _checked(self, key: Key, given: Mapping[str, Any], operation: str) -> None:
        if not self._holds(key, given):
            raise refused("ConditionalCheckFailedException", "The conditional request failed", operation)

    def _updated(self, key: Item, given: Mapping[str, Any]) -> Item:
        before = self.items.get(_key(key), dict(key))
        item = dict(before)
        names = given.get("ExpressionAttributeNames", {})
        values = given.get("ExpressionAttributeValues", {})
        change(given["UpdateExpression"])(before, item, names, values)
        return item

    def _write(self, key: Key, written: Item | None) -> None:
        before = self.items.get(key)
        item = None if written is None else MappingProxyType(written)
        if item is None:
            if before is None:
                return
            del self.items[key]
            self._sorted[key[0]].remove(key[1])
        else:
            self.items[key] = item
            if before is None:
                keys = self._sorted.setdefault(key[0], [])
                keys.insert(bisect_left(keys, key[1]), key[1])
        self.version += 1
        for listener in self.listeners:
            listener(before, item)


def _key(key: Mapping[str, Any]) -> Key:
    return key["pk"]["S"], key["sk"]["S"]
