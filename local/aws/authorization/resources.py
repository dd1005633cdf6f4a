"""The resources of a call, as ARNs in the formats of the Service Authorization Reference.

Each resource type has a function from the members of the call to the names in the ARN. It returns None if the call
names no resource of this type.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from local.aws.authorization import reference
from local.aws.authorization.state import NO_ID, State

Members = Mapping[str, Any]
#: Names by the placeholders of the ARN's format, or whole ARNs.
Named = Iterator[dict[str, str] | str]
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
ARN = "arn:"


def resources(action: str, types: Mapping[str, bool], members: Members, state: State) -> list[str] | None:
    """The ARNs; None if the action needs one that the embedded cloud cannot derive."""
    service = action.partition(":")[0]
    found: list[str] = []
    for kind, required in types.items():
        names = _NAMES.get((service, kind))
        if names is None:
            if required:
                return None
            continue
        found += [_arn(service, kind, each, state) for each in names(members, state)]
    return found or None


def _arn(service: str, kind: str, names: dict[str, str] | str, state: State) -> str:
    if isinstance(names, str):
        return names
    values = {"Partition": "aws", "Region": state.region, "Account": state.account, **names}
    return _PLACEHOLDER.sub(lambda found: values[found[1]], reference.arn_format(service, kind))


def _table(members: Members, _: State) -> Named:
    name = members.get("TableName")
    if name:
        yield name if name.startswith(ARN) else {"TableName": name}


def table_name(name: str) -> str:
    """The name of a table that is given by name or ARN."""
    return name.partition(":table/")[2] or name


def _index(members: Members, _: State) -> Named:
    if members.get("IndexName"):
        yield {"TableName": table_name(members["TableName"]), "IndexName": members["IndexName"]}


def _stream(members: Members, _: State) -> Named:
    if members.get("StreamArn"):
        yield members["StreamArn"]


def _stack(members: Members, _: State) -> Named:
    name = members.get("StackName")
    if name:
        yield name if str(name).startswith(ARN) else {"StackName": name, "Id": NO_ID}


def _cluster(members: Members, _: State) -> Named:
    # Calls about a cluster name it `name`, calls about its parts `clusterName`, and calls about updates again `name`.
    name = members.get("clusterName") or members.get("name")
    if name:
        yield {"ClusterName": name}


def _nodegroup(members: Members, state: State) -> Named:
    cluster, name = members.get("clusterName") or members.get("name"), members.get("nodegroupName")
    if cluster and name:
        yield {"ClusterName": cluster, "NodegroupName": name, "UUID": state.nodegroup_id(cluster, name)}


def _addon(members: Members, _: State) -> Named:
    cluster, name = members.get("clusterName") or members.get("name"), members.get("addonName")
    if cluster and name:
        yield {"ClusterName": cluster, "AddonName": name, "UUID": NO_ID}


def _auto_scaling_group(members: Members, state: State) -> Named:
    name, instance = members.get("AutoScalingGroupName"), members.get("InstanceId")
    if name or instance:
        yield state.group(name=name, instance=None if name else instance)


def _ids(member: str, placeholder: str) -> Callable[[Members, State], Named]:
    def names(members: Members, _: State) -> Named:
        given = members.get(member) or []
        for each in given if isinstance(given, list) else [given]:
            yield each if str(each).startswith(ARN) else {placeholder: each}

    return names


def _launch_template(members: Members, state: State) -> Named:
    if members.get("LaunchTemplateId") or members.get("LaunchTemplateName"):
        found = state.launch_template(members)
        yield {"LaunchTemplateId": found[0] if found else str(members.get("LaunchTemplateId") or "*")}


#: The kinds of resources that ec2:CreateTags names, by the beginning of their ids.
_PREFIXES = {
    "instance": "i-",
    "launch-template": "lt-",
    "network-interface": "eni-",
    "security-group": "sg-",
    "subnet": "subnet-",
    "volume": "vol-",
}


def _tagged(kind: str, placeholder: str) -> Callable[[Members, State], Named]:
    """The resources of one kind that a call about tags names, beside what other calls name."""

    def names(members: Members, _: State) -> Named:
        for each in members.get("Resources") or []:
            if str(each).startswith(_PREFIXES[kind]):
                yield {placeholder: each}

    return names


def _either(*readers: Callable[[Members, State], Named]) -> Callable[[Members, State], Named]:
    def names(members: Members, state: State) -> Named:
        for reader in readers:
            yield from reader(members, state)

    return names


def _instance_profile(members: Members, state: State) -> Named:
    if members.get("InstanceProfileName"):
        yield state.instance_profile(members["InstanceProfileName"], members.get("Path"))


def _trail(members: Members, _: State) -> Named:
    name = members.get("Name") or members.get("TrailName")
    if name:
        yield name if name.startswith(ARN) else {"TrailName": name}


def _schedule(members: Members, _: State) -> Named:
    if members.get("Name"):
        yield {"GroupName": members.get("GroupName") or "default", "ScheduleName": members["Name"]}


def _schedule_group(members: Members, _: State) -> Named:
    if members.get("Name"):
        yield {"GroupName": members["Name"]}


def _role(members: Members, _: State) -> Named:
    given = members.get("RoleArn") or members.get("RoleName")
    if given:
        yield given if given.startswith(ARN) else {"RoleNameWithPath": given}


def _function(members: Members, _: State) -> Named:
    """A function may also be given by a part of its ARN, `123456789012:function:name`, and with a version or alias."""
    given, qualifier = str(members.get("FunctionName") or ""), members.get("Qualifier")
    if not given:
        return
    name = given.partition("function:")[2] or given
    yield {"FunctionName": f"{name}:{qualifier}" if qualifier else name}


def _topic(members: Members, _: State) -> Named:
    given = members.get("TopicArn") or members.get("TargetArn")
    if given:
        yield given


def _queue(members: Members, _: State) -> Named:
    given = members.get("QueueUrl") or members.get("QueueName")
    if given:
        yield {"QueueName": given.rstrip("/").rpartition("/")[2]}


def _secret(members: Members, state: State) -> Named:
    if members.get("SecretId"):
        yield {"SecretId": state.secret_name(members["SecretId"])}


def _parameter(members: Members, state: State) -> Named:
    for name in [*(members.get("Names") or []), *([members["Name"]] if members.get("Name") else [])]:
        if name.startswith("/aws/service/"):
            yield f"arn:aws:ssm:{state.region}::parameter{name}"  # AWS's own parameters belong to no account
        else:
            yield name if name.startswith(ARN) else {"ParameterNameWithoutLeadingSlash": name.lstrip("/")}


def _quota(members: Members, _: State) -> Named:
    if members.get("QuotaCode"):
        yield {"ServiceCode": members["ServiceCode"], "QuotaCode": members["QuotaCode"]}


def _log_group(members: Members, _: State) -> Named:
    """With `:*`, as IAM policies name a log group for every action but tagging (CloudWatch Logs API reference,
    LogGroup).
    """
    if members.get("logGroupName"):
        yield {"LogGroupName": f"{members['logGroupName']}:*"}


def _log_stream(members: Members, _: State) -> Named:
    if members.get("logStreamName"):
        yield {"LogGroupName": members["logGroupName"], "LogStreamName": members["logStreamName"]}


def _rule(members: Members, _: State) -> Named:
    name = members.get("Rule") or members.get("Name")
    if name and (members.get("EventBusName") or "default") == "default":
        yield {"RuleName": name}


def _rule_elsewhere(members: Members, _: State) -> Named:
    name, bus = members.get("Rule") or members.get("Name"), members.get("EventBusName") or "default"
    if name and bus != "default":
        yield {"EventBusName": bus.rpartition("/")[2], "RuleName": name}


def _bus(members: Members, _: State) -> Named:
    """PutEvents names it in each entry; calls about a bus itself call it `Name`."""
    for entry in members.get("Entries") or [{"EventBusName": members.get("Name")}]:
        bus = entry.get("EventBusName") or "default"
        yield bus if bus.startswith(ARN) else {"EventBusName": bus}


def _of_s3(object_wanted: bool) -> Callable[[Members, State], Named]:
    def names(members: Members, _: State) -> Named:
        bucket, _slash, key = str(members.get("BucketAndKey") or "").partition("/")
        if object_wanted and key:
            yield {"BucketName": bucket, "ObjectName": key}
        elif bucket and not object_wanted:
            yield {"BucketName": bucket}

    return names


def _none(_: Members, __: State) -> Named:
    """A resource type that the embedded cloud does not have, so no call names one."""
    yield from ()


_NAMES: dict[tuple[str, str], Callable[[Members, State], Named]] = {
    ("autoscaling", "autoscalinggroup"): _auto_scaling_group,
    ("cloudtrail", "trail"): _trail,
    ("cloudformation", "stack"): _stack,
    ("cloudformation", "stackset"): _none,
    ("dynamodb", "index"): _index,
    ("dynamodb", "stream"): _stream,
    ("dynamodb", "table"): _table,
    ("ec2", "instance"): _either(_ids("InstanceIds", "InstanceId"), _tagged("instance", "InstanceId")),
    ("ec2", "launch-template"): _either(_launch_template, _tagged("launch-template", "LaunchTemplateId")),
    ("ec2", "network-interface"): _tagged("network-interface", "NetworkInterfaceId"),
    ("ec2", "security-group"): _either(
        _ids("GroupId", "SecurityGroupId"), _tagged("security-group", "SecurityGroupId")
    ),
    ("ec2", "security-group-rule"): _ids("SecurityGroupRuleIds", "SecurityGroupRuleId"),
    ("ec2", "subnet"): _tagged("subnet", "SubnetId"),
    ("ec2", "volume"): _tagged("volume", "VolumeId"),
    ("eks", "addon"): _addon,
    ("eks", "cluster"): _cluster,
    ("eks", "nodegroup"): _nodegroup,
    ("events", "event-bus"): _bus,
    ("events", "rule-on-custom-event-bus"): _rule_elsewhere,
    ("events", "rule-on-default-event-bus"): _rule,
    ("iam", "instance-profile"): _instance_profile,
    ("iam", "role"): _role,
    ("lambda", "function"): _function,
    ("logs", "log-group"): _log_group,
    ("logs", "log-stream"): _log_stream,
    ("s3", "bucket"): _of_s3(object_wanted=False),
    ("s3", "object"): _of_s3(object_wanted=True),
    ("scheduler", "schedule"): _schedule,
    ("scheduler", "schedule-group"): _schedule_group,
    ("secretsmanager", "secret"): _secret,
    ("servicequotas", "quota"): _quota,
    ("sns", "topic"): _topic,
    ("sqs", "queue"): _queue,
    ("ssm", "parameter"): _parameter,
    ("states", "execution"): _ids("executionArn", "ExecutionId"),
    ("states", "express"): _none,
    ("states", "labelled execution"): _none,
    ("states", "labelled express"): _none,
    ("states", "maprun"): _none,
    ("states", "statemachine"): _ids("stateMachineArn", "StateMachineName"),
    ("states", "statemachinealias"): _none,
    ("states", "statemachineversion"): _none,
    ("sts", "role"): _role,
}
