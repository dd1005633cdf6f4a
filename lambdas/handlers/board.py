"""The board function: whatever moves in the ledger, Slack shows it.

Called with batches of the ledger's stream. It answers with the records that failed, and Lambda sends the batch again
from the first of them on. The answer is written here in Lambda's documented form: Powertools' batch processor handles
one record after the other, and here many records are one item to show.
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

from collections.abc import Mapping

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.application import logs
from lamplighter.application.board.services import board
from lamplighter.application.board.show import show


def handler(event: Mapping[str, object], context: object) -> dict[str, list[dict[str, str]]]:
    """Entry point of the event source mapping."""
    logs.begin(event, context)
    failed = dict.fromkeys(failure.record for failure in show(event, board()))
    return {"batchItemFailures": [{"itemIdentifier": record} for record in failed]}
