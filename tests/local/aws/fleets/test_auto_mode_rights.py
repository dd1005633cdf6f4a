"""Auto Mode launches with the cluster's role, and AWS's own policy holds it to its cluster by a tag of the session.

Source: AmazonEKSComputePolicy; EKS user guide, auto-cluster-iam-role.
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.fleets.fleet_lab import FleetLab

COMPUTE = "arn:aws:iam::aws:policy/AmazonEKSComputePolicy"
SESSION = (("eks:eks-cluster-name", "lab"),)
TAGS = {
    "eks:eks-cluster-name": "lab",
    "eks:kubernetes-node-pool-name": "lab-gpu",
    "eks:kubernetes-node-class-name": "lab-gpu",
}


@pytest.fixture
def lab(aws):
    aws.hold()
    lab = FleetLab(aws)
    aws.role("cluster")
    aws.call("iam", "attach_role_policy", RoleName="cluster", PolicyArn=COMPUTE)
    lab.template("auto", tags=TAGS)
    return lab


def launch(lab, session=SESSION, tags=TAGS):
    """CreateFleet by EKS in the role's name."""
    role = "arn:aws:iam::123456789012:role/cluster"
    return lab.fleet(template="auto", tags=tags, role=role, session_tags=session)


def test_a_session_of_the_cluster_launches_its_instances(lab):
    assert launch(lab)["Errors"] == []


def test_a_session_of_another_cluster_does_not(lab):
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        launch(lab, session=(("eks:eks-cluster-name", "other"),))
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        launch(lab, session=())


def test_a_denial_by_the_pool_s_tag_bars_that_pool_alone(lab):
    lock = {
        "Effect": "Deny",
        "Action": ["ec2:CreateFleet", "ec2:RunInstances"],
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:RequestTag/eks:kubernetes-node-pool-name": "lab-gpu"}},
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [lock]})
    lab.aws.call("iam", "put_role_policy", RoleName="cluster", PolicyName="lock", PolicyDocument=document)
    with pytest.raises(ClientError, match="explicit deny"):
        launch(lab)
    others = TAGS | {"eks:kubernetes-node-pool-name": "lab-other"}
    lab.aws.call("ec2", "delete_launch_template", LaunchTemplateName="auto")
    lab.template("auto", tags=others)
    assert launch(lab, tags=others)["Errors"] == []
