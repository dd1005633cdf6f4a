"""What the functions of a lab may do about its NodePools, in AWS and in the cluster: by kind, and no more."""

import json
from collections.abc import Callable

import pytest

from tests.infra.conftest import Assembly, Template
from tests.infra.test_permissions import allowed

ROLE = "gpu-lab-ap-northeast-2-"
OUTSIDE = {
    "StringEquals": {"ec2:ResourceTag/kubernetes.io/cluster/gpu-lab": "owned"},
    "StringLike": {"ec2:InstanceType": ["g*", "p*"]},
    "Null": {"ec2:ResourceTag/aws:autoscaling:groupName": "true"},
}
OF_GROUPS = ("autoscaling:", "eks:UpdateNodegroup", "eks:DescribeUpdate", "eks:ListUpdates")


def groups(*templates: Template) -> dict[str, list[str]]:
    """The Kubernetes groups of each of our functions, by the function's name."""
    found = {}
    for template in templates:
        for entry in template.properties("AWS::EKS::AccessEntry"):
            if "KubernetesGroups" in entry:
                role = template.resources[entry["PrincipalArn"]["Fn::GetAtt"][0]]["Properties"]
                found[role["RoleName"].removeprefix(ROLE)] = entry["KubernetesGroups"]
    return found


def test_each_function_is_in_the_groups_that_its_steps_need(karpenter: Assembly) -> None:
    stacks = [karpenter.template(stack) for stack in karpenter.stacks]

    assert groups(*stacks) == {
        "cluster": ["lamplighter:cluster", "lamplighter:gpu-lab:pools"],
        "deploy": ["lamplighter:gpu-lab:pools"],
        "diagnosis": ["lamplighter:diagnosis", "lamplighter:gpu-lab:diagnosis"],
        "doctor": ["lamplighter:doctor", "lamplighter:gpu-lab:doctor"],
        "experiments": ["lamplighter:experiments"],
        "failsafe-machine": ["lamplighter:gpu-lab:failsafe"],
        "gatekeeper": ["lamplighter:gpu-lab:gatekeeper"],
        "guard": [
            "lamplighter:guard",
            "lamplighter:gpu-lab:capacity",
            "lamplighter:gpu-lab:bar",
            "lamplighter:gpu-lab:controller",
        ],
        "leases": ["lamplighter:gpu-lab:bar"],
        "nodegroups": ["lamplighter:gpu-lab:capacity"],
        "planner": ["lamplighter:gpu-lab:pools"],
    }


def test_a_lab_of_node_groups_gives_no_function_more(assembly: Assembly) -> None:
    stacks = [assembly.template(stack) for stack in assembly.stacks]

    assert groups(*stacks) == {
        function: [f"lamplighter:{function}"]
        for function in ("cluster", "diagnosis", "doctor", "experiments", "guard")
    }


@pytest.mark.parametrize("function", ["leases", "nodegroups", "guard", "deploy", "planner", "cluster"])
def test_a_function_of_a_lab_with_nodepools_alone_may_change_no_group(
    karpenter: Assembly, function: str
) -> None:
    may = allowed(karpenter.template("gpu-lab-controller"), f"{ROLE}{function}")
    assert [action for action in may if action.startswith(OF_GROUPS)] == []
    assert "eks:DescribeCluster" in may


def test_an_opening_takes_the_lock_off_the_controller_s_role_and_no_other(mixed: Assembly) -> None:
    controller = mixed.template("gpu-lab-controller")

    unlocking = {
        function: allowed(controller, f"{ROLE}{function}").get("iam:DeleteRolePolicy", [])
        for function in ("nodegroups", "guard", "leases", "cluster")
    }

    assert unlocking["leases"] == unlocking["cluster"] == []
    for function in ("nodegroups", "guard"):
        [statement] = unlocking[function]
        assert json.dumps(statement["Resource"]).count(":role/gpu-lab-ap-northeast-2-karpenter") == 1


