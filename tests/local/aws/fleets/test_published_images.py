"""SSM names the images of EKS and Bottlerocket by the parameters that Karpenter reads, and EC2 has them.

Source of the names: karpenter-provider-aws 1.14.3, pkg/providers/amifamily (al2023.go, bottlerocket.go).
"""

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.fleets.fleet_lab import FleetLab

EKS = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"
BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-1.35"


def pinned(arch, variant, release="v20260724"):
    return f"{EKS}/{arch}/{variant}/amazon-eks-node-al2023-{arch}-{variant}-1.35-{release}/image_id"


def parameter(aws, name, role=""):
    return aws.call("ssm", "get_parameter", role=role, Name=name)["Parameter"]["Value"]


def image(aws, name):
    filters = [{"Name": "image-id", "Values": [parameter(aws, name)]}]
    [found] = aws.call("ec2", "describe_images", Filters=filters)["Images"]
    return found


@pytest.mark.parametrize(
    ("name", "architecture", "said"),
    [
        (pinned("x86_64", "standard"), "x86_64", "amazon-eks-node-al2023-x86_64-standard-1.35-v20260724"),
        (pinned("x86_64", "nvidia"), "x86_64", "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260724"),
        (pinned("arm64", "nvidia"), "arm64", "amazon-eks-node-al2023-arm64-nvidia-1.35-v20260724"),
        (f"{BOTTLEROCKET}/arm64/1.20.3/image_id", "arm64", "bottlerocket-aws-k8s-1.35-arm64-v1.20.3"),
        (
            f"{BOTTLEROCKET}-nvidia/x86_64/1.50.0/image_id",
            "x86_64",
            "bottlerocket-aws-k8s-1.35-nvidia-x86_64-v1.50.0",
        ),
    ],
)
def test_a_pinned_release_has_an_image(aws, name, architecture, said):
    found = image(aws, name)
    assert found["Architecture"] == architecture
    assert found["Name"] == said
    assert found["ImageOwnerAlias"] == "amazon"
    assert found["VirtualizationType"] == "hvm"


def test_a_newer_release_is_another_image_with_a_later_date(aws):
    old, new = (image(aws, pinned("x86_64", "nvidia", release)) for release in ("v20260701", "v20260724"))
    assert old["ImageId"] != new["ImageId"]
    assert old["CreationDate"] < new["CreationDate"]


def test_the_recommended_image_is_one_of_the_releases(aws):
    assert image(aws, f"{EKS}/x86_64/nvidia/recommended/image_id") == image(aws, pinned("x86_64", "nvidia"))


@pytest.mark.parametrize(
    "name",
    [
        pinned("x86_64", "nvidia", "v20261399"),
        pinned("x86_64", "nvidia", "2026"),
        pinned("arm64", "neuron"),
        f"{BOTTLEROCKET}/x86_64/newest/image_id",
    ],
)
def test_what_aws_does_not_publish_is_not_found(aws, name):
    with pytest.raises(ClientError, match="ParameterNotFound"):
        parameter(aws, name)


def test_an_image_is_found_by_its_owner_and_name(aws):
    parameter(aws, pinned("x86_64", "nvidia"))
    named = [{"Name": "name", "Values": ["amazon-eks-node-al2023-x86_64-nvidia-1.35-*"]}]
    [found] = aws.call("ec2", "describe_images", Owners=["self", "amazon"], Filters=named)["Images"]
    assert found["ImageId"] == parameter(aws, pinned("x86_64", "nvidia"))


def test_the_deep_learning_image_of_document_001_is_there(aws):
    named = [{"Name": "name", "Values": ["Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.8 *"]}]
    [found] = aws.call("ec2", "describe_images", Owners=["amazon"], Filters=named)["Images"]
    assert found["ImageId"] == "ami-00aec23bbe1278680"


def test_an_instance_has_the_architecture_of_its_image(aws):
    lab = FleetLab(aws)
    identity = parameter(aws, pinned("arm64", "nvidia"))
    lab.template("arm", ImageId=identity)
    overrides = {"InstanceType": "g5g.xlarge", "SubnetId": next(iter(lab.subnets.values()))}
    named = {"LaunchTemplateName": "arm", "Version": "$Latest"}
    fleet = lab.fleet(
        LaunchTemplateConfigs=[{"LaunchTemplateSpecification": named, "Overrides": [overrides]}]
    )
    assert lab.instance(fleet)["Architecture"] == "arm64"
    assert lab.instance(fleet)["ImageId"] == identity


def test_aws_s_parameters_belong_to_no_account(aws):
    reader = aws.role("reader", "logs:PutLogEvents")
    statement = (
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ssm:GetParameter",'
        ' "Resource": "arn:aws:ssm:ap-northeast-2::parameter/aws/service/*"}]}'
    )
    aws.call("iam", "put_role_policy", RoleName="reader", PolicyName="images", PolicyDocument=statement)
    assert parameter(aws, pinned("x86_64", "nvidia"), reader).startswith("ami-")
    with pytest.raises(ClientError, match=r"ssm:GetParameter"):
        parameter(aws, "/lab/own", reader)
