"""Topics and queues, with their policies and subscriptions."""

import json
from typing import Any

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Kind, Order, Physical, removed, tolerant


def _attributes(order: Order, *leave: str) -> dict[str, str]:
    """SNS and SQS take most properties as attributes, which are texts."""
    return {
        name: json.dumps(value) if isinstance(value, dict | list) else _text(value)
        for name, value in order.properties.items()
        if name not in leave
    }


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _topic(order: Order) -> Physical:
    fifo = str(order.get("FifoTopic", "")).lower() == "true"
    name = order.name("TopicName", 250) + (".fifo" if fifo and not order.get("TopicName") else "")
    attributes = _attributes(order, "TopicName", "Tags", "Subscription", "DataProtectionPolicy")
    reply = order.call("sns", "create_topic", Name=name, Attributes=attributes, Tags=order.get("Tags", []))
    arn = reply["TopicArn"]
    for subscription in order.get("Subscription", []):
        request = {"Protocol": subscription["Protocol"], "Endpoint": subscription["Endpoint"]}
        order.call("sns", "subscribe", TopicArn=arn, **request)
    return Physical(arn, {"TopicArn": arn, "TopicName": name})


def _topic_changed(order: Order, physical: Physical) -> Physical:
    for name, value in _attributes(order, "TopicName", "Tags", "Subscription").items():
        if name in order.changed():
            order.call(
                "sns", "set_topic_attributes", TopicArn=physical.id, AttributeName=name, AttributeValue=value
            )
    if "Tags" in order.changed():
        order.call("sns", "tag_resource", ResourceArn=physical.id, Tags=order.get("Tags", []))
    return physical


def _topic_policy(order: Order) -> Physical:
    _put_topic_policy(order)
    return Physical(order.name("Id"), {"Id": order.name("Id")})


def _put_topic_policy(order: Order) -> None:
    value = json.dumps(order.get("PolicyDocument"))
    for topic in order.get("Topics"):
        request = {"AttributeName": "Policy", "AttributeValue": value}
        order.call("sns", "set_topic_attributes", TopicArn=topic, **request)


def _topic_policy_changed(order: Order, physical: Physical) -> Physical:
    _put_topic_policy(order)
    return physical


def _subscription(order: Order) -> Physical:
    attributes = _attributes(order, "TopicArn", "Protocol", "Endpoint", "Region", "SubscriptionRoleArn")
    reply = order.call(
        "sns",
        "subscribe",
        TopicArn=order.get("TopicArn"),
        Protocol=order.get("Protocol"),
        Endpoint=order.get("Endpoint"),
        Attributes=attributes,
        ReturnSubscriptionArn=True,
    )
    return Physical(reply["SubscriptionArn"], {"Arn": reply["SubscriptionArn"]})


def _queue(order: Order) -> Physical:
    name = order.name("QueueName", 80)
    attributes = _attributes(order, "QueueName", "Tags")
    tags = fitted("sqs", "create_queue", "tags", order.get("Tags", {}))
    url = order.call("sqs", "create_queue", QueueName=name, Attributes=attributes, tags=tags)["QueueUrl"]
    return Physical(url, {"Arn": order.around.arn("sqs", name), "QueueName": name, "QueueUrl": url})


def _queue_changed(order: Order, physical: Physical) -> Physical:
    attributes = _attributes(order, "QueueName", "Tags", "FifoQueue")
    order.call("sqs", "set_queue_attributes", QueueUrl=physical.id, Attributes=attributes)
    return physical


def _queue_policy(order: Order) -> Physical:
    _put_queue_policy(order)
    return Physical(order.name("Id"), {"Id": order.name("Id")})


def _put_queue_policy(order: Order) -> None:
    policy = json.dumps(order.get("PolicyDocument"))
    for queue in order.get("Queues"):
        order.call("sqs", "set_queue_attributes", QueueUrl=queue, Attributes={"Policy": policy})


def _queue_policy_changed(order: Order, physical: Physical) -> Physical:
    _put_queue_policy(order)
    return physical


def _queue_policy_deleted(order: Order, _: Physical) -> None:
    for queue in order.get("Queues"):
        tolerant(order, "sqs", "set_queue_attributes", QueueUrl=queue, Attributes={"Policy": ""})


KINDS = {
    "AWS::SNS::Topic": Kind(
        _topic,
        _topic_changed,
        removed("sns", "delete_topic", "TopicArn"),
        frozenset({"TopicName", "FifoTopic", "Subscription"}),
        "list",
    ),
    "AWS::SNS::TopicPolicy": Kind(_topic_policy, _topic_policy_changed),
    "AWS::SNS::Subscription": Kind(_subscription, None, removed("sns", "unsubscribe", "SubscriptionArn")),
    "AWS::SQS::Queue": Kind(
        _queue,
        _queue_changed,
        removed("sqs", "delete_queue", "QueueUrl"),
        frozenset({"QueueName", "FifoQueue"}),
        "map",
    ),
    "AWS::SQS::QueuePolicy": Kind(_queue_policy, _queue_policy_changed, _queue_policy_deleted),
}
