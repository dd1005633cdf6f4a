"""Refuses a new resource whose name is taken, for the types whose API would change the existing one or answer with it.

CloudFormation reads before it creates (HandlerErrorCode AlreadyExists). The APIs of the other types refuse themselves.
"""

from collections.abc import Callable, Mapping

from local.aws.cloudformation.kinds import Failed, Order, tolerant

#: The property with the name, and what reads the resource of that name; empty if there is none.
READS: Mapping[str, tuple[str, Callable[[Order, str], object]]] = {
    "AWS::CloudWatch::Alarm": (
        "AlarmName",
        lambda order, name: order.call("cloudwatch", "describe_alarms", AlarmNames=[name])["MetricAlarms"],
    ),
    "AWS::CloudWatch::Dashboard": (
        "DashboardName",
        lambda order, name: tolerant(order, "cloudwatch", "get_dashboard", DashboardName=name),
    ),
    "AWS::Events::Rule": (
        "Name",
        lambda order, name: tolerant(
            order, "events", "describe_rule", Name=name, EventBusName=order.get("EventBusName") or "default"
        ),
    ),
    "AWS::SNS::Topic": (
        "TopicName",
        lambda order, name: tolerant(
            order, "sns", "get_topic_attributes", TopicArn=order.around.arn("sns", name)
        ),
    ),
    "AWS::SQS::Queue": (
        "QueueName",
        lambda order, name: tolerant(order, "sqs", "get_queue_url", QueueName=name),
    ),
}


def refuse_taken(order: Order) -> None:
    """Raises Failed with CloudFormation's words if the resource exists."""
    key, read = READS.get(order.type, ("", None))
    name = order.get(key)
    if read and name and read(order, name):
        raise Failed(f"Resource of type '{order.type}' with identifier '{name}' already exists.")
