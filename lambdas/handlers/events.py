"""The events function: requests on the lab's bus.

Called with messages of a queue, to which a rule of the bus delivers events. It answers with the messages that failed;
SQS hands these out again (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html).
"""

from collections.abc import Mapping
from typing import Any

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.application import logs
from lamplighter.application.events.receiving import receive
from lamplighter.application.events.services import event_services
from lamplighter.errors import LamplighterError


def handler(event: Mapping[str, Any], context: object) -> dict[str, list[dict[str, str]]]:
    """Entry point of the event source mapping."""
    failed = []
    for record in event["Records"]:
        logs.begin({}, context)
        try:
            receive(record["body"], event_services())
        except LamplighterError as error:
            logs.logger().warning("the request comes again: %s", error)
            failed.append({"itemIdentifier": record["messageId"]})
        except Exception:  # noqa: BLE001 -- a fault of ours over one request is not the others' failure
            logs.logger().exception("the request comes again")
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
