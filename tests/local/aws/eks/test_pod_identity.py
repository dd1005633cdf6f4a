"""A pod gets the credentials of the role that its service account is associated with, if the role trusts EKS.

Source: EKS user guide, pod-id-role.
"""

import json

import boto3
import pytest

from local.aws.api.own_services import AwsError
from local.aws.eks.pod_identity import AGENT
from tests.local.aws.eks_lab import Lab

PODS = {"Service": "pods.eks.amazonaws.com"}
BOTH = ["sts:AssumeRole", "sts:TagSession"]


@pytest.fixture
def lab(aws):
    return Lab(aws)


def associated(lab, actions=BOTH, **condition):
    statement = {"Effect": "Allow", "Principal": PODS, "Action": actions}
    trust = {**statement, "Condition": condition} if condition else statement
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = lab.aws.call("iam", "create_role", RoleName="karpenter", AssumeRolePolicyDocument=document)[
        "Role"
    ]["Arn"]
    lab.aws.call(
        "eks",
        "create_pod_identity_association",
        clusterName="lab",
        namespace="kube-system",
        serviceAccount="karpenter",
        roleArn=role,
    )


def credentials(lab, service_account="karpenter"):
    return lab.moto_additions.pod_identity.credentials("lab", "kube-system", service_account, "karpenter-1")


def client(service, lab, given):
    return boto3.client(
        service,
        endpoint_url=lab.aws.embedded.endpoint,
        region_name="ap-northeast-2",
        aws_access_key_id=given.access_key_id,
        aws_secret_access_key=given.secret_access_key,
        aws_session_token=given.session_token,
    )


def test_the_credentials_are_those_of_the_role(lab):
    associated(lab, StringEquals={"aws:SourceAccount": "123456789012"})
    given = credentials(lab)
    caller = client("sts", lab, given).get_caller_identity()["Arn"]
    assert ":assumed-role/karpenter/eks-lab-karpenter-1" in caller


def test_a_service_account_without_an_association_gets_none(lab):
    associated(lab)
    with pytest.raises(AwsError, match="No pod identity association"):
        credentials(lab, "other")


def test_the_trust_policy_must_allow_the_session_s_tags_as_well(lab):
    associated(lab, ["sts:AssumeRole"])
    with pytest.raises(AwsError, match="sts:TagSession"):
        credentials(lab)


def test_another_account_s_cluster_is_not_trusted(lab):
    associated(lab, StringEquals={"aws:SourceAccount": "210987654321"})
    with pytest.raises(AwsError, match="does not allow"):
        credentials(lab)


def test_without_the_agent_a_pod_has_no_credentials(lab):
    associated(lab)
    identity = lab.moto_additions.pod_identity
    pod = ("lab", "kube-system", "karpenter", "karpenter-1")
    assert identity.environment(*pod) == {}

    lab.aws.call("eks", "create_addon", clusterName="lab", addonName=AGENT)

    assert set(identity.environment(*pod)) == {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
    }
    assert identity.environment("lab", "kube-system", "other", "other-1") == {}


def test_a_policy_may_ask_for_the_pod_s_tags(lab):
    """Source: EKS user guide, pod-id-abac."""
    associated(lab)
    statement = {
        "Effect": "Allow",
        "Action": "ec2:DescribeInstances",
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:PrincipalTag/kubernetes-namespace": "kube-system"}},
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    lab.aws.call("iam", "put_role_policy", RoleName="karpenter", PolicyName="may", PolicyDocument=document)
    assert client("ec2", lab, credentials(lab)).describe_instances()["Reservations"] == []


@pytest.mark.parametrize(("service_account", "given"), [("karpenter", True), ("another", False)])
def test_a_trust_can_name_the_service_account_and_the_cluster(lab, service_account, given):
    cluster = "arn:aws:eks:ap-northeast-2:123456789012:cluster/lab"
    tags = {"eks-cluster-arn": cluster, "kubernetes-service-account": service_account}
    associated(lab, StringEquals={f"aws:RequestTag/{key}": value for key, value in tags.items()})

    if given:
        assert credentials(lab).session_token
    else:
        with pytest.raises(AwsError, match="Trust policy"):
            credentials(lab)
