"""State machines, schedules, event buses with their rules, and alarms."""

import json
from typing import Any

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Kind, Order, Physical, removed, tolerant


def _definition(order: Order) -> str:
    written = order.get("DefinitionString") or order.get("Definition")
    text = written if isinstance(written, str) else json.dumps(written)
    for name, value in (order.get("DefinitionSubstitutions") or {}).items():
        text = text.replace(f"${{{name}}}", str(value))
    return text


def _logging(order: Order) -> dict[str, Any]:
    return {
        name[0].lower() + name[1:]: fitted(
            "stepfunctions", "create_state_machine", name[0].lower() + name[1:], value
        )
        for name in ("LoggingConfiguration", "TracingConfiguration")
        if (value := order.get(name))
    }


def _state_machine(order: Order) -> Physical:
    name = order.name("StateMachineName", 80)
    tags = [{"key": tag["Key"], "value": tag["Value"]} for tag in order.get("Tags", [])]
    reply = order.call(
        "stepfunctions",
        "create_state_machine",
        name=name,
        definition=_definition(order),
        roleArn=order.get("RoleArn"),
        type=order.get("StateMachineType", "STANDARD"),
        tags=tags,
        **_logging(order),
    )
    arn = reply["stateMachineArn"]
    return Physical(arn, {"Arn": arn, "Name": name})


def _state_machine_changed(order: Order, physical: Physical) -> Physical:
    order.call(
        "stepfunctions",
        "update_state_machine",
        stateMachineArn=physical.id,
        definition=_definition(order),
        roleArn=order.get("RoleArn"),
        **_logging(order),
    )
    return physical


def _schedule_group(order: Order) -> Physical:
    name = order.name("Name")
    reply = order.shaped("scheduler", "create_schedule_group", "Name", Name=name)
    return Physical(name, {"Arn": reply["ScheduleGroupArn"]})


def _schedule_group_changed(order: Order, physical: Physical) -> Physical:
    arn = physical.attribute("Arn")
    order.call("scheduler", "tag_resource", ResourceArn=arn, Tags=order.get("Tags", []))
    return physical


def _schedule(order: Order) -> Physical:
    name = order.name("Name")
    reply = order.shaped("scheduler", "create_schedule", "Name", Name=name)
    return Physical(name, {"Arn": reply["ScheduleArn"]})


def _schedule_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("scheduler", "update_schedule", "Name", Name=physical.id)
    return physical


def _schedule_deleted(order: Order, physical: Physical) -> None:
    group = {"GroupName": order.get("GroupName")} if order.get("GroupName") else {}
    tolerant(order, "scheduler", "delete_schedule", Name=physical.id, **group)


def _bus_made(order: Order) -> Physical:
    name = str(order.get("Name"))
    reply = order.shaped("events", "create_event_bus", "Name", "Policy", Name=name)
    _put_bus_policy(order, name)
    return Physical(name, {"Arn": reply["EventBusArn"], "Name": name, "Policy": order.get("Policy")})


def _bus_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("events", "update_event_bus", "Name", "Policy", "Tags", Name=physical.id)
    if "Policy" in order.changed():
        _put_bus_policy(order, physical.id)
    if "Tags" in order.changed():
        arn, tags = physical.attribute("Arn"), order.get("Tags", [])
        gone = {tag["Key"] for tag in order.old.get("Tags", [])} - {tag["Key"] for tag in tags}
        order.call("events", "untag_resource", ResourceARN=arn, TagKeys=sorted(gone))
        order.call("events", "tag_resource", ResourceARN=arn, Tags=tags)
    return Physical(physical.id, {**physical.attributes, "Policy": order.get("Policy")})


def _put_bus_policy(order: Order, bus: str) -> None:
    if order.get("Policy"):
        policy = fitted("events", "put_permission", "Policy", order.get("Policy"))
        order.call("events", "put_permission", EventBusName=bus, Policy=policy)
    elif order.old.get("Policy"):
        order.call("events", "remove_permission", EventBusName=bus, RemoveAllPermissions=True)


def _bus_policy(order: Order) -> Physical:
    """One statement of a bus's policy. PutPermission replaces the whole policy, so the request repeats the others."""
    bus, sid = order.get("EventBusName") or "default", str(order.get("StatementId"))
    if not order.get("Statement"):
        old_form = ("Action", "Principal", "Condition")
        given = {key: order.get(key) for key in old_form if order.get(key)}
        order.call("events", "put_permission", EventBusName=bus, StatementId=sid, **given)
        return Physical(f"{bus}|{sid}")
    statement = order.get("Statement")
    written = json.loads(statement) if isinstance(statement, str) else statement
    policy = json.loads(order.call("events", "describe_event_bus", Name=bus).get("Policy") or "{}")
    others = [each for each in policy.get("Statement", []) if each.get("Sid") != sid]
    whole = {"Version": "2012-10-17", "Statement": [*others, {**written, "Sid": sid}]}
    order.call("events", "put_permission", EventBusName=bus, Policy=json.dumps(whole))
    return Physical(f"{bus}|{sid}")


