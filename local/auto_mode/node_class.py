"""What a NodeClass resolves to in EC2 and IAM, and its conditions. Auto Mode looks with the cluster's rights; here it
may look at everything.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from botocore.exceptions import ClientError

from local.auto_mode.conditions import condition
from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.kubernetes.api import Object

#: A prefix is a /28.
_OF_A_PREFIX = 16


@dataclass(frozen=True)
class Resolved:
    """Subnets are ids by zone. `profile` is the name of the instance profile, `role` the ARN of its role.

    `interfaces` are the network interfaces that the NodeClass describes, such as those with EFA.
    """

    name: str
    subnets: tuple[tuple[str, str], ...]
    security_groups: tuple[str, ...]
    profile: str
    role: str
    interfaces: tuple[Document, ...]
    tags: tuple[tuple[str, str], ...]

    @property
    def pod_addresses(self) -> int | None:
        """How many pods get an address on a node with described interfaces. To others EKS adds some as pods come."""
        if not self.interfaces:
            return None
        prefixes = sum(int(one.get("secondaryIPv4PrefixCount", 0)) for one in self.interfaces)
        return prefixes * _OF_A_PREFIX + sum(int(one.get("secondaryIPv4Count", 0)) for one in self.interfaces)


def resolve(
    context: ServiceContext, cluster: str, node_class: Object
) -> tuple[Resolved | None, list[Object]]:
    """The values, or None where something is missing; and the conditions, in either case."""
    spec, name = node_class["spec"], node_class["metadata"]["name"]
    subnets = tuple(
        (str(one["AvailabilityZone"]), str(one["SubnetId"]))
        for term in spec["subnetSelectorTerms"]
        for one in _selected(context, "describe_subnets", "Subnets", "subnet-id", term)
    )
    groups = tuple(
        str(one["GroupId"])
        for term in spec["securityGroupSelectorTerms"]
        for one in _selected(context, "describe_security_groups", "SecurityGroups", "group-id", term)
    )
    profile, role = _profile(context, cluster, spec)
    found = (("Subnets", subnets), ("SecurityGroups", groups), ("InstanceProfile", profile))
    conditions = [
        condition(f"{kind}Ready")
        if value
        else condition(f"{kind}Ready", "False", f"{kind}NotFound", f"{kind[0]}{kind[1:]} did not match any")
        for kind, value in found
    ]
    missing = [f"{kind}Ready" for kind, value in found if not value]
    if missing:
        said = ", ".join(f"{kind}=False" for kind in missing)
        return None, [*conditions, condition("Ready", "False", "UnhealthyDependents", said)]
    interfaces = (spec.get("advancedNetworking") or {}).get("networkInterfaces") or []
    resolved = Resolved(
        name=name,
        subnets=subnets,
        security_groups=tuple(dict.fromkeys(groups)),
        profile=profile,
        role=role,
        interfaces=tuple(interfaces),
        tags=tuple((spec.get("tags") or {}).items()),
    )
    return resolved, [*conditions, condition("Ready")]


def _selected(
    context: ServiceContext, operation: str, member: str, id_filter: str, term: Document
) -> Iterator[Document]:
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in (term.get("tags") or {}).items()]
    if term.get("id"):
        filters.append({"Name": id_filter, "Values": [term["id"]]})
    if term.get("name"):
        filters.append({"Name": "group-name", "Values": [term["name"]]})
    if filters:
        yield from context.call("ec2", operation, {"Filters": filters})[member]


def remove_profile(context: ServiceContext, cluster: str, role: str) -> None:
    """Removes the profile that EKS made for a role, as it does with the last NodeClass that names the role [est]."""
    named = {"InstanceProfileName": _profile_name(context, cluster, role)}
    with suppress(ClientError):
        context.call("iam", "remove_role_from_instance_profile", {**named, "RoleName": role})
        context.call("iam", "delete_instance_profile", named)


def _profile_name(context: ServiceContext, cluster: str, role: str) -> str:
    digest = hashlib.sha256(f"{cluster} {role}".encode()).hexdigest()[:20]
    return f"eks-{context.region}-{cluster}-{digest}"


def _profile(context: ServiceContext, cluster: str, spec: Document) -> tuple[str, str]:
    """The instance profile and the ARN of its role; EKS makes a profile for a role. Empty without the role."""
    named = spec.get("instanceProfile")
    try:
        if named:
            found = context.call("iam", "get_instance_profile", {"InstanceProfileName": named})
            return named, next((str(role["Arn"]) for role in found["InstanceProfile"]["Roles"]), "")
        role = str(context.call("iam", "get_role", {"RoleName": spec["role"]})["Role"]["Arn"])
    except ClientError:
        return "", ""
    name = _profile_name(context, cluster, spec["role"])
    try:
        context.call("iam", "create_instance_profile", {"InstanceProfileName": name})
        context.call(
            "iam", "add_role_to_instance_profile", {"InstanceProfileName": name, "RoleName": spec["role"]}
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "EntityAlreadyExists":
            raise
    return name, role
