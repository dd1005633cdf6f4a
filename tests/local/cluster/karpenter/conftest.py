"""Karpenter on the embedded cluster: its charts, its role and its queue, as a lab installs them."""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pytest

from local.aws.eks.pod_identity import AGENT
from local.aws.embedded import EmbeddedAws
from local.kubernetes.api import ApiError
from local.kubernetes.karpenter.controller import VERSION
from local.kubernetes.karpenter.controllers import IMAGE, Controllers
from stacks.charts.kept import karpenter_chart, karpenter_crd_chart
from tests.karpenter_program import controller_or_skip
from tests.local.cluster.lab import Lab, await_true
from tests.local.cluster.test_token_webhook import CLUSTER, REGION, cluster_of
from tests.local.conftest import Aws

RELEASE = ("karpenter", "--namespace", "kube-system")
PODS = "/api/v1/namespaces/kube-system/pods?labelSelector=app.kubernetes.io/name=karpenter"
ROLE = "lab-karpenter"
NODE_ROLE = "lab-karpenter-node"
#: What the controller calls with no pool and with one, without conditions.
ACTIONS = (
    *("ec2:Describe*", "ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags"),
    *("ec2:DeleteLaunchTemplate", "ec2:TerminateInstances", "eks:DescribeCluster", "ssm:GetParameter"),
    *("iam:GetInstanceProfile", "iam:CreateInstanceProfile", "iam:TagInstanceProfile", "iam:PassRole"),
    *("iam:AddRoleToInstanceProfile", "iam:ListInstanceProfiles"),
    *("iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"),
    *("sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"),
)


@dataclass
class Karpenter:
    """The installed controller, and everything that it works with."""

    aws: Aws
    lab: Lab
    controllers: Controllers

    def pods(self) -> list[dict]:
        return self.lab.kubernetes.get(PODS)["items"]

    def log(self) -> str:
        """What the controller of the newest pod has printed; "" before it runs."""
        pods = sorted(self.pods(), key=lambda one: one["metadata"]["creationTimestamp"])
        for pod in pods[-1:]:
            address = f"/api/v1/namespaces/kube-system/pods/{pod['metadata']['name']}/log"
            with suppress(ApiError):
                return self.lab.kubernetes.text(address)
        return ""

    def scale(self, replicas: int) -> None:
        address = "/apis/apps/v1/namespaces/kube-system/deployments/karpenter"
        self.lab.kubernetes.merge(address, {"spec": {"replicas": replicas}})

    def await_ready(self) -> None:
        def ready() -> bool:
            conditions = [one for pod in self.pods() for one in pod["status"].get("conditions", [])]
            return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

        await_true(ready, "a pod of Karpenter is ready")

    def may(self, *actions: str) -> None:
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self.aws.call("iam", "put_role_policy", RoleName=ROLE, PolicyName="may", PolicyDocument=document)


@pytest.fixture(scope="package")
def realtime(clock):
    """The lab's time flows as the machine's, because Karpenter has timers of its own."""
    controller_or_skip()
    clock.set_rate(1.0)
    clock.hurry(False)
    yield clock
    clock.hurry(True)


@pytest.fixture(scope="package")
def cloud(realtime, control_plane, seen_from_outside, tmp_path_factory):
    """The embedded AWS, with a cluster in which one role is the controller's and one its nodes'."""
    embedded = EmbeddedAws(realtime, tmp_path_factory.mktemp("aws"), REGION)
    embedded.start()
    authority = base64.b64encode(control_plane.ca_pem.encode()).decode()
    embedded.moto_additions.control_plane(seen_from_outside.endpoint, authority)
    aws = Aws(embedded)
    cluster_of(aws)
    _identity(aws)
    nodes = aws.role(NODE_ROLE)
    aws.call("eks", "create_access_entry", clusterName=CLUSTER, principalArn=nodes, type="EC2_LINUX")
    aws.call("sqs", "create_queue", QueueName=ROLE)
    yield aws
    embedded.stop()


@pytest.fixture(scope="package")
def controllers(cloud, control_plane, fleet, tmp_path_factory):
    """The real programs of Karpenter's pods."""
    started = Controllers(
        control_plane.admin(),
        control_plane.ca_pem,
        tmp_path_factory.mktemp("karpenter"),
        machine={
            "AWS_ENDPOINT_URL": cloud.embedded.endpoint,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "LAMPLIGHTER_INSTANT": str(cloud.clock.path),
        },
        credentials=partial(cloud.embedded.moto_additions.pod_identity.environment, CLUSTER),
    )
    fleet.run_real(IMAGE, started.start, lambda: started.starting)
    yield started
    started.stop()


@pytest.fixture(scope="package")
def karpenter(cloud, controllers, kubernetes, fleet, helm):
    """A cluster with one system node, and Karpenter from its two charts on it."""
    made = Karpenter(cloud, Lab(kubernetes, fleet, cloud.clock), controllers)
    made.may(*ACTIONS)
    machine = made.lab.system_node()
    install(helm)
    yield made
    helm("uninstall", *RELEASE, "--wait")
    made.lab.end(machine)


def install(helm) -> None:
    """The charts of the repository, the one with the CRDs first."""
    values = {
        "replicas": 1,
        "settings": {
            "clusterName": CLUSTER,
            "interruptionQueue": ROLE,
            "isolatedVPC": True,
            "featureGates": {"staticCapacity": True},
        },
        "controller": {"resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}},
    }
    for chart in (karpenter_crd_chart(VERSION), karpenter_chart(VERSION)):
        given = values if chart.name == "karpenter" else {}
        installed = helm(
            *("upgrade", "--install", chart.name, str(chart), "--namespace", "kube-system"),
            *("--wait", "--timeout", "4m"),
            values=given,
        )
        assert installed.returncode == 0, installed.stderr


def _identity(aws: Aws) -> None:
    """The controller's role, by the pod identity of its service account."""
    trust = {"Effect": "Allow", "Principal": {"Service": "pods.eks.amazonaws.com"}}
    trust["Action"] = ["sts:AssumeRole", "sts:TagSession"]
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = aws.call("iam", "create_role", RoleName=ROLE, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    aws.call("eks", "create_addon", clusterName=CLUSTER, addonName=AGENT)
    aws.call(
        "eks",
        "create_pod_identity_association",
        clusterName=CLUSTER,
        namespace="kube-system",
        serviceAccount="karpenter",
        roleArn=role,
    )
