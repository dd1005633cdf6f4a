"""Runs another Lambda function of the lab, with or without waiting for it."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

LONGEST_RUN_SECONDS = 125


@border
class Functions:
    """The functions of the account and region."""

    def __init__(
        self, lambda_: "LambdaClient | None" = None, *, patience_seconds: int = LONGEST_RUN_SECONDS
    ) -> None:
        self._lambda: LambdaClient = lambda_ or client("lambda", read_seconds=patience_seconds, attempts=1)

    def start(self, name: str, event: object) -> None:
        """Starts the function without waiting; an event that it fails on goes to its dead-letter queue."""
        with outside("lambda:Invoke", name):
            self._lambda.invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps(event).encode())

    def run(self, name: str, event: object) -> Mapping[str, object]:
        """Runs the function to its end and returns its result. Raises OutsideFailed with its error if it fails."""
        with outside("lambda:Invoke", name):
            reply = self._lambda.invoke(FunctionName=name, Payload=json.dumps(event).encode())
            said = reply["Payload"].read().decode("utf-8", "replace")
        if reply.get("FunctionError"):
            raise OutsideFailed(
                reason("aws.function-failed", function=name, answer=said[:500]), "lambda:Invoke", name
            )
        returned = json.loads(said or "null")
        return returned if isinstance(returned, Mapping) else {}