def _bus_policy_changed(order: Order, _physical: Physical) -> Physical:
    return _bus_policy(order)


def _bus_policy_deleted(order: Order, physical: Physical) -> None:
    bus, sid = physical.id.rsplit("|", 1)
    tolerant(order, "events", "remove_permission", EventBusName=bus, StatementId=sid)


def _rule(order: Order) -> Physical:
    """The id of a rule on a custom bus is `<bus>|<rule>`, as in EventBridge's resource schema."""
    name = order.name("Name")
    arn = _put_rule(order, name)
    bus = order.get("EventBusName")
    return Physical(f"{bus}|{name}" if bus and bus != "default" else name, {"Arn": arn})


def _put_rule(order: Order, name: str) -> str:
    reply = order.shaped("events", "put_rule", "Name", "Targets", Name=name)
    bus = _bus(order)
    wanted = [target["Id"] for target in order.get("Targets", [])]
    gone = [target["Id"] for target in order.old.get("Targets", []) if target["Id"] not in wanted]
    if gone:
        order.call("events", "remove_targets", Rule=name, Ids=gone, **bus)
    if wanted:
        targets = fitted("events", "put_targets", "Targets", order.get("Targets"))
        order.call("events", "put_targets", Rule=name, Targets=targets, **bus)
    arn: str = reply["RuleArn"]
    return arn


def _bus(order: Order) -> dict[str, Any]:
    return {"EventBusName": order.get("EventBusName")} if order.get("EventBusName") else {}


def _rule_changed(order: Order, physical: Physical) -> Physical:
    _put_rule(order, _rule_name(physical))
    return physical


def _rule_name(physical: Physical) -> str:
    return physical.id.rpartition("|")[2]


def _rule_deleted(order: Order, physical: Physical) -> None:
    name, ids = _rule_name(physical), [target["Id"] for target in order.get("Targets", [])]
    if ids:
        tolerant(order, "events", "remove_targets", Rule=name, Ids=ids, **_bus(order))
    tolerant(order, "events", "delete_rule", Name=name, **_bus(order))


def _alarm(order: Order) -> Physical:
    name = order.name("AlarmName", 255)
    _put_alarm(order, name)
    return Physical(name, {"Arn": order.around.arn("cloudwatch", f"alarm:{name}")})


def _put_alarm(order: Order, name: str) -> None:
    operation = "put_composite_alarm" if order.type.endswith("CompositeAlarm") else "put_metric_alarm"
    order.shaped("cloudwatch", operation, "AlarmName", AlarmName=name)


def _alarm_changed(order: Order, physical: Physical) -> Physical:
    _put_alarm(order, physical.id)
    return physical


def _alarm_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "cloudwatch", "delete_alarms", AlarmNames=[physical.id])


def _dashboard(order: Order) -> Physical:
    name = order.name("DashboardName", 255)
    order.shaped("cloudwatch", "put_dashboard", "DashboardName", DashboardName=name)
    return Physical(name)


def _dashboard_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("cloudwatch", "put_dashboard", "DashboardName", DashboardName=physical.id)
    return physical


def _dashboard_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "cloudwatch", "delete_dashboards", DashboardNames=[physical.id])


_NAMED_ALARM = Kind(_alarm, _alarm_changed, _alarm_deleted, frozenset({"AlarmName"}), "list")

KINDS = {
    "AWS::StepFunctions::StateMachine": Kind(
        _state_machine,
        _state_machine_changed,
        removed("stepfunctions", "delete_state_machine", "stateMachineArn"),
        frozenset({"StateMachineName", "StateMachineType"}),
        "list",
    ),
    "AWS::Scheduler::ScheduleGroup": Kind(
        _schedule_group,
        _schedule_group_changed,
        removed("scheduler", "delete_schedule_group", "Name"),
        frozenset({"Name"}),
        "list",
    ),
    "AWS::Scheduler::Schedule": Kind(
        _schedule, _schedule_changed, _schedule_deleted, frozenset({"Name", "GroupName"})
    ),
    "AWS::Events::EventBus": Kind(
        _bus_made,
        _bus_changed,
        removed("events", "delete_event_bus", "Name"),
        frozenset({"Name", "EventSourceName"}),
        "list",
    ),
    "AWS::Events::EventBusPolicy": Kind(
        _bus_policy,
        _bus_policy_changed,
        _bus_policy_deleted,
        frozenset({"EventBusName", "StatementId"}),
    ),
    "AWS::Events::Rule": Kind(
        _rule, _rule_changed, _rule_deleted, frozenset({"Name", "EventBusName"}), "list"
    ),
    "AWS::CloudWatch::Alarm": _NAMED_ALARM,
    "AWS::CloudWatch::CompositeAlarm": _NAMED_ALARM,
    "AWS::CloudWatch::Dashboard": Kind(
        _dashboard, _dashboard_changed, _dashboard_deleted, frozenset({"DashboardName"})
    ),
}