def test_with_a_pool_its_lock_goes_off_the_controller_s_role(mixed: Assembly) -> None:
    """IAM deletes no role that somebody else has given a policy."""
    cluster = mixed.template("gpu-lab-cluster")

    [statement] = allowed(cluster, f"{ROLE}gatekeeper")["iam:DeleteRolePolicy"]
    assert ":role/gpu-lab-ap-northeast-2-karpenter" in json.dumps(statement["Resource"])
    steps = cluster.properties("Custom::LamplighterNodePoolSize")
    assert "gpu-lab-ap-northeast-2-karpenter" in {one["Launches"] for one in steps}


def test_a_lock_on_the_role_of_an_existing_karpenter_goes_with_the_lab(
    adopted: Assembly, karpenter: Assembly
) -> None:
    controller = adopted.template("gpu-lab-controller")

    [statement] = allowed(controller, f"{ROLE}deploy")["iam:DeleteRolePolicy"]
    assert ":role/TheirKarpenter" in json.dumps(statement["Resource"])
    [step] = controller.of_type("Custom::LamplighterNodePoolLock")
    properties = controller.resources[step]["Properties"]
    assert (properties["NodePool"], properties["Launches"]) == ("their-gpus", "TheirKarpenter")
    [last] = controller.of_type("Custom::LamplighterLastClosed")
    assert step in controller.needs(last)
    of_ours = karpenter.template("gpu-lab-controller")
    assert "iam:DeleteRolePolicy" not in allowed(of_ours, f"{ROLE}deploy")
    assert of_ours.of_type("Custom::LamplighterNodePoolLock") == {}


def test_the_lock_of_an_existing_karpenter_is_on_the_role_that_the_lab_names(adopted: Assembly) -> None:
    may = allowed(adopted.template("gpu-lab-controller"), f"{ROLE}nodegroups")
    [statement] = may["iam:DeleteRolePolicy"]
    assert ":role/TheirKarpenter" in json.dumps(statement["Resource"])


def test_a_karpenter_whose_role_nobody_named_gets_no_lock(synthesise: Callable[..., Assembly]) -> None:
    lab = synthesise(
        cluster={"existing": "theirs", "karpenter": {"existing": True}},
        pools={"gpu": {"kind": "karpenter", "existing": "their-gpus", "price_per_hour": "1.2"}},
    )

    may = allowed(lab.template("gpu-lab-controller"), f"{ROLE}nodegroups")
    assert "iam:DeleteRolePolicy" not in may


def test_only_the_guard_ends_instances_and_only_those_with_the_tags_of_a_pool(mixed: Assembly) -> None:
    controller = mixed.template("gpu-lab-controller")

    conditions = [
        statement["Condition"]["StringEquals"]
        for statement in allowed(controller, f"{ROLE}guard")["ec2:TerminateInstances"]
        if statement["Condition"] != OUTSIDE
    ]

    assert {
        "ec2:ResourceTag/karpenter.sh/nodepool": ["gpu-lab-plain", "gpu-lab-rocket"],
        "ec2:ResourceTag/eks:eks-cluster-name": ["gpu-lab"],
    } in conditions
    assert {
        "ec2:ResourceTag/eks:cluster-name": "gpu-lab",
        "ec2:ResourceTag/eks:nodegroup-name": ["gpu-lab-ng-gpu"],
    } in conditions
    assert len(conditions) == 2
    for function in ("nodegroups", "leases"):
        assert "ec2:TerminateInstances" not in allowed(controller, f"{ROLE}{function}")


def test_outside_the_pools_the_guard_ends_gpu_instances_of_its_own_cluster_and_of_no_group(
    karpenter: Assembly, adopted: Assembly, assembly: Assembly
) -> None:
    def ending(lab: Assembly) -> list[object]:
        controller = lab.template("gpu-lab-controller")
        return [
            statement["Condition"]
            for statement in allowed(controller, f"{ROLE}guard").get("ec2:TerminateInstances", [])
        ]

    assert OUTSIDE in ending(karpenter)
    assert OUTSIDE not in ending(adopted)
    assert OUTSIDE not in ending(assembly)


