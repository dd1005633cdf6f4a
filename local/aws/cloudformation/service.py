"""The CloudFormation API: stacks by name, their templates, events and resources.

An operation that changes a stack runs in the background, as on AWS. A caller in this process may `await_settled`.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.cloudformation.capabilities import check_capabilities
from local.aws.cloudformation.custom_resources import CustomResources
from local.aws.cloudformation.deployment import Deployment
from local.aws.cloudformation.registry import kind_of
from local.aws.cloudformation.stack import Installed, Stack
from local.aws.cloudformation.template import InvalidTemplate, Template, parse
from local.aws.cloudformation.template_environment import parameters, surface
from local.aws.functions.assets import Assets

LOG = logging.getLogger(__name__)
#: After a failed update without a rollback, the same template is a retry.
RETRIED = "UPDATE_FAILED"
CHANGEABLE = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", RETRIED}


class CloudFormation:
    """All stacks of one embedded cloud."""

    def __init__(self, around: ServiceContext, custom: CustomResources, assets: Assets) -> None:
        self._around = around
        self._custom = custom
        self._assets = assets
        self._stacks: dict[str, Stack] = {}  # by id
        self._change_sets: dict[str, Document] = {}  # by ARN, and by stack and name
        self._lock = threading.Lock()

    def await_settled(self, name: str) -> Stack:
        """Waits until no operation on the stack is running."""
        stack = self._find(name, deleted=True)
        stack.settled.wait()
        return stack

    def create_change_set(self, request: Document) -> Document:
        """Keeps the change set until it is executed. Only then is it checked whether the stack may be changed."""
        name = request["ChangeSetName"]
        arn = self._around.arn("cloudformation", f"changeSet/{name}/{uuid.uuid4()}")
        self._template(request)
        self._change_sets[arn] = self._change_sets[f"{request['StackName']}/{name}"] = request
        return {"Id": arn, "StackId": request["StackName"]}

    def describe_change_set(self, request: Document) -> Document:
        """It is complete at once."""
        name, stack = request["ChangeSetName"], request.get("StackName")
        if not {name, f"{stack}/{name}"} & self._change_sets.keys():
            raise AwsError("ChangeSetNotFound", f"ChangeSet [{name}] does not exist")
        return {
            "ChangeSetName": name,
            "StackName": stack,
            "Status": "CREATE_COMPLETE",
            "ExecutionStatus": "AVAILABLE",
        }

    def execute_change_set(self, request: Document) -> Document:
        name = request["ChangeSetName"]
        found = self._change_sets.pop(name, None) or self._change_sets.pop(
            f"{request.get('StackName')}/{name}", None
        )
        if found is None:
            raise AwsError("ChangeSetNotFound", f"ChangeSet [{name}] does not exist")
        change = self.create_stack if found.get("ChangeSetType") == "CREATE" else self.update_stack
        change(found)
        return {}

    def create_stack(self, request: Document) -> Document:
        name = request["StackName"]
        template = self._template(request)
        with self._lock:
            if any(stack.name == name and stack.deleted is None for stack in self._stacks.values()):
                raise AwsError("AlreadyExistsException", f"Stack [{name}] already exists")
            stack = Stack(
                name=name,
                id=self._around.arn("cloudformation", f"stack/{name}/{uuid.uuid4()}"),
                clock=self._around.clock,
                template=template,
                parameters=_pairs(request.get("Parameters", [])),
                tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
                capabilities=tuple(request.get("Capabilities", [])),
                created=self._around.clock.now(),
            )
            self._stacks[stack.id] = stack
        values = self._values(template, stack.parameters)
        stack.becomes("CREATE_IN_PROGRESS", "User Initiated")
        deployment = self._deployment(stack, import_existing=bool(request.get("ImportExistingResources")))
        self._begin(stack, lambda: deployment.apply(template, values))
        return {"StackId": stack.id}

    def update_stack(self, request: Document) -> Document:
        stack = self._find(request["StackName"])
        template = stack.template if request.get("UsePreviousTemplate") else self._template(request)
        given = {**stack.parameters, **_pairs(request.get("Parameters", []))}
        given = {name: value for name, value in given.items() if name in template.parameters}
        tags = {tag["Key"]: tag["Value"] for tag in request["Tags"]} if "Tags" in request else stack.tags
        with self._lock:
            if stack.status not in CHANGEABLE:
                raise _invalid(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")
            same = (template.text, given, tags) == (stack.template.text, stack.parameters, stack.tags)
            if same and stack.status != RETRIED:
                raise _invalid("No updates are to be performed.")
            before = stack.template, stack.parameters, stack.tags
            values = self._values(template, given)
            stack.template, stack.parameters, stack.tags = template, given, tags
            stack.capabilities = tuple(request.get("Capabilities", []))
            stack.updated = self._around.clock.now()
            stack.becomes("UPDATE_IN_PROGRESS", "User Initiated")

        def update() -> None:
            deployment = self._deployment(
                stack,
                import_existing=bool(request.get("ImportExistingResources")),
                roll_back=not request.get("DisableRollback"),
            )
            deployment.apply(template, values)
            if "ROLLBACK" in stack.status:
                stack.template, stack.parameters, stack.tags = before

        self._begin(stack, update)
        return {"StackId": stack.id}

    def delete_stack(self, request: Document) -> None:
        try:
            stack = self._find(request["StackName"])
        except AwsError:
            return  # deleting a stack that does not exist is no error
        with self._lock:
            if stack.status.endswith("IN_PROGRESS"):
                raise _invalid(f"Stack [{stack.name}] cannot be deleted while in status {stack.status}")
            for name in request.get("RetainResources", []):
                stack.installed.pop(name, None)
            stack.becomes("DELETE_IN_PROGRESS", "User Initiated")
        self._begin(stack, self._deployment(stack).remove)

    def describe_stacks(self, request: Document) -> Document:
        if "StackName" in request:
            return {"Stacks": [_described(self._find(request["StackName"]))]}
        return {"Stacks": [_described(stack) for stack in self._all() if stack.deleted is None]}

    def list_stacks(self, request: Document) -> Document:
        wanted = request.get("StackStatusFilter")
        stacks = [_described(stack) for stack in self._all()]
        keys = ("StackId", "StackName", "CreationTime", "LastUpdatedTime", "DeletionTime", "StackStatus")
        return {
            "StackSummaries": [
                {key: stack[key] for key in keys if key in stack}
                for stack in stacks
                if not wanted or stack["StackStatus"] in wanted
            ]
        }

    def describe_stack_events(self, request: Document) -> Document:
        stack = self._find(request["StackName"], deleted=True)
        return {"StackEvents": stack.events[::-1]}

    def describe_stack_resources(self, request: Document) -> Document:
        stack = self._find(request["StackName"])
        wanted = request.get("LogicalResourceId")
        things = [thing for name, thing in stack.installed.items() if wanted in {None, name}]
        return {"StackResources": [_resource(stack, thing) for thing in things]}

    def describe_stack_resource(self, request: Document) -> Document:
        stack, name = self._find(request["StackName"]), request["LogicalResourceId"]
        if name not in stack.installed:
            raise _invalid(f"Resource {name} does not exist for stack {stack.name}")
        found = _resource(stack, stack.installed[name])
        return {"StackResourceDetail": {**found, "LastUpdatedTimestamp": found.pop("Timestamp")}}

    def list_stack_resources(self, request: Document) -> Document:
        stack = self._find(request["StackName"])
        found = [_resource(stack, thing) for thing in stack.installed.values()]
        return {
            "StackResourceSummaries": [{**one, "LastUpdatedTimestamp": one.pop("Timestamp")} for one in found]
        }

    def get_template(self, request: Document) -> Document:
        return {"TemplateBody": self._find(request["StackName"]).template.text}

    def list_exports(self, _: Document) -> Document:
        exports = [
            {"ExportingStackId": stack.id, "Name": name, "Value": value}
            for stack in self._all()
            for name, value in stack.exports.items()
        ]
        return {"Exports": exports}

    def _deployment(
        self, stack: Stack, *, import_existing: bool = False, roll_back: bool = True
    ) -> Deployment:
        return Deployment(
            stack,
            self._around,
            surface(self._around, stack, self._stacks),
            lambda kind, properties: kind_of(kind, properties, self._custom.kind),
            import_existing,
            roll_back,
        )

    def _begin(self, stack: Stack, operation: Callable[[], None]) -> None:
        def run() -> None:
            try:
                operation()
            except Exception as error:
                LOG.exception("an operation on stack %s failed by a fault of the embedded cloud", stack.name)
                stack.becomes(stack.status.replace("_IN_PROGRESS", "_FAILED"), f"internal failure: {error}")

        self._around.clock.spawn(f"stack {stack.name}", run)

    def _all(self) -> list[Stack]:
        with self._lock:
            return list(self._stacks.values())

    def _find(self, name: str, *, deleted: bool = False) -> Stack:
        """A stack by name, or by id, which also finds a deleted stack; the latest one if there are several."""
        for stack in reversed(self._all()):
            if stack.id == name or (stack.name == name and (deleted or stack.deleted is None)):
                return stack
        raise _invalid(f"Stack with id {name} does not exist")

    def _template(self, request: Document) -> Template:
        text = request.get("TemplateBody")
        try:
            template = parse(text if text is not None else self._fetched(request["TemplateURL"]))
        except InvalidTemplate as error:
            raise _invalid(str(error)) from error
        check_capabilities(template, request)
        return template

    def _fetched(self, url: str) -> str:
        source = self._assets.at(url)
        if source is None:
            raise InvalidTemplate("S3 error: The specified key does not exist.")
        return source.read_text("utf-8")

    def _values(self, template: Template, given: Mapping[str, str]) -> dict[str, Any]:
        try:
            return parameters(self._around, template, given)
        except InvalidTemplate as error:
            raise _invalid(str(error)) from error


def _invalid(reason: str) -> AwsError:
    return AwsError("ValidationError", reason)


def _pairs(written: list[dict[str, Any]]) -> dict[str, str]:
    return {one["ParameterKey"]: one["ParameterValue"] for one in written if "ParameterValue" in one}


def _described(stack: Stack) -> Document:
    optional = {
        "LastUpdatedTime": stack.updated,
        "DeletionTime": stack.deleted,
        "StackStatusReason": stack.reason,
    }
    exported = {value: name for name, value in stack.exports.items()}
    outputs = [
        {
            "OutputKey": key,
            "OutputValue": value,
            **({"ExportName": exported[value]} if value in exported else {}),
        }
        for key, value in stack.outputs.items()
    ]
    return {
        "StackId": stack.id,
        "StackName": stack.name,
        "CreationTime": stack.created,
        "StackStatus": stack.status,
        "Capabilities": list(stack.capabilities),
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in stack.parameters.items()],
        "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
        "Outputs": outputs,
        **{key: value for key, value in optional.items() if value},
    }


def _resource(stack: Stack, thing: Installed) -> Document:
    name = thing.resource.logical_id
    status, reason, at = stack.statuses.get(name, ("CREATE_COMPLETE", "", stack.created))
    return {
        "StackId": stack.id,
        "StackName": stack.name,
        "LogicalResourceId": name,
        "PhysicalResourceId": thing.physical.id,
        "ResourceType": thing.resource.type,
        "Timestamp": at,
        "ResourceStatus": status,
        **({"ResourceStatusReason": reason} if reason else {}),
    }
