"""The state machine `<lab>-failsafe` as the controller's stack defines it, and the calls that its states make."""

import base64
import json
from typing import Any

from botocore.exceptions import ClientError

from lamplighter.lab.model import Lab
from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.execution import instant
from stacks.constructs.failsafe.definition import definition
from stacks.constructs.failsafe.ended_pool import ended_pools
from tests.world.aws import authority
from tests.world.aws.cluster import Cluster
from tests.world.aws.ec2 import Ec2
from tests.world.aws.roles import Roles
from tests.world.capacity.supply import Task
from tests.world.kubernetes.kubernetes import Kubernetes

Json = dict[str, Any]


def failsafe_of(lab: Lab) -> Json:
    """Its definition."""
    return dict(definition(lab.name, lab.cluster_name, ended_pools(lab)))


def tasks_of(eks: Cluster, ec2: Ec2, roles: Roles, kubernetes: Kubernetes) -> dict[str, Task]:
    """The calls, by the end of the resource's ARN."""

    def describe_cluster(given: Json) -> Json:
        found = eks.describe_cluster(name=given["Name"])["cluster"]
        return {
            "Cluster": {
                "Endpoint": found["endpoint"],
                "CertificateAuthority": {"Data": base64.b64encode(authority.pem()).decode()},
                "ResourcesVpcConfig": {"EndpointPublicAccess": True},
            }
        }

    def call(given: Json) -> Json:
        if kubernetes.health.unheard:
            raise StatesError("EKS.SdkClientException", "the API server is silent")
        query = given.get("QueryParameters", {})
        selected = {key: value[0] for key, value in query.items()}
        status, said = kubernetes.answer(given["Method"], given["Path"], given.get("RequestBody"), selected)
        if status >= 400:
            raise StatesError(f"EKS.{status}", str(said))
        return {"StatusCode": status}

    return {
        "aws-sdk:eks:describeCluster": _named("Eks", describe_cluster),
        "eks:call": call,
        "aws-sdk:ec2:describeInstances": _named(
            "Ec2", lambda given: _as_json(ec2.describe_instances(**given))
        ),
        "aws-sdk:ec2:describeTags": _named("Ec2", lambda given: ec2.describe_tags(**given)),
        "aws-sdk:ec2:terminateInstances": _named("Ec2", lambda given: ec2.terminate_instances(**given)),
        "aws-sdk:iam:putRolePolicy": _named("Iam", lambda given: roles.put_role_policy(**given)),
    }


def _as_json(found: Json) -> Json:
    """What Step Functions hands on: instants are texts."""
    written: Json = json.loads(json.dumps(found, default=instant))
    return written


def _named(service: str, act: Task) -> Task:
    """An error of AWS has the name of its service before its code."""

    def acts(given: Json) -> Json:
        try:
            return act(given)
        except ClientError as error:
            raise StatesError(f"{service}.{error.response['Error']['Code']}Exception", str(error)) from error

    return acts
