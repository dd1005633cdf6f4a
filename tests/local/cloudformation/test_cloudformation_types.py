"""Resource types whose changes have rules of their own: in place, by a new version, or refused."""

import json

import pytest

from local.aws.cloudformation.registry import KINDS
from tests.local.aws.eks_lab import Lab
from tests.local.cloudformation.test_cloudformation import Stacks

TRUST = {"Version": "2012-10-17", "Statement": []}


@pytest.fixture
def stacks(aws):
    return Stacks(aws)


def policy(*actions: str) -> dict:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def template(instance_type: str) -> dict:
    data = {"InstanceType": instance_type}
    return {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}


def test_a_changed_launch_template_is_a_new_version_of_the_same(stacks):
    version = {"Version": {"Value": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}}}
    stacks.create({"Template": template("g5.xlarge")}, Outputs=version)
    before = stacks.physical()["Template"]
    stack = stacks.update({"Template": template("g5.2xlarge")}, Outputs=version)
    assert stacks.physical()["Template"] == before
    assert stack["Outputs"][0]["OutputValue"] == "2"


def test_a_role_loses_what_its_template_no_longer_gives(stacks):
    def role(**inline):
        policies = [{"PolicyName": name, "PolicyDocument": document} for name, document in inline.items()]
        properties = {"RoleName": "r", "AssumeRolePolicyDocument": TRUST, "Policies": policies}
        return {"Role": {"Type": "AWS::IAM::Role", "Properties": properties}}

    stacks.create(role(a=policy("sqs:*"), b=policy("sns:*")))
    assert stacks.update(role(b=policy("sns:Publish")))["StackStatus"] == "UPDATE_COMPLETE"
    assert stacks.aws.call("iam", "list_role_policies", RoleName="r")["PolicyNames"] == ["b"]
    found = stacks.aws.call("iam", "get_role_policy", RoleName="r", PolicyName="b")["PolicyDocument"]
    assert found["Statement"][0]["Action"] == ["sns:Publish"]
    assert stacks.delete() == "DELETE_COMPLETE"


def test_a_role_to_which_somebody_gave_a_policy_stays(stacks):
    stacks.create(
        {
            "Role": {
                "Type": "AWS::IAM::Role",
                "Properties": {"RoleName": "r", "AssumeRolePolicyDocument": TRUST},
            }
        }
    )
    document = json.dumps(policy("sqs:*"))
    stacks.aws.call("iam", "put_role_policy", RoleName="r", PolicyName="theirs", PolicyDocument=document)

    assert stacks.delete() == "DELETE_FAILED"

    stacks.aws.call("iam", "delete_role_policy", RoleName="r", PolicyName="theirs")
    assert stacks.delete() == "DELETE_COMPLETE"


def test_a_policy_of_awss_own_can_be_attached(stacks):
    arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    properties = {"AssumeRolePolicyDocument": TRUST, "ManagedPolicyArns": [arn]}
    stack = stacks.create({"Role": {"Type": "AWS::IAM::Role", "Properties": properties}})
    assert stack["StackStatus"] == "CREATE_COMPLETE"


def test_rules_of_a_security_group_follow_its_template(stacks):
    def group(*ports: int):
        rules = [{"IpProtocol": "tcp", "FromPort": p, "ToPort": p, "CidrIp": "10.0.0.0/8"} for p in ports]
        return {
            "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
            "Group": {
                "Type": "AWS::EC2::SecurityGroup",
                "Properties": {
                    "GroupDescription": "d",
                    "VpcId": {"Ref": "Vpc"},
                    "SecurityGroupIngress": rules,
                },
            },
        }

    stacks.create(group(443, 8443))
    stacks.update(group(8443, 9443))
    found = stacks.aws.call("ec2", "describe_security_groups", GroupIds=[stacks.physical()["Group"]])
    assert sorted(rule["FromPort"] for rule in found["SecurityGroups"][0]["IpPermissions"]) == [8443, 9443]


def test_a_function_changes_in_place_and_its_next_event_runs_the_new_code(stacks):
    def function(text: str) -> dict:
        properties = {
            "FunctionName": "f",
            "Runtime": "python3.13",
            "Handler": "index.handler",
            "Role": role,
            "Code": {"ZipFile": f"def handler(event, context): return '{text}'"},
        }
        return {"F": {"Type": "AWS::Lambda::Function", "Properties": properties}}

    role = stacks.aws.role("r")
    stacks.create(function("old"))
    assert stacks.aws.invoke("f") == ("old", None)
    stacks.update(function("new"))
    assert stacks.aws.invoke("f") == ("new", None)


