"""Tables, parameters, secrets, log groups, and resources without anything behind them."""

import secrets
import string
from typing import Any

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Kind, Order, Physical, removed, tolerant

#: Properties of a table that need a call of their own.
TABLE_EXTRAS = (
    "TableName",
    "TimeToLiveSpecification",
    "PointInTimeRecoverySpecification",
    "StreamSpecification",
    "Tags",
)


def _table(order: Order) -> Physical:
    name = order.name("TableName", 255)
    leave = (*TABLE_EXTRAS, "Replicas", "WriteProvisionedThroughputSettings", "SSESpecification")
    extra: dict[str, Any] = {"Tags": _table_tags(order)} if _table_tags(order) else {}
    extra |= _stream(order)
    reply = order.shaped("dynamodb", "create_table", *leave, TableName=name, **extra)["TableDescription"]
    _table_extras(order, name)
    return _described_table(name, reply)


def _stream(order: Order) -> dict[str, Any]:
    """A template sets a stream by its view only."""
    found = order.get("StreamSpecification")
    return {"StreamSpecification": {**found, "StreamEnabled": True}} if found else {}


def _table_there(order: Order) -> Physical | None:
    name = order.get("TableName")
    reply = tolerant(order, "dynamodb", "describe_table", TableName=name) if name else {}
    return _described_table(name, reply["Table"]) if reply else None


def _described_table(name: str, reply: dict[str, Any]) -> Physical:
    attributes = {"Arn": reply["TableArn"], "TableId": reply.get("TableId", name)}
    if "LatestStreamArn" in reply:
        attributes["StreamArn"] = reply["LatestStreamArn"]
    return Physical(name, attributes)


def _replica(order: Order) -> dict[str, Any]:
    """The settings of a global table's replica in this region; a plain table has them itself."""
    replicas = order.get("Replicas", [])
    return next(
        (dict(replica) for replica in replicas if replica["Region"] == order.region), dict(order.properties)
    )


def _table_tags(order: Order) -> list[dict[str, str]]:
    own = {tag["Key"]: tag["Value"] for tag in order.get("Tags", [])}
    replica = {tag["Key"]: tag["Value"] for tag in _replica(order).get("Tags", [])}
    return [{"Key": key, "Value": value} for key, value in {**own, **replica}.items()]


def _table_extras(order: Order, name: str) -> None:
    ttl = order.get("TimeToLiveSpecification")
    if ttl and "TimeToLiveSpecification" in order.changed():
        specification = fitted("dynamodb", "update_time_to_live", "TimeToLiveSpecification", ttl)
        order.call("dynamodb", "update_time_to_live", TableName=name, TimeToLiveSpecification=specification)
    recovery = _replica(order).get("PointInTimeRecoverySpecification")
    if recovery:
        parameter = "PointInTimeRecoverySpecification"
        specification = fitted("dynamodb", "update_continuous_backups", parameter, recovery)
        order.call("dynamodb", "update_continuous_backups", TableName=name, **{parameter: specification})


def _table_changed(order: Order, physical: Physical) -> Physical:
    simple = ("BillingMode", "DeletionProtectionEnabled")
    request = {
        name: fitted("dynamodb", "update_table", name, order.get(name))
        for name in simple
        if name in order.changed() and name in order.properties
    }
    if request:
        order.call("dynamodb", "update_table", TableName=physical.id, **request)
    if "StreamSpecification" in order.changed():
        change = _stream(order) or {"StreamSpecification": {"StreamEnabled": False}}
        order.call("dynamodb", "update_table", TableName=physical.id, **change)
    _table_extras(order, physical.id)
    if "Tags" in order.changed():
        arn = physical.attribute("Arn")
        order.call("dynamodb", "tag_resource", ResourceArn=arn, Tags=_table_tags(order))
    table = order.call("dynamodb", "describe_table", TableName=physical.id)["Table"]
    return _described_table(physical.id, table)


def _parameter(order: Order) -> Physical:
    name = order.name("Name", 1011)
    order.shaped("ssm", "put_parameter", "Name", "Tags", Name=name, **_parameter_tags(order))
    return Physical(name, {"Type": order.get("Type"), "Value": order.get("Value")})


