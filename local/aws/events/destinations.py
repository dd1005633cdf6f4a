"""Where a failed Lambda event goes: its on-failure destination or dead-letter queue."""

import json

from local.aws.api.service_context import ServiceContext
from local.aws.iam import LAMBDA


class Destinations:
    """Delivers texts by ARN, over the endpoint like any client."""

    def __init__(self, around: ServiceContext) -> None:
        self._around = around

    def deliver(self, arn: str, text: str, attributes: dict[str, str], role: str = "") -> None:
        """Sends `text` to a queue, topic, function or event bus, in the name of the function's role if one is given.

        Raises ValueError for another type of ARN.
        """
        service, resource = arn.split(":")[2], arn.rsplit(":", maxsplit=1)[-1]
        values = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        match service:
            case "sqs":
                url = self._around.call("sqs", "get_queue_url", {"QueueName": resource})["QueueUrl"]
                message = {"QueueUrl": url, "MessageBody": text, "MessageAttributes": values}
                self._around.call("sqs", "send_message", message, role=role, by=LAMBDA)
            case "sns":
                message = {"TopicArn": arn, "Message": text, "MessageAttributes": values}
                self._around.call("sns", "publish", message, role=role, by=LAMBDA)
            case "lambda":
                event = {"FunctionName": arn, "InvocationType": "Event", "Payload": text.encode()}
                self._around.call("lambda", "invoke", event, role=role, by=LAMBDA)
            case "events":
                entry = {
                    "Source": "lambda",
                    "DetailType": "Lambda Function Invocation Result",
                    "Detail": json.dumps(json.loads(text)),
                    "EventBusName": resource.removeprefix("event-bus/"),
                }
                self._around.call("events", "put_events", {"Entries": [entry]}, role=role, by=LAMBDA)
            case _:
                raise ValueError(f"nothing can be delivered to {arn}")
