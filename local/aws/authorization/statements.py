"""The text of a policy as statements.

Source: IAM user guide, "IAM JSON policy elements reference".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from local.aws.authorization.patterns import Variables, any_action, arn_matches


@dataclass(frozen=True)
class Statement:
    """`written` are its actions as written, `actions` the same in lower case; `resources` is None in a trust policy."""

    allows: bool
    written: tuple[str, ...]
    actions: tuple[str, ...]
    all_but_actions: bool
    resources: tuple[str, ...] | None
    all_but_resources: bool
    principals: Mapping[str, tuple[str, ...]] | None
    all_but_principals: bool
    condition: Mapping[str, Mapping[str, Any]] = field(compare=False)

    def concerns(self, action: str) -> bool:
        """Whether the statement is about an action, given in lower case."""
        return any_action(self.actions, action) != self.all_but_actions

    def covering(self, arn: str, variables: Variables) -> str | None:
        """The first of its resources that matches the ARN (or `*`); None if none does."""
        if self.resources is None:
            return "*"
        found = next((each for each in self.resources if _covers(each, arn, variables)), None)
        if self.all_but_resources:
            return "*" if found is None else None
        return found


@dataclass(frozen=True)
class Policy:
    """`name` is AWS's name in a list; `text` is the document."""

    name: str
    text: str

    def about(self, action: str) -> tuple[Statement, ...]:
        """The statements about an action, given in lower case."""
        return _about(self.text, action)

    def statements(self) -> tuple[Statement, ...]:
        return _parsed(self.text)


def _covers(pattern: str, arn: str, variables: Variables) -> bool:
    # A call without a resource is allowed only by a star.
    return pattern == "*" if arn == "*" else arn_matches(pattern, arn, variables)


@lru_cache(maxsize=20_000)
def _about(text: str, action: str) -> tuple[Statement, ...]:
    return tuple(statement for statement in _parsed(text) if statement.concerns(action))


@lru_cache(maxsize=2_000)
def _parsed(text: str) -> tuple[Statement, ...]:
    return tuple(_statement(each) for each in listed(json.loads(text).get("Statement", [])))


def _statement(document: Mapping[str, Any]) -> Statement:
    actions = tuple(str(each) for each in listed(document.get("Action", document.get("NotAction", []))))
    resources = document.get("Resource", document.get("NotResource"))
    principals = document.get("Principal", document.get("NotPrincipal"))
    return Statement(
        allows=document["Effect"] == "Allow",
        written=actions,
        actions=tuple(each.lower() for each in actions),
        all_but_actions="NotAction" in document,
        resources=None if resources is None else tuple(listed(resources)),
        all_but_resources="NotResource" in document,
        principals=None if principals is None else _principals(principals),
        all_but_principals="NotPrincipal" in document,
        condition=document.get("Condition") or {},
    )


def _principals(written: Any) -> dict[str, tuple[str, ...]]:
    if written == "*":
        return {"*": ("*",)}
    return {kind: tuple(listed(names)) for kind, names in written.items()}


def listed(value: Any) -> list[Any]:
    """One value or several, as a list."""
    return value if isinstance(value, list) else [value]
