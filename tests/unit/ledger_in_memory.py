"""The ledger of a lab on moto: the histories' table in memory, cheaper than moto's.

The tests of the ledger itself are on moto, and tests/properties/laws/test_world_conformance.py compares the two tables.
"""

from collections.abc import Callable
from typing import Any

from tests.unit import aws_calls
from tests.world.aws.dynamodb import DynamoDB
from tests.world.outside import Client, refused


class LedgerInMemory(Client):
    """boto3's client of the table. Each call is heard as one of botocore's is."""

    def __init__(self) -> None:
        self._table = DynamoDB()
        self._exists = True
        super().__init__("dynamodb", self._table, lambda _service, _operation, act, _given=str: act())

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        call = super().__getattr__(operation)
        name = operation.title().replace("_", "")

        def told(**given: Any) -> Any:
            aws_calls.tell("DynamoDB", name, given)
            if not self._exists:
                raise refused("ResourceNotFoundException", "Requested resource not found", name)
            return call(**given)

        self.__dict__[operation] = told
        return told

    def delete_table(self, **_given: str) -> None:
        self._exists = False

    def scan(self, **_given: str) -> dict[str, Any]:
        return {"Items": list(self._table.items.values())}
