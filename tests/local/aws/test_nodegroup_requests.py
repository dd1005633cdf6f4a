"""What EKS refuses of node groups of any image, and what stands in the launch template that it derives."""

import base64

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.eks_lab import GPU, SIZES, Lab

INVALID, REFUSED = "InvalidParameterException", "InvalidRequestException"
TYPE = {"instanceTypes": ["m5.large"], "launchTemplate": None}
CUSTOM = {"InstanceType": "m5.large", "ImageId": "ami-0123456789abcdef0"}


@pytest.fixture
def lab(aws):
    return Lab(aws)


def refused(call, **request):
    with pytest.raises(ClientError) as refusal:
        call(**request)
    return refusal.value.response["Error"]["Code"], refusal.value.response["Error"]["Message"]


def template(lab, data, name="other"):
    made = lab.aws.call("ec2", "create_launch_template", LaunchTemplateName=name, LaunchTemplateData=data)
    return {"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"}


#: What is asked for, the code and words of the refusal.
REFUSED_GROUPS: tuple[tuple[dict, str, str], ...] = (
    ({**TYPE, "amiType": "AL2023_x86_64_NVIDA"}, INVALID, "failed to satisfy constraint"),
    (
        {**TYPE, "amiType": "AL2_x86_64"},
        INVALID,
        "is only supported for kubernetes versions 1.32 or earlier",
    ),
    ({**TYPE, "amiType": "CUSTOM"}, INVALID, "must specify an image id in your launch template"),
    ({**TYPE, "version": "1.34"}, INVALID, "must be the version of the cluster, 1.35"),
    (
        {**TYPE, "amiType": "BOTTLEROCKET_ARM_64"},
        INVALID,
        "[m5.large] is not a valid instance type for requested amiType BOTTLEROCKET_ARM_64",
    ),
    (
        {**TYPE, "instanceTypes": ["t4g.medium"]},
        INVALID,
        "[t4g.medium] is not a valid instance type for requested amiType AL2023_x86_64_NVIDIA",
    ),
    ({**TYPE, "instanceTypes": ["m5.larg"]}, INVALID, "instance types do not exist: [m5.larg]"),
    ({"scalingConfig": {"minSize": 0, "maxSize": 2}}, INVALID, ""),
    ({"scalingConfig": {**SIZES, "desiredSize": 3}}, INVALID, ""),
    ({"scalingConfig": {**SIZES, "minSize": 1}}, INVALID, ""),
    ({"instanceTypes": ["g5.xlarge"]}, REFUSED, ""),
    ({"amiType": "AL2023_ARM_64_NVIDIA"}, REFUSED, "does not match the architecture 'arm64'"),
    ({"diskSize": 100}, REFUSED, "Disk size must be specified within the launch template."),
    ({"remoteAccess": {"ec2SshKey": "key"}}, REFUSED, "Remote access configuration"),
)


def test_a_group_that_eks_refuses(lab):
    for request, code, message in REFUSED_GROUPS:
        found = refused(lab.create, **request)
        assert (found[0], message in found[1]) == (code, True), (request, found)
    assert lab.aws.call("eks", "list_nodegroups", clusterName="lab")["nodegroups"] == []


#: The data of a template, what is asked for with it, the code and words of the refusal.
REFUSED_TEMPLATES: tuple[tuple[dict, dict, str, str], ...] = (
    (CUSTOM, {"amiType": "AL2023_x86_64_STANDARD"}, INVALID, "an AMI Type other than CUSTOM"),
    (CUSTOM, {"amiType": "CUSTOM", "version": "1.35"}, INVALID, "cannot specify a kubernetes version"),
    (CUSTOM, {"amiType": "CUSTOM", "releaseVersion": "1.35.4-20260714"}, INVALID, "a release version"),
    ({"IamInstanceProfile": {"Name": "nodes"}}, {}, REFUSED, "an IAM instance profile"),
    ({"InstanceInitiatedShutdownBehavior": "stop"}, {}, REFUSED, "a shutdown behavior"),
    ({"HibernationOptions": {"Configured": True}}, {}, REFUSED, "a hibernate behavior"),
    ({"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-1"}]}, {}, REFUSED, "subnets"),
    ({"UserData": base64.b64encode(b"#!/bin/bash\n").decode()}, {}, REFUSED, "MIME multipart format"),
)


def test_a_launch_template_that_eks_refuses(lab):
    for number, (data, request, code, message) in enumerate(REFUSED_TEMPLATES):
        named = template(lab, {"InstanceType": "m5.large", **data}, f"other-{number}")
        found = refused(lab.create, launchTemplate=named, **{"amiType": None, **request})
        assert (found[0], message in found[1]) == (code, True), (data, request, found)
    assert lab.aws.call("eks", "list_nodegroups", clusterName="lab")["nodegroups"] == []