def test_the_guard_reads_which_lab_guards_another_node_pool_of_the_cluster(
    karpenter: Assembly, adopted: Assembly, assembly: Assembly
) -> None:
    for lab, cluster, read in (
        (karpenter, "gpu-lab", True),
        (adopted, "theirs", True),
        (assembly, "gpu-lab", False),
    ):
        may = allowed(lab.template("gpu-lab-controller"), f"{ROLE}guard")
        resources = json.dumps([statement["Resource"] for statement in may["ssm:GetParameters"]])
        assert (f"parameter/lamplighter/claims/{cluster}/*" in resources) is read


def test_aws_ends_no_instance_of_auto_mode_for_us_so_nobody_may_try(auto_mode: Assembly) -> None:
    may = allowed(auto_mode.template("gpu-lab-controller"), f"{ROLE}guard")
    assert [statement["Condition"] for statement in may["ec2:TerminateInstances"]] == [OUTSIDE]
    [statement] = may["iam:DeleteRolePolicy"]
    assert ":role/gpu-lab-ap-northeast-2-control-plane" in json.dumps(statement["Resource"])


def test_nodes_end_no_instance_of_a_pool(mixed: Assembly) -> None:
    cluster = mixed.template("gpu-lab-cluster")

    [(name, statement)] = [
        (name, statement)
        for name, policy in cluster.of_type("AWS::IAM::ManagedPolicy").items()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement.get("Sid") == "NoEndingOfNodePools"
    ]

    # The system nodes, the node group's and those of Karpenter.
    held = [
        role
        for role in cluster.properties("AWS::IAM::Role")
        if {"Ref": name} in role.get("ManagedPolicyArns", ())
    ]
    assert len(held) == 3
    assert statement["Effect"] == "Deny"
    assert "ec2:TerminateInstances" in statement["Action"]
    assert statement["Condition"]["StringEquals"] == {
        "aws:ResourceTag/karpenter.sh/nodepool": ["gpu-lab-plain", "gpu-lab-rocket"],
        "aws:ResourceTag/eks:eks-cluster-name": ["gpu-lab"],
    }


def test_a_nodepool_is_claimed_by_its_name(karpenter: Assembly, adopted: Assembly) -> None:
    for lab, name in ((karpenter, "gpu-lab/gpu-lab-gpu"), (adopted, "theirs/their-gpus")):
        controller = lab.template("gpu-lab-controller")
        claim = f"/lamplighter/claims/{name}"
        assert controller.one("AWS::SSM::Parameter")["Name"] == claim
        reading = allowed(controller, f"{ROLE}guard")["ssm:GetParameters"]
        assert any(f"parameter{claim}" in json.dumps(statement["Resource"]) for statement in reading)


def test_a_deploy_beside_an_existing_cluster_tries_the_bar_that_its_owner_applied(adopted: Assembly) -> None:
    controller = adopted.template("gpu-lab-controller")
    [tried] = controller.of_type("Custom::LamplighterLaunchBar")

    assert controller.resources[tried]["Properties"]["Pools"] == "gpu"
    assert groups(controller)["deploy"] == ["lamplighter:gpu-lab:gatekeeper"]
    entry = controller.name("AWS::EKS::AccessEntry", KubernetesGroups=["lamplighter:gpu-lab:gatekeeper"])
    assert entry in controller.needs(tried)
    [last] = controller.of_type("Custom::LamplighterLastClosed")
    assert tried in controller.needs(last)


def test_the_guard_keeps_when_nodes_ran_and_no_other_rows(karpenter: Assembly, assembly: Assembly) -> None:
    for lab in (karpenter, assembly):
        [statement] = allowed(lab.template("gpu-lab-controller"), f"{ROLE}guard")["dynamodb:BatchWriteItem"]
        assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["POOL#*"]}}
