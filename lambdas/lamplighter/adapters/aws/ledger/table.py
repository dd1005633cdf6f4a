"""The DynamoDB table under the ledger: single reads and writes, consistent, and transactions.

This file has the calls and their errors. A condition that does not hold raises Conflict: read the ledger again, and
decide again. ledger.py and changes.py decide what is written together.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.aws.ledger.items import Item, encoded, key
from lamplighter.adapters.border import border
from lamplighter.clock import sleep
from lamplighter.errors import TryLater
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import QueryInputTypeDef

_LOST = frozenset({"ConditionalCheckFailed", "TransactionConflict"})
_WHILE_ANOTHER_WRITES = (0.05, 0.1, 0.2)
"""Seconds before a single write is tried again. DynamoDB refuses it while a transaction writes the same item, and
botocore does not retry it (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html#API_UpdateItem_Errors)."""

_AT_ONCE = 25
"""Items of a BatchWriteItem (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html)."""
_WHILE_THROTTLED = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds before the items that BatchWriteItem did not write are sent again."""

LEASES_AT_ONCE = 90
"""Leases that one transaction changes. It takes 100 actions, and some are of the pool, the budget and the audit trail
(https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html)."""


class Conflict(TryLater):
    """Another writer was faster: read again, decide again."""


@border
class LedgerTable:
    """The table, by name. `names` in conditions and updates are written #name, values :name."""

    def __init__(self, table: str, dynamodb: "DynamoDBClient | None" = None) -> None:
        self.name = table
        self._dynamodb: DynamoDBClient = dynamodb or client("dynamodb")

    @property
    def connection(self) -> object:
        """The DynamoDB client of the worker. It lives longer than a ledger object."""
        return self._dynamodb

    def get(self, pk: str, sk: str) -> Mapping[str, Any] | None:
        """One item, read consistently, or None."""
        with outside("dynamodb:GetItem", f"{self.name}, {pk}/{sk}"):
            reply = self._dynamodb.get_item(TableName=self.name, Key=key(pk, sk), ConsistentRead=True)
        return reply.get("Item")

    def query(self, pk: str, first: str, last: str, newest: int | None = None) -> Iterator[Mapping[str, Any]]:
        """The items of a partition whose sort keys lie in [first, last], read consistently.

        With `newest`, only that many, from the last one back.
        """
        query: QueryInputTypeDef = {
            "TableName": self.name,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ExpressionAttributeValues": {":pk": {"S": pk}, ":first": {"S": first}, ":last": {"S": last}},
            "ConsistentRead": True,
            "ScanIndexForward": newest is None,
        }
        if newest is not None:
            query["Limit"] = newest
        while True:
            with outside("dynamodb:Query", f"{self.name}, {pk}/{first}"):
                reply = self._dynamodb.query(**query)
            yield from reply["Items"]
            if newest is not None or not reply.get("LastEvaluatedKey"):
                return
            query["ExclusiveStartKey"] = reply["LastEvaluatedKey"]

    def put(self, item: Item, condition: str | None = None, **given: Any) -> None:  # noqa: ANN401
        """Write one whole item; Conflict when the condition does not hold."""
        request = self.put_in_transaction(item, condition, **given)["Put"]
        with outside("dynamodb:PutItem", self._called(item)):
            self._alone(lambda: self._dynamodb.put_item(**request))

    def put_all(self, written: Sequence[Item]) -> None:
        """Writes whole items without conditions, in as few calls as DynamoDB allows. It is not a transaction."""
        for first in range(0, len(written), _AT_ONCE):
            left: Any = {
                self.name: [{"PutRequest": {"Item": item}} for item in written[first : first + _AT_ONCE]]
            }
            for seconds in (*_WHILE_THROTTLED, None):
                with outside("dynamodb:BatchWriteItem", self.name):
                    left = self._dynamodb.batch_write_item(RequestItems=left).get("UnprocessedItems")
                if not left:
                    break
                if seconds is None:
                    raise TryLater(reason("aws.ledger.throttled", table=self.name))
                sleep(seconds)

    def update(
        self,
        pk: str,
        sk: str,
        change: str,
        condition: str | None = None,
        **given: Any,  # noqa: ANN401
    ) -> Mapping[str, Any]:
        """Changes one item and returns all its attributes; Conflict when the condition does not hold."""
        request = self.update_in_transaction(pk, sk, change, condition, **given)["Update"]
        with outside("dynamodb:UpdateItem", f"{self.name}, {pk}/{sk}"):
            attributes: Mapping[str, Any] = self._alone(
                lambda: self._dynamodb.update_item(**request, ReturnValues="ALL_NEW")
            )["Attributes"]
        return attributes

    def delete(self, pk: str, sk: str, condition: str | None = None, **given: Any) -> None:  # noqa: ANN401
        """Remove one item; Conflict when the condition does not hold."""
        with outside("dynamodb:DeleteItem", f"{self.name}, {pk}/{sk}"):
            where: Any = {"TableName": self.name, "Key": key(pk, sk)}
            self._alone(lambda: self._dynamodb.delete_item(**where, **_expressions(condition, None, given)))

    def transact(self, writes: Sequence[Any]) -> None:
        """Write all or nothing; Conflict when any condition does not hold."""
        with outside("dynamodb:TransactWriteItems", self.name):
            try:
                self._dynamodb.transact_write_items(TransactItems=list(writes))
            except self._dynamodb.exceptions.ClientError as error:
                self._lost(error)

    def put_in_transaction(self, item: Item, condition: str | None = None, **given: Any) -> Any:  # noqa: ANN401
        """The Put part of a transaction."""
        return {"Put": {"TableName": self.name, "Item": item, **_expressions(condition, None, given)}}

    def delete_in_transaction(self, pk: str, sk: str, condition: str, **given: Any) -> Any:  # noqa: ANN401
        """The Delete part of a transaction."""
        where = {"TableName": self.name, "Key": key(pk, sk)}
        return {"Delete": {**where, **_expressions(condition, None, given)}}

    def check_in_transaction(self, pk: str, sk: str, condition: str, **given: Any) -> Any:  # noqa: ANN401
        """The ConditionCheck part of a transaction: if the condition does not hold, nothing is written."""
        where = {"TableName": self.name, "Key": key(pk, sk)}
        return {"ConditionCheck": {**where, **_expressions(condition, None, given)}}

    def update_in_transaction(
        self,
        pk: str,
        sk: str,
        change: str,
        condition: str | None = None,
        **given: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """The Update part of a transaction."""
        return {
            "Update": {
                "TableName": self.name,
                "Key": key(pk, sk),
                **_expressions(condition, change, given),
            }
        }

    def _called(self, item: Item) -> str:
        return f"{self.name}, {item['pk']['S']}/{item['sk']['S']}"

    def _alone(self, write: Callable[[], Any]) -> Any:  # noqa: ANN401 -- DynamoDB's answer
        """Runs a write outside a transaction. While a transaction writes the same item, it waits and tries again."""
        for seconds in _WHILE_ANOTHER_WRITES:
            try:
                return write()
            except self._dynamodb.exceptions.ClientError as error:
                if error_code(error) != "TransactionConflictException":
                    self._lost(error)
            sleep(seconds)
        try:
            return write()
        except self._dynamodb.exceptions.ClientError as error:
            self._lost(error)

    def _lost(self, error: Exception) -> NoReturn:
        """Raises Conflict if a condition failed or another transaction was faster, otherwise the error itself."""
        code = error_code(error)
        reasons: list[dict[str, str]] = getattr(error, "response", {}).get("CancellationReasons", [])
        lost = {reason.get("Code") for reason in reasons} & _LOST
        if code == "ConditionalCheckFailedException" or (code == "TransactionCanceledException" and lost):
            raise Conflict(reason("aws.ledger.conflict")) from error
        raise error


def _expressions(condition: str | None, change: str | None, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Condition and update with every #name resolved and every given value encoded."""
    expressions: dict[str, Any] = {}
    texts = [text for text in (condition, change) if text]
    if condition:
        expressions["ConditionExpression"] = condition
    if change:
        expressions["UpdateExpression"] = change
    names = {name: name[1:] for text in texts for name in re.findall(r"#\w+", text)}
    if names:
        expressions["ExpressionAttributeNames"] = names
    if given:
        expressions["ExpressionAttributeValues"] = {f":{name}": encoded(v) for name, v in given.items()}
    return expressions
