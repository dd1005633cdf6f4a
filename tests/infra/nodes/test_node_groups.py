"""Node groups in the templates: what EKS and EC2 are sent, what Windows needs, and who may read the groups."""

import json
from collections.abc import Callable
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from lamplighter.application.deploy.node_group import edit as deploy_edit
from tests.infra.conftest import Assembly, Template
from tests.infra.nodes.deployed import group, launch_template

#: These keys hold names of the user's, which EKS takes as they are.
BY_NAME = ("Labels", "Tags")


def names(cluster: Template) -> list[str]:
    return [each["NodegroupName"] for each in cluster.properties("AWS::EKS::Nodegroup")]


def of_the_api(value: Any) -> Any:
    """CloudFormation's properties by the names of EKS's API."""
    if isinstance(value, dict):
        return {
            key[:1].lower() + key[1:]: inner if key in BY_NAME else of_the_api(inner)
            for key, inner in value.items()
        }
    return [of_the_api(inner) for inner in value] if isinstance(value, list) else value


def complaints(service: str, operation: str, parameters: dict[str, Any]) -> str:
    model = botocore.session.get_session().get_service_model(service)
    shape = model.operation_model(operation).input_shape
    assert shape is not None
    report: str = ParamValidator().validate(parameters, shape).generate_report()
    return report


def test_ec2_and_eks_take_every_group(every_image: Template) -> None:
    for name in names(every_image):
        asked = of_the_api(group(every_image, name))
        del asked["forceUpdateEnabled"]  # of updates only
        assert complaints("eks", "CreateNodegroup", asked) == ""
        data = launch_template(every_image, name)
        template = {"LaunchTemplateName": "x", "LaunchTemplateData": data}
        assert complaints("ec2", "CreateLaunchTemplate", template) == ""
    assert complaints("eks", "CreateNodegroup", {"clusterName": 1}) != ""


def test_a_group_has_an_image_type_of_eks_or_an_image_of_the_user_s(every_image: Template) -> None:
    """EKS refuses a type, a version or a release beside an image (EKS user guide, limits of an AMI id)."""
    for name in names(every_image):
        own = "-own" in name
        keys = group(every_image, name).keys()
        assert own == ("ImageId" in launch_template(every_image, name))
        assert own != ("AmiType" in keys)
        assert own != ("Version" in keys)
        assert "ReleaseVersion" not in keys


def test_taints_are_put_on_by_one_of_the_two_and_labels_by_eks(every_image: Template) -> None:
    """EKS would taint a node with an image of the user's after pods have come."""
    of_eks, own = group(every_image, "gpu-lab-rocket"), group(every_image, "gpu-lab-own-rocket")
    assert of_eks["Taints"] == [{"Key": "team", "Value": "a", "Effect": "NO_EXECUTE"}]
    assert "Taints" not in own
    assert of_eks["Labels"] == own["Labels"] == {"role": "web"}


