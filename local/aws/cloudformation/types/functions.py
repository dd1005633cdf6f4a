"""Lambda resources: functions, layers, permissions, versions, asynchronous invocation."""

import io
import zipfile
from typing import Any

from botocore.exceptions import ClientError

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, removed, tolerant
from local.aws.iam import LAMBDA, role_may

#: Properties whose change has no effect here, and others that have calls of their own.
LEFT_OUT = (
    "FunctionName",
    "Code",
    "LoggingConfig",
    "ReservedConcurrentExecutions",
    "RuntimeManagementConfig",
)
#: The properties of a mapping that event_sources.py uses.
MAPPING = frozenset(
    {
        "BatchSize",
        "DestinationConfig",
        "Enabled",
        "EventSourceArn",
        "FilterCriteria",
        "FunctionName",
        "FunctionResponseTypes",
        "MaximumBatchingWindowInSeconds",
        "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts",
        "ScalingConfig",
        "StartingPosition",
        "Tags",
    }
)


def _code(order: Order) -> dict[str, Any]:
    code = dict(order.get("Code"))
    text = code.pop("ZipFile", None)
    if text is None:
        return code
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("index.py" if "python" in order.get("Runtime", "") else "index.js", text)
    return {"ZipFile": archive.getvalue()}


def _function(order: Order) -> Physical:
    name = order.name("FunctionName")
    leave = [key for key in LEFT_OUT if key != "LoggingConfig"]
    reply = order.shaped("lambda", "create_function", *leave, FunctionName=name, Code=_code(order))
    made = Physical(name, {"Arn": reply["FunctionArn"]})
    try:
        _reserve(order, name)
    except ClientError as error:
        raise Failed(str(error), made) from error
    return made


def _reserve(order: Order, name: str) -> None:
    key = "ReservedConcurrentExecutions"
    if key in order.properties:
        order.call("lambda", "put_function_concurrency", **{"FunctionName": name, key: int(order.get(key))})
    elif key in order.changed():
        order.call("lambda", "delete_function_concurrency", FunctionName=name)


def _function_changed(order: Order, physical: Physical) -> Physical:
    changed = order.changed()
    if "Code" in changed:
        order.call("lambda", "update_function_code", FunctionName=physical.id, **_code(order))
    if changed - {"Code", "Tags", *LEFT_OUT}:
        leave = (*LEFT_OUT, "Tags", "Architectures", "PackageType")
        order.shaped("lambda", "update_function_configuration", *leave, FunctionName=physical.id)
    if "ReservedConcurrentExecutions" in changed:
        _reserve(order, physical.id)
    if "Tags" in changed:
        tags = fitted("lambda", "tag_resource", "Tags", order.get("Tags"))
        order.call("lambda", "tag_resource", Resource=physical.attribute("Arn"), Tags=tags)
    return physical


def _layer(order: Order) -> Physical:
    name = order.name("LayerName")
    reply = order.shaped("lambda", "publish_layer_version", "LayerName", LayerName=name)
    arn = reply["LayerVersionArn"]
    return Physical(arn, {"LayerVersionArn": arn})


def _layer_deleted(order: Order, physical: Physical) -> None:
    layer, _, version = physical.id.rpartition(":")
    tolerant(order, "lambda", "delete_layer_version", LayerName=layer, VersionNumber=int(version))


def _permission(order: Order) -> Physical:
    statement = order.name("StatementId", 100)
    order.shaped("lambda", "add_permission", StatementId=statement)
    return Physical(statement, {"Id": statement})


def _permission_deleted(order: Order, physical: Physical) -> None:
    request = {"FunctionName": order.get("FunctionName"), "StatementId": physical.id}
    tolerant(order, "lambda", "remove_permission", **request)


def _invoke_config(order: Order) -> Physical:
    _put_invoke_config(order)
    return Physical(f"{order.get('FunctionName')}|{order.get('Qualifier')}")


def _put_invoke_config(order: Order) -> None:
    order.shaped("lambda", "put_function_event_invoke_config", "Qualifier")


def _invoke_config_changed(order: Order, physical: Physical) -> Physical:
    _put_invoke_config(order)
    return physical


def _invoke_config_deleted(order: Order, _: Physical) -> None:
    tolerant(order, "lambda", "delete_function_event_invoke_config", FunctionName=order.get("FunctionName"))


def _version(order: Order) -> Physical:
    reply = order.shaped("lambda", "publish_version", "ProvisionedConcurrencyConfig", "RuntimePolicy")
    return Physical(reply["FunctionArn"], {"Version": reply["Version"], "FunctionArn": reply["FunctionArn"]})


def _alias(order: Order) -> Physical:
    reply = order.shaped("lambda", "create_alias", "ProvisionedConcurrencyConfig")
    return Physical(reply["AliasArn"], {"AliasArn": reply["AliasArn"]})


def _alias_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("lambda", "update_alias", "ProvisionedConcurrencyConfig")
    return physical


def _alias_deleted(order: Order, _: Physical) -> None:
    tolerant(order, "lambda", "delete_alias", FunctionName=order.get("FunctionName"), Name=order.get("Name"))


