"""Evaluates the expressions of a template: references, intrinsic functions, conditions, dynamic references.

The caller provides the existing resources. An unknown function is an error; it is never passed through.
"""

import base64
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.aws.cloudformation.template import PLACEHOLDER, InvalidTemplate, Template

# CloudFormation's words for an attribute that is no text: aws/aws-cdk#4808, aws-cloudformation/cfn-lint#390 and #3013.
NO_JOIN = (
    "Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to"
    " be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."
)
NO_SUB = "Template error: variable {name} in Fn::Sub expression does not resolve to a string"
NO_OUTPUT = "Template format error: Every Value member must be a string."
_DYNAMIC = re.compile(r"\{\{resolve:([a-z-]+):([^}]+)\}\}")


class _NoValue:
    """AWS::NoValue: the property or element is left out."""


NO_VALUE = _NoValue()


@dataclass(frozen=True)
class TemplateEnvironment:
    """What an expression can read of the world outside its template."""

    pseudo: Mapping[str, str]  # AWS::Region and the like
    zones: Callable[[str], list[str]]  # the zones of a region
    imported: Callable[[str], str]  # the value of an export
    dynamic: Callable[[str, str], str]  # service, and the rest of {{resolve:service:rest}}


@dataclass
class Scope:
    """One evaluation: the template, the values of its parameters, and the resources so far."""

    template: Template
    parameters: Mapping[str, Any]
    surface: TemplateEnvironment
    ref: Callable[[str], Any]
    attribute: Callable[[str, str], Any]
    _conditions: dict[str, bool] = field(default_factory=dict)

    def value(self, expression: Any) -> Any:
        """The expression's value. Keys and elements that evaluate to AWS::NoValue are left out."""
        if isinstance(expression, list):
            values = [self.value(element) for element in expression]
            return [value for value in values if value is not NO_VALUE]
        if isinstance(expression, str):
            return _DYNAMIC.sub(lambda found: self.surface.dynamic(found[1], found[2]), expression)
        if not isinstance(expression, dict):
            return expression
        if len(expression) == 1:
            (name, argument), *_ = expression.items()
            if name in {"Ref", "Condition"} or name.startswith("Fn::"):
                return self._function(name, argument)
        members = {key: self.value(inner) for key, inner in expression.items()}
        return {key: value for key, value in members.items() if value is not NO_VALUE}

    def output(self, expression: Any) -> str:
        """The value of an output."""
        value = self.value(_stated(expression))
        if not isinstance(value, str):
            raise InvalidTemplate(NO_OUTPUT)
        return value

    def holds(self, condition: str) -> bool:
        """Whether a named condition holds."""
        if condition not in self._conditions:
            self._conditions[condition] = bool(self.value(self.template.conditions[condition]))
        return self._conditions[condition]

    def _function(self, name: str, argument: Any) -> Any:
        match name:
            case "Ref":
                return self._reference(argument)
            case "Condition":
                return self.holds(argument)
            case "Fn::If":
                condition, yes, no = argument
                return self.value(yes if self.holds(condition) else no)
            case "Fn::GetAtt":
                owner, attribute = argument if isinstance(argument, list) else argument.split(".", 1)
                return self.attribute(owner, self.value(attribute))
            case "Fn::Sub" | "Fn::Join":
                return self._substitute(argument) if name == "Fn::Sub" else self._joined(*argument)
            case _:
                plain = _FUNCTIONS.get(name)
                if plain is None:
                    raise InvalidTemplate(f"{name} is not known to the embedded cloud")
                return plain(self, self.value(argument))

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name in self.surface.pseudo:
            return self.surface.pseudo[name]
        if name in self.parameters:
            return self.parameters[name]
        return self.ref(name)

    def _substitute(self, argument: Any) -> str:
        text, names = argument if isinstance(argument, list) else (argument, {})
        given = self.value({name: _stated(value) for name, value in names.items()})

        def replaced(found: re.Match[str]) -> str:
            name = found[1].strip()
            value = given[name] if name in given else self._named(name)
            if not isinstance(value, str):
                raise InvalidTemplate(NO_SUB.format(name=name))
            return value

        return PLACEHOLDER.sub(replaced, text).replace("${!", "${")

    def _named(self, name: str) -> Any:
        owner, dot, attribute = name.partition(".")
        return self.attribute(owner, attribute) if dot else self._reference(name)

    def _joined(self, delimiter: str, parts: Any) -> str:
        texts = self.value([_stated(part) for part in parts] if isinstance(parts, list) else parts)
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InvalidTemplate(NO_JOIN)
        return delimiter.join(texts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _stated(expression: Any) -> Any:
    """A number or boolean that the template states is a text for CloudFormation; one that an attribute has is none."""
    return _text(expression) if isinstance(expression, bool | int | float) else expression


def _cidr(argument: list[Any]) -> list[str]:
    block, count, bits = [*argument, 8][:3]
    network = ipaddress.ip_network(block)
    subnets = network.subnets(new_prefix=network.max_prefixlen - int(bits))
    return [str(next(subnets)) for _ in range(int(count))]


def _found(scope: Scope, argument: list[Any]) -> Any:
    name, first, second, *rest = argument
    try:
        return scope.template.mappings[name][first][second]
    except KeyError:
        if rest and "DefaultValue" in rest[0]:
            return rest[0]["DefaultValue"]
        raise InvalidTemplate(f"the mapping {name} has no {first}, {second}") from None


_FUNCTIONS: dict[str, Callable[[Scope, Any], Any]] = {
    "Fn::Select": lambda _, a: a[1][int(a[0])],
    "Fn::Split": lambda _, a: a[1].split(a[0]),
    "Fn::Base64": lambda _, a: base64.b64encode(a.encode()).decode(),
    "Fn::Cidr": lambda _, a: _cidr(a),
    "Fn::GetAZs": lambda scope, a: scope.surface.zones(a or scope.surface.pseudo["AWS::Region"]),
    "Fn::FindInMap": _found,
    "Fn::ImportValue": lambda scope, a: scope.surface.imported(a),
    "Fn::ToJsonString": lambda _, a: json.dumps(a, separators=(",", ":")),
    "Fn::Length": lambda _, a: len(a),
    "Fn::Equals": lambda _, a: _text(a[0]) == _text(a[1]),
    "Fn::Not": lambda _, a: not a[0],
    "Fn::And": lambda _, a: all(a),
    "Fn::Or": lambda _, a: any(a),
    "Fn::Contains": lambda _, a: a[1] in a[0],
}