def _parameter_tags(order: Order) -> dict[str, Any]:
    return {"Tags": fitted("ssm", "put_parameter", "Tags", order.get("Tags"))} if order.get("Tags") else {}


def _parameter_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("ssm", "put_parameter", "Name", "Tags", Name=physical.id, Overwrite=True)
    return Physical(physical.id, {"Type": order.get("Type"), "Value": order.get("Value")})


def _secret(order: Order) -> Physical:
    name = order.name("Name", 400)
    text = order.get("SecretString")
    rule = order.get("GenerateSecretString")
    if rule is not None:
        letters = string.ascii_letters + string.digits
        text = "".join(secrets.choice(letters) for _ in range(int(rule.get("PasswordLength", 32))))
    leave = ("Name", "GenerateSecretString", "SecretString", "ReplicaRegions")
    value = {"SecretString": text} if text else {}
    arn = order.shaped("secretsmanager", "create_secret", *leave, Name=name, **value)["ARN"]
    return Physical(arn, {"Id": arn})


def _secret_changed(order: Order, physical: Physical) -> Physical:
    if "SecretString" in order.changed() and order.get("SecretString"):
        request = {"SecretId": physical.id, "SecretString": order.get("SecretString")}
        order.call("secretsmanager", "put_secret_value", **request)
    return physical


def _secret_deleted(order: Order, physical: Physical) -> None:
    request = {"SecretId": physical.id, "ForceDeleteWithoutRecovery": True}
    tolerant(order, "secretsmanager", "delete_secret", **request)


def _log_group(order: Order) -> Physical:
    name = order.name("LogGroupName", 512)
    tags = fitted("logs", "create_log_group", "tags", order.get("Tags", {}))
    order.call("logs", "create_log_group", logGroupName=name, **({"tags": tags} if tags else {}))
    _retention(order, name)
    return Physical(name, {"Arn": order.around.arn("logs", f"log-group:{name}:*")})


def _retention(order: Order, name: str) -> None:
    days = order.get("RetentionInDays")
    if days:
        order.call("logs", "put_retention_policy", logGroupName=name, retentionInDays=int(days))


def _log_group_changed(order: Order, physical: Physical) -> Physical:
    _retention(order, physical.id)
    return physical


def _log_policy(order: Order) -> Physical:
    """A resource policy of CloudWatch Logs. It belongs to the account, and names its log groups."""
    name = str(order.get("PolicyName"))
    order.shaped("logs", "put_resource_policy")
    return Physical(name)


def _log_policy_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("logs", "put_resource_policy")
    return physical


def _nothing(order: Order) -> Physical:
    """A resource that exists only in templates."""
    return Physical(order.name("Name"))


def _nothing_changed(_order: Order, physical: Physical) -> Physical:
    return physical


def _handle(order: Order) -> Physical:
    return Physical(f"{order.around.endpoint}/_lamplighter/wait-condition/{order.logical_id}")


_PLAIN_TABLE = Kind(
    _table,
    _table_changed,
    removed("dynamodb", "delete_table", "TableName"),
    frozenset({"TableName", "KeySchema", "AttributeDefinitions", "LocalSecondaryIndexes"}),
    "list",
    _table_there,
)

KINDS = {
    "AWS::DynamoDB::Table": _PLAIN_TABLE,
    "AWS::DynamoDB::GlobalTable": _PLAIN_TABLE,
    "AWS::SSM::Parameter": Kind(
        _parameter, _parameter_changed, removed("ssm", "delete_parameter", "Name"), frozenset({"Name"}), "map"
    ),
    "AWS::SecretsManager::Secret": Kind(
        _secret, _secret_changed, _secret_deleted, frozenset({"Name"}), "list"
    ),
    "AWS::Logs::LogGroup": Kind(
        _log_group,
        _log_group_changed,
        removed("logs", "delete_log_group", "logGroupName"),
        frozenset({"LogGroupName", "LogGroupClass"}),
        "list",
    ),
    "AWS::Logs::ResourcePolicy": Kind(
        _log_policy,
        _log_policy_changed,
        removed("logs", "delete_resource_policy", "policyName"),
        frozenset({"PolicyName"}),
    ),
    "AWS::CDK::Metadata": Kind(_nothing, _nothing_changed),
    "AWS::CloudFormation::WaitConditionHandle": Kind(_handle, _nothing_changed),
}