#: The permissions that a role needs to read a stream, and their resource, if it is not the stream.
_READING = {"dynamodb:GetRecords": "", "dynamodb:GetShardIterator": "", "dynamodb:ListStreams": "*"}
_RECEIVING = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
#: The largest batch without a batching window (Lambda API, `CreateEventSourceMapping`).
MOST_WITHOUT_WINDOW = 10
#: The least and the most of the numbers of a mapping, by their names in the API's errors (the same and
#: `ScalingConfig`).
LIMITS = {
    "batchSize": (1, 10_000),
    "maximumBatchingWindowInSeconds": (0, 300),
    "scalingConfig.maximumConcurrency": (2, 1000),
}


def _mapping_of_a_queue(order: Order) -> Physical:
    """Lambda refuses what it could not work with
    (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html)."""
    _refuse_batches(order)
    function, queue = order.get("FunctionName"), str(order.get("EventSourceArn"))
    found = order.call("lambda", "get_function_configuration", FunctionName=function)
    for action in _RECEIVING:
        if not role_may(found["Role"], f"sqs:{action}", queue, order.around.state):
            raise Failed(f"The provided execution role does not have permissions to call {action} on SQS")
    url = order.call("sqs", "get_queue_url", QueueName=queue.rpartition(":")[2])["QueueUrl"]
    named = ["VisibilityTimeout"]
    said = order.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=named)["Attributes"]
    visible, timeout = int(said["VisibilityTimeout"]), int(found["Timeout"])
    if visible < timeout:
        raise Failed(
            f"Queue visibility timeout: {visible} seconds is less than Function timeout: {timeout} seconds"
        )
    return _created(order)


def _refuse_batches(order: Order) -> None:
    """Refuses numbers that a mapping cannot have, in Lambda's words."""
    batch, window = int(order.get("BatchSize", 10)), int(order.get("MaximumBatchingWindowInSeconds", 0))
    if batch > MOST_WITHOUT_WINDOW and not window:
        raise Failed(
            "InvalidParameterValueException: Maximum batch window in seconds must be greater than 0 if maximum batch"
            f" size is greater than {MOST_WITHOUT_WINDOW}"
        )
    most = order.get("ScalingConfig", {}).get(
        "MaximumConcurrency", LIMITS["scalingConfig.maximumConcurrency"][0]
    )
    for (name, (low, high)), value in zip(LIMITS.items(), (batch, window, int(most)), strict=True):
        if not low <= value <= high:
            bound = f"greater than or equal to {low}" if value < low else f"less than or equal to {high}"
            raise Failed(
                f"1 validation error detected: Value '{value}' at '{name}' failed to satisfy constraint: Member must"
                f" have value {bound}"
            )


def _mapping(order: Order) -> Physical:
    unknown = set(order.properties) - MAPPING
    if unknown:
        raise Failed(f"the embedded cloud's event source mappings do not know {', '.join(sorted(unknown))}")
    if str(order.get("EventSourceArn")).split(":")[2] == "sqs":
        return _mapping_of_a_queue(order)
    function, stream = order.get("FunctionName"), order.get("EventSourceArn")
    role = order.call("lambda", "get_function_configuration", FunctionName=function)["Role"]
    try:
        order.around.call("dynamodbstreams", "describe_stream", {"StreamArn": stream}, role=role, by=LAMBDA)
    except ClientError as error:
        raise Failed(
            f"Cannot access stream {stream}. Please ensure the role can perform the GetRecords, GetShardIterator,"
            f" DescribeStream, and ListStreams Actions on your stream in IAM. ({error})"
        ) from error
    # Lambda reads the stream in the role's name, with calls that the embedded cloud does not make.
    for action, resource in _READING.items():
        if not role_may(role, action, resource or stream, order.around.state):
            raise Failed(f"Cannot access stream {stream}: {role} may not {action}")
    return _created(order)


def _created(order: Order) -> Physical:
    reply = order.shaped("lambda", "create_event_source_mapping", "Tags")
    return Physical(
        reply["UUID"], {"Id": reply["UUID"], "EventSourceMappingArn": reply["EventSourceMappingArn"]}
    )


def _mapping_changed(order: Order, physical: Physical) -> Physical:
    if str(order.get("EventSourceArn")).split(":")[2] == "sqs":
        _refuse_batches(order)
    leave = ("EventSourceArn", "StartingPosition", "Tags")
    order.shaped("lambda", "update_event_source_mapping", *leave, UUID=physical.id)
    return physical


KINDS = {
    "AWS::Lambda::Function": Kind(
        _function,
        _function_changed,
        removed("lambda", "delete_function", "FunctionName"),
        frozenset({"FunctionName", "PackageType"}),
        "map",
    ),
    "AWS::Lambda::LayerVersion": Kind(_layer, None, _layer_deleted),
    "AWS::Lambda::Permission": Kind(_permission, None, _permission_deleted),
    "AWS::Lambda::EventInvokeConfig": Kind(
        _invoke_config,
        _invoke_config_changed,
        _invoke_config_deleted,
        frozenset({"FunctionName", "Qualifier"}),
    ),
    "AWS::Lambda::EventSourceMapping": Kind(
        _mapping,
        _mapping_changed,
        removed("lambda", "delete_event_source_mapping", "UUID"),
        frozenset({"EventSourceArn", "StartingPosition"}),
    ),
    "AWS::Lambda::Version": Kind(_version),
    "AWS::Lambda::Alias": Kind(_alias, _alias_changed, _alias_deleted, frozenset({"FunctionName", "Name"})),
}
