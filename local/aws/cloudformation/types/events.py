"""State machines, schedules, event rules and alarms."""

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


def _rule(order: Order) -> Physical:
    name = order.name("Name")
    arn = _put_rule(order, name)
    return Physical(name, {"Arn": arn})


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
    _put_rule(order, physical.id)
    return physical


def _rule_deleted(order: Order, physical: Physical) -> None:
    ids = [target["Id"] for target in order.get("Targets", [])]
    if ids:
        tolerant(order, "events", "remove_targets", Rule=physical.id, Ids=ids, **_bus(order))
    tolerant(order, "events", "delete_rule", Name=physical.id, **_bus(order))


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
    "AWS::Events::Rule": Kind(
        _rule, _rule_changed, _rule_deleted, frozenset({"Name", "EventBusName"}), "list"
    ),
    "AWS::CloudWatch::Alarm": _NAMED_ALARM,
    "AWS::CloudWatch::CompositeAlarm": _NAMED_ALARM,
    "AWS::CloudWatch::Dashboard": Kind(
        _dashboard, _dashboard_changed, _dashboard_deleted, frozenset({"DashboardName"})
    ),
}