def test_the_derived_template_has_the_image_and_the_merged_data(lab):
    lab.ready(amiType="AL2023_x86_64_NVIDIA", labels={"tier": "gpu"})
    [derived] = [one for one in derived_versions(lab) if one["VersionNumber"] == 1]
    data = derived["LaunchTemplateData"]
    [image] = lab.aws.call("ec2", "describe_images", ImageIds=[data["ImageId"]])["Images"]
    assert image["Name"] == "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260714"
    text = base64.b64decode(data["UserData"]).decode()
    assert "application/node.eks.aws" in text
    assert "tier=gpu" in text
    assert f"nodegroup-image={data['ImageId']}" in text

    # other labels act on nodes that come later: EKS writes another version
    lab.aws.call("eks", "update_nodegroup_config", **GPU, labels={"addOrUpdateLabels": {"tier": "two"}})
    newest = max(derived_versions(lab), key=lambda one: one["VersionNumber"])
    assert "tier=two" in base64.b64decode(newest["LaunchTemplateData"]["UserData"]).decode()


def test_into_the_data_of_a_custom_image_eks_writes_nothing(lab):
    given = base64.b64encode(b"#!/bin/bash\n/etc/eks/bootstrap.sh lab\n").decode()
    lab.ready(launchTemplate=template(lab, {**CUSTOM, "UserData": given}), amiType="CUSTOM")
    [derived] = derived_versions(lab)
    assert derived["LaunchTemplateData"]["UserData"] == given
    assert derived["LaunchTemplateData"]["ImageId"] == CUSTOM["ImageId"]
    assert (lab.nodegroup()["amiType"], lab.nodegroup()["releaseVersion"]) == ("CUSTOM", CUSTOM["ImageId"])

    # and its versions are its owner's
    update = lambda **more: lab.aws.call("eks", "update_nodegroup_version", **GPU, **more)  # noqa: E731
    assert "kubernetesVersion when using custom AMIs" in refused(update, version="1.35")[1]
    assert "releaseVersion when using custom AMIs" in refused(update, releaseVersion="1.35.4-20260714")[1]
    assert "Launch template details can't be null" in refused(update)[1]


def test_another_custom_image_is_of_the_version_of_the_cluster(aws):
    lab = Lab(aws, version="1.34")
    named = template(lab, CUSTOM)
    lab.ready(launchTemplate=named, amiType="CUSTOM")
    lab.finished(lab.aws.call("eks", "update_cluster_version", name="lab", version="1.35")["update"])
    assert lab.nodegroup()["version"] == "1.34"

    other = {**CUSTOM, "ImageId": "ami-0fedcba9876543210"}
    lab.aws.call(
        "ec2", "create_launch_template_version", LaunchTemplateId=named["id"], LaunchTemplateData=other
    )
    roll = lambda **more: lab.aws.call("eks", "update_nodegroup_version", **GPU, **more)  # noqa: E731
    rolled = roll(launchTemplate={**named, "version": "2"})["update"]
    lab.until(lambda: lab.update(rolled["id"])["status"] == "Successful")

    assert (lab.nodegroup()["version"], lab.nodegroup()["releaseVersion"]) == ("1.35", other["ImageId"])
    # and a group with an image of its owner cannot become one without
    plain = {"InstanceType": "m5.large"}
    lab.aws.call(
        "ec2", "create_launch_template_version", LaunchTemplateId=named["id"], LaunchTemplateData=plain
    )
    found = refused(roll, launchTemplate={**named, "version": "3"})
    assert "cannot switch between specifying an image id" in found[1]


def test_an_update_takes_the_newest_release_of_the_image_or_the_one_that_is_named(lab):
    lab.ready(amiType="AL2023_x86_64_NVIDIA")
    lab.moto_additions.nodegroups.newest_release = "20260801"
    assert lab.nodegroup()["releaseVersion"] == "1.35.4-20260714"

    for named, release in (({"releaseVersion": "1.35.4-20260724"}, "20260724"), ({}, "20260801")):
        update = lab.aws.call("eks", "update_nodegroup_version", **GPU, **named)["update"]
        lab.until(lambda update=update: lab.update(update["id"])["status"] == "Successful")

        assert {"type": "ReleaseVersion", "value": f"1.35.4-{release}"} in update["params"]
        assert lab.nodegroup()["releaseVersion"] == f"1.35.4-{release}"
        derived = max(derived_versions(lab), key=lambda one: one["VersionNumber"])["LaunchTemplateData"]
        [image] = lab.aws.call("ec2", "describe_images", ImageIds=[derived["ImageId"]])["Images"]
        assert image["Name"].endswith(f"-1.35-v{release}")


