"""State that policies need and a call does not contain: ARNs with ids from AWS, tags, keys of tables.

It is read from the services themselves: moto's and our own.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from moto.awslambda.models import lambda_backends
from moto.dynamodb.models import dynamodb_backends
from moto.ec2.models import ec2_backends
from moto.events.models import events_backends
from moto.iam.models import iam_backends
from moto.logs.models import logs_backends
from moto.s3.models import s3_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.sns.models import sns_backends
from moto.sqs.models import sqs_backends

from local.aws.authorization.conditions import Unknown
from local.aws.authorization.statements import listed

Tags = Mapping[str, str]
#: The id that stands for a resource that does not exist.
NO_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Group:
    """An Auto Scaling group."""

    arn: str
    name: str
    tags: Tags
    instances: frozenset[str]


@dataclass
class State:
    """`groups` returns every Auto Scaling group; `nodegroups` maps (cluster, name) to (ARN, tags)."""

    account: str
    region: str
    now: Callable[[], float]
    groups: Callable[[], list[Group]] = list
    nodegroups: Callable[[], Mapping[tuple[str, str], tuple[str, Tags]]] = dict
    #: The tags of a cluster, a state machine or a schedule group, by ARN.
    tags_of_own: Callable[[str], Tags | None] = lambda _: None

    def group(self, *, name: str | None = None, instance: str | None = None) -> str:
        """The ARN of the group of that name, or of the group that the instance is in."""
        for group in self.groups():
            if group.name == name or instance in group.instances:
                return group.arn
        unknown = f"autoScalingGroup:{NO_ID}:autoScalingGroupName/{name or '*'}"
        return f"arn:aws:autoscaling:{self.region}:{self.account}:{unknown}"

    def nodegroup_id(self, cluster: str, name: str) -> str:
        """The last part of a node group's ARN."""
        arn, _ = self.nodegroups().get((cluster, name), (NO_ID, {}))
        return arn.rpartition("/")[2]

    def hash_key(self, table: str) -> str:
        """The name of a table's partition key. Raises Unknown for a table that does not exist."""
        found = dynamodb_backends[self.account][self.region].tables.get(table)
        if found is None:
            raise Unknown(f"the partition key of the table {table}")
        return str(found.hash_key_attr)

    def secret_name(self, name: str) -> str:
        """A secret's name with the six letters that AWS adds; unchanged if there is no such secret.

        A secret may be named by an ARN without these letters
        (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html).
        """
        for arn, secret in self._secrets().items():
            if name in (arn, arn.rpartition("-")[0], secret.name):
                return str(secret.arn).rpartition(":secret:")[2]
        return name.rpartition(":secret:")[2]

    def _secrets(self) -> Mapping[str, Any]:
        return {
            secret.arn: secret
            for secret in secretsmanager_backends[self.account][self.region].secrets.values()
        }

    def instance_type(self, arn: str) -> str | None:
        """The type of an instance; None for one that does not exist."""
        name = arn.rpartition("/")[2]
        for reservation in ec2_backends[self.account][self.region].reservations.values():
            for instance in reservation.instances:
                if instance.id == name:
                    return str(instance.instance_type)
        return None

    def launch_template(self, named: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
        """The id and the data of a launch template's version, named as in a request; None if there is none."""
        identity, name = named.get("LaunchTemplateId"), named.get("LaunchTemplateName")
        for template in ec2_backends[self.account][self.region].launch_templates.values():
            if identity == template.id or name == template.name:
                return template.id, template.get_version(named.get("Version") or "$Default").data
        return None

    def profile_roles(self, profile: Mapping[str, Any]) -> list[str]:
        """The ARNs of the roles in an instance profile, given by name or ARN."""
        return [
            role.arn
            for known in self._profiles()
            if profile.get("Name") == known.name or profile.get("Arn") == known.arn
            for role in known.roles
        ]

    def instance_profile(self, name: str, path: str | None = None) -> str:
        """The ARN of an instance profile; with a path, of one that a call creates."""
        made = f"arn:aws:iam::{self.account}:instance-profile{path or '/'}{name}"
        known = next((str(known.arn) for known in self._profiles() if known.name == name), made)
        return made if path else known

    def _profile_tags(self, arn: str) -> Tags:
        found = next((known for known in self._profiles() if known.arn == arn), None)
        return {} if found is None else {tag["Key"]: tag["Value"] for tag in found.tags}

    def _profiles(self) -> list[Any]:
        return list(iam_backends[self.account]["aws"].instance_profiles.values())

    def role_arn(self, name: str) -> str:
        """The ARN of a role that a call names without one."""
        if name.startswith("arn:"):
            return name
        roles = iam_backends[self.account]["aws"].roles.values()
        unknown = f"arn:aws:iam::{self.account}:role/{name}"
        return next((str(role.arn) for role in roles if role.name == name), unknown)

    def boundary(self, role: str) -> str:
        """The ARN of a role's permissions boundary; "" without one."""
        roles = iam_backends[self.account]["aws"].roles.values()
        return next((str(each.permissions_boundary_arn or "") for each in roles if each.name == role), "")

    def tags(self, arn: str) -> Tags:
        """The tags of a resource. Raises Unknown for a type whose tags are not read here."""
        _, _, service, _, _, rest = arn.split(":", 5)
        kind, _, name = rest.partition("/")
        if name == "*":
            return {}  # a resource that the call creates
        if service == "ec2":
            return {
                tag["key"]: tag["value"]
                for tag in ec2_backends[self.account][self.region].describe_tags({"resource-id": [name]})
            }
        if service == "autoscaling":
            return next((group.tags for group in self.groups() if group.arn == arn), {})
        if service == "eks" and kind == "nodegroup":
            return next((tags for known, tags in self.nodegroups().values() if known == arn), {})
        if service == "iam" and kind in ("role", "instance-profile"):
            return self.role_tags(arn) if kind == "role" else self._profile_tags(arn)
        found = self.tags_of_own(arn)
        if found is None:
            raise Unknown(f"the tags of {service} {kind}")
        return found

    def role_tags(self, arn: str) -> Tags:
        roles = iam_backends[self.account]["aws"].roles.values()
        role = next((each for each in roles if each.arn == arn), None)
        return {} if role is None else {tag["Key"]: tag["Value"] for tag in role.tags or []}

    def sources_of_dead_letters(self, arn: str) -> list[str]:
        """The queues whose dead letters come into a queue."""
        queues = sqs_backends[self.account][self.region].queues.values()
        return [
            each.queue_arn for each in queues if (dead := each.dead_letter_queue) and dead.queue_arn == arn
        ]

    def policy(self, arn: str) -> Any | None:
        """The resource's own policy, as a document or its text; None if it has none."""
        _, _, service, _, _, name = arn.split(":", 5)
        reader = _POLICIES.get(service)
        return None if reader is None else reader(self, arn, name)


def _of_topic(state: State, arn: str, _: str) -> Any | None:
    topic = sns_backends[state.account][state.region].topics.get(arn)
    return None if topic is None else topic._policy_json  # noqa: SLF001 (its text costs more)


def _of_queue(state: State, _: str, name: str) -> Any | None:
    queue = sqs_backends[state.account][state.region].queues.get(name)
    return None if queue is None else queue._policy_json  # noqa: SLF001 (its text costs more)


def _of_bucket(state: State, _: str, name: str) -> Any | None:
    bucket = s3_backends[state.account]["aws"].buckets.get(name.partition("/")[0])
    if bucket is None or not bucket.policy:
        return None
    return bucket.policy.decode() if isinstance(bucket.policy, bytes) else bucket.policy


def _of_function(state: State, _: str, name: str) -> Any | None:
    plain = ":".join(name.split(":")[:2]).removeprefix("function:")
    functions = lambda_backends[state.account][state.region]._lambdas._functions  # noqa: SLF001
    known = functions.get(plain)
    return {"Statement": known["latest"].policy.statements} if known else None


def _of_secret(state: State, arn: str, _: str) -> Any | None:
    secret = state._secrets().get(arn)  # noqa: SLF001
    return None if secret is None else secret.policy


def _of_bus(state: State, _: str, name: str) -> Any | None:
    """The policy of a bus covers its rules as well.

    Source: EventBridge user guide, "Permissions for Amazon EventBridge event buses".
    """
    kind, _slash, rest = name.partition("/")
    if kind not in ("event-bus", "rule"):
        return None
    named = rest if kind == "event-bus" else rest.rpartition("/")[0] or "default"
    bus = events_backends[state.account][state.region].event_buses.get(named)
    return None if bus is None else bus.policy


def _of_log_group(state: State, _: str, __: str) -> Any | None:
    """All resource policies of CloudWatch Logs in the account. Each names its log groups."""
    policies = logs_backends[state.account][state.region].resource_policies.values()
    documents = [json.loads(policy.policy_document) for policy in policies]
    return {"Statement": [each for document in documents for each in listed(document["Statement"])]}


_POLICIES: dict[str, Callable[[State, str, str], Any | None]] = {
    "sns": _of_topic,
    "sqs": _of_queue,
    "s3": _of_bucket,
    "lambda": _of_function,
    "secretsmanager": _of_secret,
    "events": _of_bus,
    "logs": _of_log_group,
}
