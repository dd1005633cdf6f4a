"""A launch is judged resource by resource, with the tags that each resource will have.

The statements follow Karpenter's published policies for 1.14 (website, getting started, cloudformation.yaml). Source of
the errors' form: kubernetes-sigs/karpenter 2813 (the call fails), aws/karpenter-provider-aws 7370 (an error of the
fleet).
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.fleets.fleet_lab import CLUSTER, POOL, TAGS, FleetLab, listed

EC2 = "arn:aws:ec2:ap-northeast-2:123456789012"
OWNED = f"kubernetes.io/cluster/{CLUSTER}"
REQUESTED = {
    "StringEquals": {f"aws:RequestTag/{OWNED}": "owned", "aws:RequestTag/eks:eks-cluster-name": CLUSTER},
    "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"},
}
OF_RESOURCE = {
    "StringEquals": {f"aws:ResourceTag/{OWNED}": "owned"},
    "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
}
CREATED = [
    f"{EC2}:{kind}/*" for kind in ("fleet", "instance", "volume", "network-interface", "launch-template")
]
LAUNCH = ["ec2:RunInstances", "ec2:CreateFleet"]


def allow(actions, resources, **condition):
    statement = {"Effect": "Allow", "Action": actions, "Resource": resources}
    return {**statement, "Condition": condition} if condition else statement


USED = allow(LAUNCH, ["arn:aws:ec2:ap-northeast-2::image/*", f"{EC2}:security-group/*", f"{EC2}:subnet/*"])
TEMPLATES = allow(LAUNCH, f"{EC2}:launch-template/*", **OF_RESOURCE)
MADE = allow([*LAUNCH, "ec2:CreateLaunchTemplate"], CREATED, **REQUESTED)
CREATE_ACTION = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
TAGGED = allow(
    "ec2:CreateTags",
    CREATED,
    StringEquals=REQUESTED["StringEquals"] | CREATE_ACTION,
    StringLike=REQUESTED["StringLike"],
)
DELETED = allow(
    ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
    [f"{EC2}:instance/*", f"{EC2}:launch-template/*"],
    **OF_RESOURCE,
)
LATER_TAGS = allow(
    "ec2:CreateTags",
    f"{EC2}:instance/*",
    **OF_RESOURCE,
    **{
        "ForAllValues:StringEquals": {
            "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
        }
    },
)
PASS = allow(
    "iam:PassRole",
    "arn:aws:iam::123456789012:role/nodes",
    StringEquals={"iam:PassedToService": ["ec2.amazonaws.com"]},
)
ALL = (USED, TEMPLATES, MADE, TAGGED, DELETED, LATER_TAGS, PASS)
LOCK = {
    "Effect": "Deny",
    "Action": ["ec2:CreateFleet", "ec2:RunInstances"],
    "Resource": "*",
    "Condition": {"StringEquals": {"aws:RequestTag/karpenter.sh/nodepool": POOL}},
}


@pytest.fixture
def lab(aws):
    aws.hold()
    return FleetLab(aws)


def put(lab, name, *statements):
    document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
    lab.aws.call("iam", "put_role_policy", RoleName="karpenter", PolicyName=name, PolicyDocument=document)


@pytest.fixture
def karpenter(lab):
    arn = lab.aws.role("karpenter")
    put(lab, "may", *ALL)
    return arn


def refused(lab, role, **more):
    with pytest.raises(ClientError) as error:
        lab.fleet(role=role, **more)
    assert error.value.response["Error"]["Code"] == "UnauthorizedOperation"
    return error.value.response["Error"]["Message"]


def test_karpenter_s_policies_allow_its_calls(lab, karpenter):
    lab.template("karpenter.k8s.aws/2", role=karpenter)
    fleet = lab.fleet(role=karpenter, template="karpenter.k8s.aws/2")
    assert fleet["Errors"] == []
    [identity] = fleet["Instances"][0]["InstanceIds"]
    names = {"Name": "node", "karpenter.sh/nodeclaim": "lab-gpu-x1"}
    lab.aws.call("ec2", "create_tags", role=karpenter, Resources=[identity], Tags=listed(names))
    lab.aws.call("ec2", "terminate_instances", role=karpenter, InstanceIds=[identity])
    lab.aws.call("ec2", "delete_launch_template", role=karpenter, LaunchTemplateName="karpenter.k8s.aws/2")


def test_a_dry_run_of_each_launching_call_tells_whether_it_is_allowed(lab, karpenter):
    of_instance = [{"ResourceType": kind, "Tags": listed(TAGS)} for kind in ("instance", "volume")]
    run = {
        "MinCount": 1,
        "MaxCount": 1,
        "LaunchTemplate": {"LaunchTemplateName": "karpenter.k8s.aws/1", "Version": "$Latest"},
        "InstanceType": "g5.xlarge",
        "SubnetId": next(iter(lab.subnets.values())),
        "TagSpecifications": of_instance,
        "DryRun": True,
    }
    with pytest.raises(ClientError, match="DryRunOperation"):
        lab.aws.call("ec2", "run_instances", role=karpenter, **run)
    with pytest.raises(ClientError, match="DryRunOperation"):
        lab.fleet(role=karpenter, DryRun=True)
    with pytest.raises(ClientError, match="DryRunOperation"):
        lab.template("other", role=karpenter, dry_run=True)

    put(lab, "lock", LOCK)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        lab.aws.call("ec2", "run_instances", role=karpenter, **run)
    assert "explicit deny" in refused(lab, karpenter, DryRun=True)


def test_the_lock_of_a_pool_refuses_its_fleets_and_no_others(lab, karpenter):
    put(lab, "lock", LOCK)
    said = refused(lab, karpenter)
    assert "is not authorized to perform: ec2:CreateFleet" in said
    assert "with an explicit deny in an identity-based policy" in said
    assert lab.aws.call("ec2", "describe_instances")["Reservations"] == []

    others = TAGS | {"karpenter.sh/nodepool": "lab-other"}
    lab.template("karpenter.k8s.aws/other", tags=others)
    assert lab.fleet(role=karpenter, tags=others, template="karpenter.k8s.aws/other")["Errors"] == []
    lab.aws.call("iam", "delete_role_policy", RoleName="karpenter", PolicyName="lock")
    assert lab.fleet(role=karpenter)["Errors"] == []


def test_a_denial_of_run_instances_is_an_error_of_the_fleet(lab, karpenter):
    put(lab, "lock", {**LOCK, "Action": "ec2:RunInstances"})
    fleet = lab.fleet(role=karpenter)
    assert fleet["Instances"] == []
    assert {each["ErrorCode"] for each in fleet["Errors"]} == {"UnauthorizedOperation"}
    assert "is not authorized to perform: ec2:RunInstances" in fleet["Errors"][0]["ErrorMessage"]


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (USED, ":subnet/"),
        (TEMPLATES, ":launch-template/"),
        (MADE, ":fleet/*"),
        (TAGGED, "ec2:CreateTags"),
    ],
)
def test_every_resource_of_a_fleet_must_be_allowed(lab, karpenter, missing, named):
    put(lab, "may", *(each for each in ALL if each is not missing))
    said = refused(lab, karpenter)
    assert named in said or (missing is USED and "image/" in said)


def test_a_fleet_without_the_tags_of_the_cluster_is_refused(lab, karpenter):
    assert ":fleet/*" in refused(lab, karpenter, tags={"Name": "gpu"})


def test_a_role_that_the_caller_may_not_pass_is_an_error_of_the_fleet(lab, karpenter):
    put(lab, "may", *(each for each in ALL if each is not PASS))
    fleet = lab.fleet(role=karpenter)
    assert "iam:PassRole" in fleet["Errors"][0]["ErrorMessage"]


def test_a_spot_launch_needs_the_spot_request_as_well(lab, karpenter):
    assert "spot-instances-request/*" in lab.fleet(role=karpenter, spot=True)["Errors"][0]["ErrorMessage"]
    requests = f"{EC2}:spot-instances-request/*"
    put(lab, "spot", allow("ec2:RunInstances", requests))
    assert lab.fleet(role=karpenter, spot=True)["Errors"] == []


def test_a_strange_instance_is_not_ended_nor_tagged(lab, karpenter):
    fleet = lab.fleet(tags={"Name": "another"})
    [identity] = fleet["Instances"][0]["InstanceIds"]
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        lab.aws.call("ec2", "terminate_instances", role=karpenter, InstanceIds=[identity])
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        lab.aws.call("ec2", "create_tags", role=karpenter, Resources=[identity], Tags=listed({"Name": "x"}))


def test_an_own_instance_takes_only_the_tags_of_the_policy(lab, karpenter):
    [identity] = lab.fleet()["Instances"][0]["InstanceIds"]
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        lab.aws.call("ec2", "create_tags", role=karpenter, Resources=[identity], Tags=listed({"owner": "x"}))


def test_instance_profiles_are_scoped_by_their_tags(lab):
    tags = {OWNED: "owned", "topology.kubernetes.io/region": "ap-northeast-2"}
    profiles = "arn:aws:iam::123456789012:instance-profile/*"
    role = lab.aws.role("karpenter")
    put(
        lab,
        "may",
        allow("iam:CreateInstanceProfile", profiles, StringEquals={f"aws:RequestTag/{OWNED}": "owned"}),
        allow(
            [
                "iam:AddRoleToInstanceProfile",
                "iam:RemoveRoleFromInstanceProfile",
                "iam:DeleteInstanceProfile",
            ],
            profiles,
            StringEquals={f"aws:ResourceTag/{OWNED}": "owned"},
        ),
        allow("iam:GetInstanceProfile", profiles),
        PASS,
    )

    def call(operation, name="lab_1", **more):
        return lab.aws.call("iam", operation, role=role, InstanceProfileName=name, **more)

    with pytest.raises(ClientError, match="iam:CreateInstanceProfile"):
        call("create_instance_profile", "lab_0")
    call("create_instance_profile", Tags=listed(tags), Path="/karpenter/lab/")
    found = lab.aws.call("iam", "list_instance_profiles", PathPrefix="/karpenter/lab/")["InstanceProfiles"]
    assert [each["InstanceProfileName"] for each in found] == ["lab_1"]
    call("add_role_to_instance_profile", RoleName="nodes")
    assert call("get_instance_profile")["InstanceProfile"]["Roles"][0]["RoleName"] == "nodes"
    with pytest.raises(ClientError, match="iam:RemoveRoleFromInstanceProfile"):
        call("remove_role_from_instance_profile", "nodes", RoleName="nodes")
    call("remove_role_from_instance_profile", RoleName="nodes")
    call("delete_instance_profile")


def test_a_role_that_may_not_be_passed_is_not_put_into_a_profile(lab):
    role = lab.aws.role("karpenter")
    put(lab, "may", allow("iam:AddRoleToInstanceProfile", "*"))
    lab.aws.call("iam", "create_instance_profile", InstanceProfileName="other")
    with pytest.raises(ClientError, match=r"iam:PassRole on resource: arn:aws:iam::123456789012:role/nodes"):
        lab.aws.call(
            "iam", "add_role_to_instance_profile", role=role, InstanceProfileName="other", RoleName="nodes"
        )


def test_a_policy_may_ask_for_the_boundary_of_the_role_that_is_changed(lab):
    """Source: IAM user guide, "Delegating responsibility to others using permissions boundaries"."""
    boundary = "arn:aws:iam::aws:policy/ReadOnlyAccess"
    failsafe = lab.aws.role("failsafe")
    target = lab.aws.role("karpenter")
    rights = allow("iam:PutRolePolicy", target, StringEquals={"iam:PermissionsBoundary": boundary})
    document = json.dumps({"Version": "2012-10-17", "Statement": [rights]})
    lab.aws.call("iam", "put_role_policy", RoleName="failsafe", PolicyName="lock", PolicyDocument=document)

    lock = {"RoleName": "karpenter", "PolicyName": "lock", "PolicyDocument": document}
    with pytest.raises(ClientError, match="iam:PutRolePolicy"):
        lab.aws.call("iam", "put_role_policy", role=failsafe, **lock)
    lab.aws.call("iam", "put_role_permissions_boundary", RoleName="karpenter", PermissionsBoundary=boundary)
    lab.aws.call("iam", "put_role_policy", role=failsafe, **lock)
