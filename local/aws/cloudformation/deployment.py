"""Brings a stack to a template: creates, changes, replaces and deletes resources, and rolls back on a failure.

It works as CloudFormation does. The references give the order, replaced and dropped resources are deleted last, and a
failure undoes the changes. kinds.py says what one resource needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.aws.api.service_context import ServiceContext
from local.aws.cloudformation.expressions import Scope, TemplateEnvironment
from local.aws.cloudformation.graph import reversed_order, walk
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, Properties
from local.aws.cloudformation.stack import Installed, Stack
from local.aws.cloudformation.taken_names import refuse_taken
from local.aws.cloudformation.template import InvalidTemplate, Resource, Template

#: The kind of a resource by its type and properties. Raises Failed for an unknown type.
KindOf = Callable[[str, Properties], Kind]
#: The policies that keep a resource. The second one lets go of what the same operation has created
#: (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html).
RETAIN = {"Retain", "RetainExceptOnCreate"}


@dataclass
class Deployment:
    """One operation on one stack."""

    stack: Stack
    around: ServiceContext
    surface: TemplateEnvironment
    kind_of: KindOf
    #: Whether a retained resource that already exists is imported, as a change set can ask.
    import_existing: bool = False
    #: Whether a failed update is undone. Otherwise the next update goes on from what this one changed.
    roll_back: bool = True
    before: dict[str, Installed] = field(default_factory=dict)  # when the operation began
    imported: set[str] = field(default_factory=set)  # by this operation
    outdated: list[Installed] = field(default_factory=list)  # deleted at the end of a success
    attempted: dict[str, Properties] = field(default_factory=dict)  # of failed changes in place
    _scope: Scope | None = None

    def apply(self, template: Template, parameters: Mapping[str, str]) -> None:
        """Installs the template. It raises nothing: the status of the stack says how it ended."""
        stack = self.stack
        self.before = dict(stack.installed)
        verb = "UPDATE" if self.before else "CREATE"
        self._scope = scope = self._scoped(template, parameters)
        wanted = _wanted(template, scope)
        failures = walk(
            self.around.clock,
            {name: template.dependencies(name) & wanted for name in wanted},
            self._install_named,
        )
        if not failures:
            try:
                outputs, exports = self._outputs(template, scope)
            except (Failed, InvalidTemplate, KeyError) as error:
                failures = {"Outputs": error}
        if failures and verb == "UPDATE" and not self.roll_back:
            stack.becomes("UPDATE_FAILED", _summary(failures))
            return
        if failures:
            self._roll_back(verb, _summary(failures))
            return
        stack.outputs, stack.exports = outputs, exports
        if verb == "CREATE":
            stack.becomes("CREATE_COMPLETE")
            return
        stack.becomes("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        dropped = {name: installed for name, installed in stack.installed.items() if name not in wanted}
        self._clean_up(dropped)
        stack.becomes("UPDATE_COMPLETE")

    def remove(self) -> None:
        """Deletes everything. If a resource cannot be deleted, it stays and the stack becomes DELETE_FAILED."""
        self.before = dict(self.stack.installed)
        failures = self._take_away(dict(self.stack.installed))
        if failures:
            self.stack.becomes("DELETE_FAILED", _summary(failures))
            return
        self.stack.deleted = self.stack.clock.now()
        self.stack.outputs, self.stack.exports = {}, {}
        self.stack.becomes("DELETE_COMPLETE")

    def _install_named(self, name: str) -> None:
        assert self._scope is not None  # noqa: S101 (set by apply)
        template = self._scope.template
        resource = template.resources[name]
        try:
            self._install(resource, self._scope, frozenset(template.dependencies(name)))
        except Exception as error:
            old = self.stack.installed.get(name)
            self.stack.resource(resource, f"{'UPDATE' if old else 'CREATE'}_FAILED", _reason(error))
            raise

    def _install(self, resource: Resource, scope: Scope, needs: frozenset[str]) -> None:
        stack, name = self.stack, resource.logical_id
        old = stack.installed.get(name)
        properties = scope.value(dict(resource.properties))
        kind = self.kind_of(resource.type, properties)
        properties = _tagged(kind, properties, stack.tags)
        if old and old.resource.type == resource.type:
            if old.properties == properties:
                stack.installed[name] = Installed(resource, properties, old.physical, needs)
                return
            order = self._order(resource, properties, old.properties)
            if not kind.replaces(order.changed()):
                stack.resource(resource, "UPDATE_IN_PROGRESS")
                self.attempted[name] = properties
                physical = kind.changed(order, old.physical)
                del self.attempted[name]
                stack.installed[name] = Installed(resource, properties, physical, needs)
                if physical.id != old.physical.id:
                    self.outdated.append(old)  # a custom resource replaced itself
                stack.resource(resource, "UPDATE_COMPLETE")
                return
        verb = "UPDATE" if old else "CREATE"
        reason = "Requested update requires the creation of a new physical resource." if old else ""
        stack.resource(resource, f"{verb}_IN_PROGRESS", reason)
        order = self._order(resource, properties)
        there = self._there(kind, order, resource) if not old else None
        if there:
            self.imported.add(name)
            stack.installed[name] = Installed(resource, properties, there, needs)
            stack.resource(resource, "IMPORT_COMPLETE")
            return
        try:
            physical = kind.create(order)
        except Failed as error:
            if error.physical and not old:
                # It failed and left something behind, which the rollback deletes.
                stack.installed[name] = Installed(resource, properties, error.physical, needs)
            raise
        if old:
            self.outdated.append(old)
        stack.installed[name] = Installed(resource, properties, physical, needs)
        stack.resource(resource, f"{verb}_COMPLETE")

    def _there(self, kind: Kind, order: Order, resource: Resource) -> Physical | None:
        refuse_taken(order)
        if not self.import_existing or kind.find is None or resource.deletion_policy not in RETAIN:
            return None
        return kind.find(order)

    def _roll_back(self, verb: str, reason: str) -> None:
        stack = self.stack
        if verb == "CREATE":
            stack.becomes("ROLLBACK_IN_PROGRESS", reason)
            failures = self._take_away(dict(stack.installed))
            stack.becomes("ROLLBACK_FAILED" if failures else "ROLLBACK_COMPLETE", _summary(failures))
            return
        stack.becomes("UPDATE_ROLLBACK_IN_PROGRESS", reason)
        failures = walk(
            self.around.clock, {name: set(old.needs) for name, old in self.before.items()}, self._put_back
        )
        if failures:
            stack.becomes("UPDATE_ROLLBACK_FAILED", _summary(failures))
            return
        stack.becomes("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
        now = dict(stack.installed)
        new = {name: thing for name, thing in now.items() if not _same(thing, self.before.get(name))}
        # A rolled-back resource keeps its present values: a launch template has one more version.
        stack.installed.update(
            {name: old for name, old in self.before.items() if name in new or name not in now}
        )
        self._take_away(new, forget=set(new) - set(self.before))
        stack.becomes("UPDATE_ROLLBACK_COMPLETE")

    def _put_back(self, name: str) -> None:
        """Gives a resource that was changed in place its old properties again.

        A custom resource whose change failed gets this request as well, because nobody knows how far the change came.
        """
        old, now = self.before[name], self.stack.installed[name]
        if not _same(now, old):
            return
        failed = self.attempted.get(name) if _is_custom(old.resource) else None
        changed = failed or now.properties
        if changed == old.properties:
            return
        kind = self.kind_of(old.resource.type, old.properties)
        self.stack.resource(old.resource, "UPDATE_IN_PROGRESS")
        order = replace(self._order(old.resource, old.properties, changed), taken_back=True)
        physical = kind.changed(order, now.physical)
        self.stack.installed[name] = Installed(old.resource, old.properties, physical, old.needs)
        self.stack.resource(old.resource, "UPDATE_COMPLETE")

    def _clean_up(self, dropped: dict[str, Installed]) -> None:
        self._take_away(dropped)
        for old in reversed(self.outdated):
            if old.resource.replace_policy != "Retain":
                self._delete(old)

    def _take_away(
        self, things: dict[str, Installed], forget: set[str] | None = None
    ) -> dict[str, Exception]:
        def take(name: str) -> None:
            thing = things[name]
            existed = name in self.imported or _same(thing, self.before.get(name))
            if thing.resource.deletion_policy in (RETAIN if existed else {"Retain"}):
                self.stack.resource(thing.resource, "DELETE_SKIPPED", physical_id=thing.physical.id)
            else:
                self._delete(thing)
            if forget is None or name in forget:
                self.stack.installed.pop(name, None)

        needs = {name: set(thing.needs) for name, thing in things.items()}
        return walk(self.around.clock, reversed_order(needs), take)

    def _delete(self, thing: Installed) -> None:
        stack, resource = self.stack, thing.resource
        stack.resource(resource, "DELETE_IN_PROGRESS", physical_id=thing.physical.id)
        try:
            kind = self.kind_of(resource.type, thing.properties)
            kind.delete(self._order(resource, thing.properties), thing.physical)
        except Exception as error:
            stack.resource(resource, "DELETE_FAILED", _reason(error), thing.physical.id)
            raise
        stack.resource(resource, "DELETE_COMPLETE", physical_id=thing.physical.id)

    def _order(self, resource: Resource, properties: Properties, old: Properties | None = None) -> Order:
        return Order(
            stack=self.stack.name,
            stack_id=self.stack.id,
            logical_id=resource.logical_id,
            type=resource.type,
            properties=properties,
            around=self.around,
            old=old or {},
        )

    def _scoped(self, template: Template, parameters: Mapping[str, str]) -> Scope:
        def attribute(owner: str, name: str) -> Any:
            try:
                return self.stack.installed[owner].physical.attribute(name)
            except KeyError:
                kind = template.resources[owner].type
                raise Failed(f"the embedded cloud gives no attribute {name} of {owner} ({kind})") from None

        return Scope(
            template=template,
            parameters=parameters,
            surface=self.surface,
            ref=lambda name: self.stack.installed[name].physical.id,
            attribute=attribute,
        )

    def _outputs(self, template: Template, scope: Scope) -> tuple[dict[str, str], dict[str, str]]:
        wanted = {
            name: output
            for name, output in template.outputs.items()
            if "Condition" not in output or scope.holds(output["Condition"])
        }
        outputs = {name: scope.output(output["Value"]) for name, output in wanted.items()}
        exports = {
            str(scope.value(output["Export"]["Name"])): outputs[name]
            for name, output in wanted.items()
            if "Export" in output
        }
        return outputs, exports


def _wanted(template: Template, scope: Scope) -> set[str]:
    resources = template.resources.values()
    return {r.logical_id for r in resources if r.condition is None or scope.holds(r.condition)}


def _tagged(kind: Kind, properties: dict[str, Any], tags: Mapping[str, str]) -> Properties:
    """Adds the stack's tags to a resource. The resource's own tags win."""
    if kind.tags is None or not tags:
        return properties
    own = properties.get("Tags") or {}
    merged = {**tags, **({tag["Key"]: tag["Value"] for tag in own} if isinstance(own, list) else own)}
    as_list = [{"Key": key, "Value": value} for key, value in merged.items()]
    return {**properties, "Tags": merged if kind.tags == "map" else as_list}


def _is_custom(resource: Resource) -> bool:
    return resource.type.startswith(("Custom::", "AWS::CloudFormation::CustomResource"))


def _same(one: Installed, other: Installed | None) -> bool:
    return other is not None and one.physical.id == other.physical.id


def _reason(error: Exception) -> str:
    if isinstance(error, ClientError | BotoCoreError | Failed):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _summary(failures: Mapping[str, Exception]) -> str:
    if not failures:
        return ""
    first = next(iter(failures))
    return f"The following resource(s) failed: [{', '.join(failures)}]. {first}: {_reason(failures[first])}"
