"""Karpenter's own release in a lab's cluster."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.infra.conftest import Assembly, Template
from tests.infra.node_pools.conftest import KARPENTER
from tests.infra.test_permissions import allowed, listed

CHART = "Custom::AWSCDK-EKS-HelmChart"


@pytest.fixture
def cluster(karpenter: Assembly) -> Template:
    return karpenter.template("gpu-lab-cluster")


def chart(cluster: Template, release: str) -> tuple[str, dict[str, Any]]:
    name = cluster.name(CHART, Release=release)
    return name, cluster.resources[name]["Properties"]


def test_no_check_finds_anything(
    karpenter: Assembly, mixed: Assembly, auto_mode: Assembly, adopted: Assembly
) -> None:
    assert [found for lab in (karpenter, mixed, auto_mode, adopted) for found in lab.violations()] == []


def test_both_charts_are_uploaded_and_the_definitions_come_first(cluster: Template) -> None:
    definitions, of_definitions = chart(cluster, "karpenter-crd")
    controller, of_controller = chart(cluster, "karpenter")

    for properties in (of_definitions, of_controller):
        assert properties["ChartAssetURL"]["Fn::Sub"].startswith("s3://")
        assert not properties.keys() & {"Repository", "Chart", "Version", "CreateNamespace"}
        assert (properties["Namespace"], properties["Wait"]) == ("kube-system", True)
    assert definitions in cluster.needs(controller)


def test_its_pods_find_nodes_names_and_their_role(cluster: Template) -> None:
    controller, _ = chart(cluster, "karpenter")
    needed = {cluster.resources[name]["Type"] for name in cluster.needs(controller)}
    add_ons = {
        cluster.resources[name]["Properties"]["AddonName"]
        for name in cluster.needs(controller)
        if cluster.resources[name]["Type"] == "AWS::EKS::Addon"
    }

    assert {"AWS::EKS::Nodegroup", "AWS::EKS::PodIdentityAssociation", "AWS::IAM::ManagedPolicy"} <= needed
    assert {"coredns", "eks-pod-identity-agent"} <= add_ons
    [association] = cluster.properties("AWS::EKS::PodIdentityAssociation")
    [of_cluster] = cluster.of_type("AWS::EKS::Cluster")
    assert association["ClusterName"] == {"Ref": of_cluster}, "it is made when the cluster is there"
    assert (association["Namespace"], association["ServiceAccount"]) == ("kube-system", "karpenter")


def test_the_agent_of_pod_identities_is_there_even_if_the_lab_names_other_add_ons(
    synthesise: Callable[..., Assembly],
) -> None:
    lab = {**KARPENTER, "cluster": {"karpenter": {}, "addons": ["vpc-cni", "coredns"]}}
    add_ons = synthesise(**lab).template("gpu-lab-cluster").properties("AWS::EKS::Addon")
    assert "eks-pod-identity-agent" in {each["AddonName"] for each in add_ons}


def test_its_settings_switch_static_nodepools_on_and_fit_the_system_nodes(cluster: Template) -> None:
    values = json.loads(chart(cluster, "karpenter")[1]["Values"])

    assert values["settings"] == {
        "clusterName": "gpu-lab",
        "interruptionQueue": "gpu-lab-karpenter",
        "eksControlPlane": True,
        "isolatedVPC": True,
        "featureGates": {"staticCapacity": True},
    }
    assert values["controller"]["resources"]["requests"] == {"cpu": "200m", "memory": "512Mi"}
    assert values["replicas"] == 2


def test_one_system_node_has_one_pod_of_it(synthesise: Callable[..., Assembly]) -> None:
    lab = {**KARPENTER, "cluster": {"karpenter": {}, "system_nodes": {"nodes": 1}}}
    cluster = synthesise(**lab).template("gpu-lab-cluster")
    assert json.loads(chart(cluster, "karpenter")[1]["Values"])["replicas"] == 1


def test_it_hears_of_instances_through_a_queue_that_only_takes_tls(cluster: Template) -> None:
    queue = cluster.one("AWS::SQS::Queue", QueueName="gpu-lab-karpenter")
    heard = {
        each["EventPattern"]["detail-type"][0]
        for each in cluster.properties("AWS::Events::Rule")
        if "SqsQueue" in str(each["Targets"]) or "Queue" in str(each["Targets"])
    }

    assert (queue["MessageRetentionPeriod"], queue["SqsManagedSseEnabled"]) == (300, True)
    assert heard == {
        "AWS Health Event",
        "EC2 Capacity Reservation Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "EC2 Spot Instance Interruption Warning",
    }
    [policy] = cluster.properties("AWS::SQS::QueuePolicy")
    [denied] = [one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Deny"]
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_its_role_is_that_of_its_service_account_in_this_cluster(cluster: Template) -> None:
    role = cluster.one("AWS::IAM::Role", RoleName="gpu-lab-ap-northeast-2-karpenter")
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    only = trust["Condition"]["StringEquals"]
    assert only["aws:RequestTag/kubernetes-service-account"] == "karpenter"
    assert "cluster/gpu-lab" in json.dumps(only["aws:RequestTag/eks-cluster-arn"])


def test_its_role_launches_only_with_the_cluster_s_tags_and_changes_no_identity(cluster: Template) -> None:
    may = allowed(cluster, "gpu-lab-ap-northeast-2-karpenter")

    assert {action for action in may if action.startswith("iam:")} == {"iam:PassRole"}
    [passing] = may["iam:PassRole"]
    assert "NodesOf" in json.dumps(passing["Resource"])
    for statement in may["ec2:TerminateInstances"] + may["ec2:CreateLaunchTemplate"]:
        assert statement["Condition"]["StringLike"].keys() in (
            {"aws:ResourceTag/karpenter.sh/nodepool"},
            {"aws:RequestTag/karpenter.sh/nodepool"},
        )
        assert "owned" in statement["Condition"]["StringEquals"].values()
    for statement in may["ec2:CreateFleet"]:
        instances = [one for one in listed(statement["Resource"]) if "instance/*" in json.dumps(one)]
        assert (
            not instances
            or statement["Condition"]["StringEquals"]["aws:RequestTag/eks:eks-cluster-name"] == "gpu-lab"
        )


def test_a_karpenter_that_runs_already_stays_as_it_is(synthesise: Callable[..., Assembly]) -> None:
    lab = {**KARPENTER, "cluster": {"karpenter": {"existing": True}}}
    cluster = synthesise(**lab).template("gpu-lab-cluster")

    assert {each["Release"] for each in cluster.properties(CHART)} == {"gpu-operator"}
    assert not cluster.of_type("AWS::SQS::Queue")
    assert not cluster.of_type("AWS::EKS::PodIdentityAssociation")
