"""What the calls that launch instances ask of IAM: each resource that the launch uses, and each that it creates.

A created resource has the request's tags of its own kind as values of aws:RequestTag; creating it with tags asks
ec2:CreateTags as well. Sources: EC2 user guide, "Grant permission to tag Amazon EC2 resources during creation"; Service
Authorization Reference, CreateFleet and RunInstances.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.aws.authorization import reference
from local.aws.authorization.state import State

Members = Mapping[str, Any]
Tags = Mapping[str, str]
Values = tuple[str, ...]

LAUNCHES = frozenset({"ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"})
EC2 = "ec2.amazonaws.com"
#: What every launch creates, and what a spot launch creates as well.
_CREATED, _SPOT_REQUEST = ("instance", "volume", "network-interface"), "spot-instances-request"


@dataclass(frozen=True)
class Need:
    """An action on one resource, with the condition values that only this resource has."""

    action: str
    resource: str
    said: Mapping[str, Values]


def needs(action: str, members: Members, state: State) -> Iterator[Need]:
    """Everything that the call needs; all of it must be allowed."""
    tags = tags_by_kind(members.get("TagSpecifications"))
    if action == "ec2:CreateLaunchTemplate":
        yield from _created(action, "launch-template", tags.get("launch-template", {}), state)
    elif action == "ec2:CreateFleet":
        yield from _created(action, "fleet", tags.get("fleet", {}), state)
        for config in members.get("LaunchTemplateConfigs") or []:
            for override in config.get("Overrides") or [{}]:
                yield from one_launch(
                    action, _merged(config["LaunchTemplateSpecification"], override, state), tags, state
                )
    else:
        yield from one_launch(
            action, _merged(members.get("LaunchTemplate") or {}, members, state), tags, state
        )


def one_launch(action: str, merged: Members, tags: Mapping[str, Tags], state: State) -> Iterator[Need]:
    """The needs of one instance. `merged` is the request over the data of its launch template; `Spot` marks a spot
    instance in it.
    """
    kinds = (reference.action(action) or reference.Action({}, frozenset())).resources
    created = [*_CREATED, *([_SPOT_REQUEST] if merged.get("Spot") else [])]
    asked = {
        kind: {**tags_by_kind(merged.get("TemplateTags")).get(kind, {}), **tags.get(kind, {})}
        for kind in created
    }
    for kind, resource in _used(merged, state):
        if kind in kinds:
            yield Need(action, resource, {})
    for kind, its in asked.items():
        if kind in kinds:
            yield from _created(action, kind, its, state)
    if action == "ec2:RunInstances":
        for role in state.profile_roles(merged.get("IamInstanceProfile") or {}):
            yield Need("iam:PassRole", role, {"iam:passedtoservice": (EC2,)})


def tags_by_kind(specifications: Any) -> dict[str, dict[str, str]]:
    """TagSpecifications by kind of resource."""
    return {
        each["ResourceType"]: {tag["Key"]: str(tag.get("Value") or "") for tag in each.get("Tags") or []}
        for each in specifications or []
    }


def requested(tags: Tags) -> dict[str, Values]:
    """The tags as values of aws:RequestTag and aws:TagKeys."""
    said: dict[str, Values] = {f"aws:requesttag/{key.lower()}": (value,) for key, value in tags.items()}
    return said | ({"aws:tagkeys": tuple(tags)} if tags else {})


def _created(action: str, kind: str, tags: Tags, state: State) -> Iterator[Need]:
    resource = f"arn:aws:ec2:{state.region}:{state.account}:{kind}/*"
    yield Need(action, resource, requested(tags))
    if tags:
        cause: dict[str, Values] = {"ec2:createaction": (action.partition(":")[2],)}
        yield Need("ec2:CreateTags", resource, {**requested(tags), **cause})


def _merged(named: Members, over: Members, state: State) -> Members:
    """The request over the template's data; the template's own id and tags under names that EC2 does not have."""
    found = state.launch_template(named) if named else None
    identity, data = found if found is not None else ("*" if named else "", {})
    # The tags of the request are given apart: they do not replace the template's.
    own = {key: value for key, value in over.items() if key != "TagSpecifications"}
    return {**data, **own, "TemplateId": identity, "TemplateTags": data.get("TagSpecifications")}


def _used(merged: Members, state: State) -> Iterator[tuple[str, str]]:
    """The kinds and ARNs of what the launch uses. An image belongs to no account in its ARN."""
    place = f"arn:aws:ec2:{state.region}:{state.account}"
    if merged.get("ImageId"):
        yield "image", f"arn:aws:ec2:{state.region}::image/{merged['ImageId']}"
    if merged["TemplateId"]:
        yield "launch-template", f"{place}:launch-template/{merged['TemplateId']}"
    interfaces = merged.get("NetworkInterfaces") or []
    subnets = [merged.get("SubnetId"), *(each.get("SubnetId") for each in interfaces)]
    groups = [
        *(merged.get("SecurityGroupIds") or []),
        *(g for each in interfaces for g in each.get("Groups") or []),
    ]
    for kind, names in (("subnet", subnets), ("security-group", groups)):
        for name in dict.fromkeys(each for each in names if each):
            yield kind, f"{place}:{kind}/{name}"