def test_a_state_machine_changes_in_place(stacks):
    def machine(comment: str) -> dict:
        states = {"Done": {"Type": "Pass", "End": True}}
        definition = json.dumps({"Comment": comment, "StartAt": "Done", "States": states})
        properties = {"StateMachineName": "m", "RoleArn": role, "DefinitionString": definition}
        return {"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}}

    role = stacks.aws.role("r")
    stacks.create(machine("first"))
    arn = stacks.physical()["M"]
    stacks.update(machine("second"))
    assert stacks.physical()["M"] == arn
    found = stacks.aws.call("stepfunctions", "describe_state_machine", stateMachineArn=arn)
    assert json.loads(found["definition"])["Comment"] == "second"


class Group:
    """A node group on the cluster of eks_lab, from a template."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def resources(self, **more) -> dict:
        properties = {
            "ClusterName": "lab",
            "NodegroupName": "lab-ng-gpu",
            "NodeRole": self._lab.role,
            "Subnets": self._lab.subnets[:1],
            "ScalingConfig": {"MinSize": 0, "MaxSize": 2, "DesiredSize": 0},
            "LaunchTemplate": {"Id": self._lab.template, "Version": "1"},
            "AmiType": "AL2023_x86_64_NVIDIA",
            **more,
        }
        return {"Group": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}}


@pytest.fixture
def group(aws) -> Group:
    return Group(Lab(aws))


def test_a_rollback_takes_no_control_plane_back(stacks, aws):
    """EKS user guide, rollback-cluster: only a call to EKS does."""
    lab = Lab(aws, version="1.34")

    def resources(version: str, type_: str) -> dict:
        network = {"SubnetIds": lab.subnets[:2]}
        properties = {"Name": "own", "RoleArn": lab.role, "ResourcesVpcConfig": network, "Version": version}
        cluster = {"Type": "AWS::EKS::Cluster", "Properties": properties}
        group = Group(lab).resources(ClusterName={"Ref": "Cluster"}, InstanceTypes=[type_])
        del group["Group"]["Properties"]["LaunchTemplate"]
        return {"Cluster": cluster, **(group if type_ else {})}

    assert stacks.create(resources("1.34", ""))["StackStatus"] == "CREATE_COMPLETE"
    stack = stacks.update(resources("1.35", "m5.larg"))

    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "do not exist" in stacks.reasons()
    assert stacks.aws.call("eks", "describe_cluster", name="own")["cluster"]["version"] == "1.35"


def test_a_node_group_is_resized_in_place(stacks, group):
    stacks.create(group.resources())
    bigger = {"MinSize": 0, "MaxSize": 3, "DesiredSize": 0}
    assert stacks.update(group.resources(ScalingConfig=bigger))["StackStatus"] == "UPDATE_COMPLETE"
    found = stacks.aws.call("eks", "describe_nodegroup", clusterName="lab", nodegroupName="lab-ng-gpu")
    assert found["nodegroup"]["scalingConfig"]["maxSize"] == 3


def test_a_node_group_under_a_fixed_name_cannot_be_replaced(stacks, group):
    stacks.create(group.resources())
    stack = stacks.update(group.resources(AmiType="AL2023_x86_64_STANDARD"))
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "already exists" in stacks.reasons()


def test_version_and_other_changes_of_a_node_group_do_not_go_together(stacks, group):
    stacks.create(group.resources())
    stack = stacks.update(group.resources(Tags={"a": "b"}, Version="1.35"))
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot be combined with other updates" in stacks.reasons()


def test_a_launch_template_is_ahead_of_its_group_after_a_way_back(stacks, group):
    """aws-cloudformation/cloudformation-coverage-roadmap 1912: no version is taken away."""

    def resources(instance_type: str, **more) -> dict:
        latest = {"Id": {"Ref": "T"}, "Version": {"Fn::GetAtt": ["T", "LatestVersionNumber"]}}
        data = {"LaunchTemplateData": {"InstanceType": instance_type}}
        template = {"Type": "AWS::EC2::LaunchTemplate", "Properties": data}
        return {"T": template, **group.resources(LaunchTemplate=latest, **more)}

    stacks.create(resources("g5.xlarge"))
    both = stacks.update(resources("g5.2xlarge", Labels={"a": "b"}))
    assert both["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    labels_alone = stacks.update(resources("g5.xlarge", Labels={"a": "b"}))
    assert labels_alone["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot be combined with other updates" in stacks.reasons()
    found = stacks.aws.call("eks", "describe_nodegroup", clusterName="lab", nodegroupName="lab-ng-gpu")
    assert found["nodegroup"]["launchTemplate"]["version"] == "1"


def test_types_are_called_as_cloudformation_calls_them():
    assert all(name.startswith("AWS::") and name.count("::") == 2 for name in KINDS)