def test_a_release_that_eks_does_not_have_is_refused(lab):
    lab.ready(amiType="AL2023_x86_64_NVIDIA")
    update = lambda **more: lab.aws.call("eks", "update_nodegroup_version", **GPU, **more)  # noqa: E731
    for release in ("1.34.4-20260714", "1.35.4-20260801", "20260714", "latest"):
        wrong = f"Requested release version {release} is not valid for kubernetes version 1.35."
        assert refused(update, releaseVersion=release) == (INVALID, wrong)


def derived_versions(lab):
    named = lab.group()["LaunchTemplate"]["LaunchTemplateId"]
    found = lab.aws.call("ec2", "describe_launch_template_versions", LaunchTemplateId=named)
    return found["LaunchTemplateVersions"]


def test_a_control_plane_moves_one_minor_version_at_a_time(aws):
    lab = Lab(aws, version="1.32")
    update = lambda version: lab.aws.call("eks", "update_cluster_version", name="lab", version=version)  # noqa: E731
    assert refused(update, version="1.34")[0] == INVALID
    assert refused(update, version="1.31")[0] == INVALID
    begun = update("1.33")["update"]
    assert (lab.cluster()["status"], lab.cluster()["version"]) == ("UPDATING", "1.32")
    assert refused(update, version="1.33")[0] == "ResourceInUseException"
    lab.finished(begun)
    assert (lab.cluster()["status"], lab.cluster()["version"]) == ("ACTIVE", "1.33")


def test_nodes_may_be_three_versions_behind_and_no_more(aws):
    lab = Lab(aws, version="1.31")
    lab.ready()
    update = lambda version: lab.aws.call("eks", "update_cluster_version", name="lab", version=version)  # noqa: E731
    for version in ("1.32", "1.33", "1.34"):
        lab.finished(update(version)["update"])
    found = refused(update, version="1.35")
    assert found == (
        REFUSED,
        "Nodegroups lab-ng-gpu must be updated to match cluster version 1.34 before updating cluster version",
    )
    # a node is never newer than the control plane
    roll = lambda version: lab.aws.call("eks", "update_nodegroup_version", **GPU, version=version)  # noqa: E731
    assert "must not be newer" in refused(roll, version="1.35")[1]
    rolled = roll("1.34")["update"]
    lab.until(lambda: lab.update(rolled["id"])["status"] == "Successful")
    lab.finished(update("1.35")["update"])
    assert lab.cluster()["version"] == "1.35"


def test_windows_server_2025_begins_with_1_35(aws):
    lab = Lab(aws, version="1.34")
    code, message = refused(lab.create, **TYPE, amiType="WINDOWS_CORE_2025_x86_64")
    assert (code, "1.35 or later" in message) == (INVALID, True), message
    lab.create(**TYPE, amiType="WINDOWS_CORE_2022_x86_64")


def test_amazon_linux_2_ends_with_1_32(aws):
    lab = Lab(aws, version="1.32")
    lab.ready(amiType="AL2_x86_64_GPU")
    lab.finished(lab.aws.call("eks", "update_cluster_version", name="lab", version="1.33")["update"])
    roll = lambda **more: lab.aws.call("eks", "update_nodegroup_version", **GPU, **more)  # noqa: E731
    assert "AMI Type AL2_x86_64_GPU is only supported" in refused(roll, version="1.33")[1]
    assert lab.nodegroup()["version"] == "1.32"


def test_the_role_of_nodes_gets_an_access_entry_of_their_system(lab):
    entry = lambda: lab.aws.call(  # noqa: E731
        "eks", "describe_access_entry", clusterName="lab", principalArn=lab.role
    )["accessEntry"]
    lab.ready(amiType="WINDOWS_FULL_2022_x86_64", instanceTypes=["m5.large"], launchTemplate=None)
    assert (entry()["type"], entry()["username"]) == ("EC2_WINDOWS", "system:node:{{EC2PrivateDNSName}}")
    assert lab.nodegroup()["diskSize"] == 50

    # and it goes with the last group of the role
    lab.aws.call("eks", "delete_nodegroup", **GPU)
    lab.until(lambda: lab.aws.call("eks", "list_nodegroups", clusterName="lab")["nodegroups"] == [])
    assert lab.aws.call("eks", "list_access_entries", clusterName="lab")["accessEntries"] == []
