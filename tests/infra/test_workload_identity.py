"""Where the add-ons' AWS rights are: on the nodes' role as the document has it, or with their own pods alone."""

import json
from collections.abc import Callable

import pytest

from stacks.constructs.cluster.workload_identity import WORKLOADS
from tests.infra.conftest import Assembly, Template
from tests.infra.test_permissions import listed

ARN = {
    "Fn::Join": [
        "",
        [
            "arn:",
            {"Ref": "AWS::Partition"},
            ":eks:ap-northeast-2:",
            {"Ref": "AWS::AccountId"},
            ":cluster/gpu-lab",
        ],
    ]
}
OF_THE_DOCUMENT = {f"gpu-lab-ap-northeast-2-{workload.policy}" for workload in WORKLOADS}


@pytest.fixture
def pods(synthesise: Callable[..., Assembly]) -> Template:
    return synthesise(cluster={"workload_identity": "pod"}).template("gpu-lab-cluster")


def given_to(template: Template, role: dict[str, object]) -> set[str]:
    """The names of our own policies that a role has; the one without a name only denies."""
    found = json.dumps(role.get("ManagedPolicyArns", []))
    return {
        str(resource["Properties"]["ManagedPolicyName"])
        for name, resource in template.of_type("AWS::IAM::ManagedPolicy").items()
        if f'"{name}"' in found and "ManagedPolicyName" in resource["Properties"]
    }


def test_the_nodes_have_the_document_s_policies_unless_pods_have_them(
    cluster: Template, pods: Template
) -> None:
    assert given_to(cluster, cluster.node_role("gpu-lab-ng-1")) == OF_THE_DOCUMENT
    assert not cluster.of_type("AWS::EKS::PodIdentityAssociation")
    assert given_to(pods, pods.node_role("gpu-lab-ng-1")) == set()


def test_each_service_account_has_a_role_that_nobody_else_may_take(pods: Template) -> None:
    associations = pods.properties("AWS::EKS::PodIdentityAssociation")
    assert {(each["Namespace"], each["ServiceAccount"]) for each in associations} == {
        (workload.namespace, workload.service_account) for workload in WORKLOADS
    }
    for each, workload in zip(associations, WORKLOADS, strict=True):
        name = each["RoleArn"]["Fn::GetAtt"][0]
        role = pods.resources[name]["Properties"]
        assert given_to(pods, role) == {f"gpu-lab-ap-northeast-2-{workload.policy}"}
        trust = role["AssumeRolePolicyDocument"]["Statement"]
        assert {action for statement in trust for action in listed(statement["Action"])} == {
            "sts:AssumeRole",
            "sts:TagSession",
        }
        for statement in trust:
            assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
            assert statement["Condition"]["StringEquals"] == {
                "aws:RequestTag/eks-cluster-arn": ARN,
                "aws:RequestTag/kubernetes-namespace": workload.namespace,
                "aws:RequestTag/kubernetes-service-account": workload.service_account,
            }
        denied = [
            action
            for policy, resource in pods.of_type("AWS::IAM::ManagedPolicy").items()
            if {"Ref": policy} in role["ManagedPolicyArns"]
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
            for action in listed(statement["Action"])
        ]
        assert "autoscaling:*" in denied


def test_metadata_ends_at_the_node_and_no_add_on_starts_before_its_rights(pods: Template) -> None:
    hops = [
        each["LaunchTemplateData"]["MetadataOptions"]["HttpPutResponseHopLimit"]
        for each in pods.properties("AWS::EC2::LaunchTemplate")
    ]
    assert hops == [1, 1]
    dns = pods.name("AWS::EKS::Addon", AddonName="external-dns")
    assert set(pods.of_type("AWS::EKS::PodIdentityAssociation")) <= pods.needs(dns)