def test_groups_are_on_in_every_zone_as_the_lab_says(every_image: Template) -> None:
    linux = group(every_image, "gpu-lab-rocket")

    assert linux["ScalingConfig"] == {"MinSize": 1, "MaxSize": 4, "DesiredSize": 2}
    assert len(linux["Subnets"]) == 3
    assert linux["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "DEFAULT"}
    pools = {gate["Nodegroup"] for gate in every_image.properties("Custom::LamplighterGate")}
    assert pools == {"gpu-lab-ng-own", "gpu-lab-ng-own-rocket"}


def test_windows_has_what_it_needs(every_image: Template) -> None:
    roles = {name: every_image.node_role(f"gpu-lab-{name}") for name in ("windows", "own-windows", "plain")}
    entries = {
        json.dumps(every_image.resources[entry["PrincipalArn"]["Fn::GetAtt"][0]]["Properties"])
        for entry in every_image.properties("AWS::EKS::AccessEntry")
        if entry.get("Type") == "EC2_WINDOWS"
    }
    assert entries == {json.dumps(roles[name]) for name in ("windows", "own-windows")}
    for logical, resource in every_image.of_type("AWS::EKS::Nodegroup").items():
        needed = {
            every_image.resources[name]["Properties"].get("Type")
            for name in every_image.needs(logical)
            if every_image.resources[name]["Type"] == "AWS::EKS::AccessEntry"
        }
        windows = "windows" in resource["Properties"]["NodegroupName"]
        assert ("EC2_WINDOWS" in needed) == windows
    cni = every_image.one("AWS::EKS::Addon", AddonName="vpc-cni")["ConfigurationValues"]
    assert json.loads(cni) == {"env": {"ENABLE_PREFIX_DELEGATION": "true"}, "enableWindowsIpam": "true"}
    assert "AmazonEKSVPCResourceController" in policies_of_the_cluster(every_image)


def test_a_lab_without_windows_has_nothing_of_it(cluster: Template) -> None:
    assert "AmazonEKSVPCResourceController" not in policies_of_the_cluster(cluster)
    assert "EC2_WINDOWS" not in json.dumps(cluster.document)
    assert "enableWindowsIpam" not in json.dumps(cluster.document)


def test_no_group_may_size_a_pool(every_image: Template) -> None:
    [(denied, policy)] = [
        (name, policy)
        for name, policy in every_image.of_type("AWS::IAM::ManagedPolicy").items()
        if "NoSizingOfPools" in json.dumps(policy)
    ]
    statements = policy["Properties"]["PolicyDocument"]["Statement"]
    assert {statement["Effect"] for statement in statements} == {"Deny"}
    for name in names(every_image):
        assert {"Ref": denied} in every_image.node_role(name)["ManagedPolicyArns"]


def test_the_deploy_steps_may_read_each_group_and_the_lab_s_own_cluster(
    every_image: Template, cluster: Template
) -> None:
    read = may(every_image, "eks:DescribeNodegroup")
    for name in names(every_image):
        assert f"/{name}/*" in read
    for each in (every_image, cluster):
        assert may(each, "eks:DescribeCluster").count(':cluster/gpu-lab"') == 1
    assert not cluster.of_type("Custom::LamplighterServiceCidr")
    assert every_image.one("Custom::LamplighterServiceCidr")["Cluster"] == {
        "Ref": "ControlPlaneCluster40003284"
    }


def test_another_kubernetes_version_leaves_an_image_of_the_user_s_alone(
    synthesise: Callable[..., Assembly],
) -> None:
    """EKS is told no version for it, so its gate must not refuse a deploy that only moves the control plane."""
    own = {"gpu": {"ami_type": "CUSTOM", "image": "ami-01234567"}}
    before, now = (
        synthesise(pools=own, cluster={"kubernetes_version": version}).template("gpu-lab-cluster")
        for version in ("1.34", "1.35")
    )

    assert before.one("Custom::LamplighterGate") == now.one("Custom::LamplighterGate")
    assert group(before, "gpu-lab-ng-gpu") == group(now, "gpu-lab-ng-gpu")
    assert group(before, "gpu-lab-ng-1") != group(now, "gpu-lab-ng-1")


def test_the_edit_step_knows_which_call_each_key_of_a_group_needs(every_image: Template) -> None:
    """With an image of the user's, taints are in the user data: a change of them replaces nodes."""
    [step] = every_image.properties("Custom::LamplighterEdit")
    edits = deploy_edit.read(step["Groups"])

    assert edits.keys() == set(names(every_image))
    of_eks, own = edits["gpu-lab-rocket"], edits["gpu-lab-own-rocket"]
    part = "cluster.node_groups.rocket"
    assert f"{part}.taints" in of_eks.settings.keys
    assert f"{part}.taints" not in of_eks.replacing.keys
    part = "cluster.node_groups.own-rocket"
    assert {f"{part}.taints", f"{part}.image", f"{part}.image_family"} <= own.replacing.keys.keys()
    assert f"{part}.taints" not in own.settings.keys
    assert {f"{part}.labels", f"{part}.nodes"} <= own.settings.keys.keys()
    assert "pools.own.taints" in edits["gpu-lab-ng-own"].replacing.keys


def policies_of_the_cluster(template: Template) -> str:
    [cluster] = template.properties("AWS::EKS::Cluster")
    role = template.resources[cluster["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
    return json.dumps(role["ManagedPolicyArns"])


def may(template: Template, action: str) -> str:
    """The resources that the gatekeeper may use an action on, as text."""
    [role] = [name for name in template.of_type("AWS::IAM::Role") if name.startswith("GatekeeperRole")]
    return json.dumps(
        [
            statement["Resource"]
            for policy in template.properties("AWS::IAM::Policy")
            if {"Ref": role} in policy["Roles"]
            for statement in policy["PolicyDocument"]["Statement"]
            if action in statement["Action"]
        ]
    )


@pytest.mark.parametrize("name", ["own-al2023", "own-windows"])
def test_a_group_with_an_image_of_the_user_s_comes_after_the_network_is_known(
    every_image: Template, name: str
) -> None:
    [step] = every_image.of_type("Custom::LamplighterServiceCidr")
    logical = every_image.name("AWS::EKS::Nodegroup", NodegroupName=f"gpu-lab-{name}")
    assert step in every_image.needs(logical)
