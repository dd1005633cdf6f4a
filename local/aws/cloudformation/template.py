"""A CloudFormation template as values: its resources, and the references of each. Nothing is evaluated yet."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: What Fn::Sub replaces: ${Name}, ${Name.Attribute}; ${!Literal} stays.
PLACEHOLDER = re.compile(r"\$\{([^!}][^}]*)\}")


class InvalidTemplate(Exception):
    """CloudFormation would refuse the template. The text says where and why."""


@dataclass(frozen=True)
class Resource:
    """One resource as written."""

    logical_id: str
    type: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    condition: str | None = None
    deletion_policy: str = "Delete"
    replace_policy: str = "Delete"


@dataclass(frozen=True)
class Template:
    """The sections that are evaluated. Rules and metadata are not, because they check what the CDK has checked."""

    text: str
    resources: Mapping[str, Resource]
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mappings: Mapping[str, Any] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def dependencies(self, logical_id: str) -> set[str]:
        """The resources that must exist before this one."""
        resource = self.resources[logical_id]
        found = set(references(resource.properties)) | set(resource.depends_on)
        return {name for name in found if name in self.resources and name != logical_id}


def parse(text: str) -> Template:
    """The template of a JSON text."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidTemplate(f"Template format error: JSON not well-formed. ({error})") from error
    if not document.get("Resources"):
        raise InvalidTemplate("Template format error: At least one Resources member must be defined.")
    if "Transform" in document:
        raise InvalidTemplate(f"Transform {document['Transform']} is not known to the embedded cloud")
    template = Template(
        text=text,
        resources={name: _resource(name, written) for name, written in document["Resources"].items()},
        parameters=document.get("Parameters", {}),
        mappings=document.get("Mappings", {}),
        conditions=document.get("Conditions", {}),
        outputs=document.get("Outputs", {}),
    )
    _check_references(template)
    return template


def references(value: Any) -> Iterator[str]:
    """Every name that an expression refers to: resources and parameters."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "Ref":
                yield inner
            elif key == "Fn::GetAtt":
                yield (inner if isinstance(inner, list) else inner.split("."))[0]
            elif key == "Fn::Sub":
                text, names = inner if isinstance(inner, list) else (inner, {})
                yield from (name.split(".")[0] for name in PLACEHOLDER.findall(text) if name not in names)
                yield from references(names)
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def _resource(name: str, written: Mapping[str, Any]) -> Resource:
    depends_on = written.get("DependsOn", [])
    return Resource(
        logical_id=name,
        type=written["Type"],
        properties=written.get("Properties") or {},
        depends_on=(depends_on,) if isinstance(depends_on, str) else tuple(depends_on),
        condition=written.get("Condition"),
        deletion_policy=written.get("DeletionPolicy", "Delete"),
        replace_policy=written.get("UpdateReplacePolicy", "Delete"),
    )


def _check_references(template: Template) -> None:
    known = {*template.resources, *template.parameters}
    used = {name for resource in template.resources.values() for name in references(resource.properties)}
    used |= {name for resource in template.resources.values() for name in resource.depends_on}
    used |= set(references(dict(template.outputs)))
    unknown = sorted(name for name in used - known if not name.startswith("AWS::"))
    if unknown:
        raise InvalidTemplate(
            f"Template format error: Unresolved resource dependencies [{', '.join(unknown)}]"
        )
