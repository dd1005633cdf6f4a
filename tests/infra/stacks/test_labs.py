"""Labs other than the default one: adopted, with several pools, without the operator, with long names."""

import json
from collections.abc import Callable

from stacks.names import Names
from tests.infra.conftest import Assembly, Template

LONGEST_NAMES = {
    ("AWS::EKS::Cluster", "Name"): 100,
    ("AWS::EKS::Nodegroup", "NodegroupName"): 63,
    ("AWS::Events::Rule", "Name"): 64,
    ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"): 128,
    ("AWS::IAM::Role", "RoleName"): 64,
    ("AWS::Lambda::Function", "FunctionName"): 64,
    ("AWS::SQS::Queue", "QueueName"): 80,
    ("AWS::Scheduler::ScheduleGroup", "Name"): 64,
    ("AWS::StepFunctions::StateMachine", "StateMachineName"): 80,
    ("Custom::LamplighterNodeRole", "New"): 64,
}
#: Every named thing of IAM; all else that CloudFormation makes in it gets a name of its own.
IAM_NAMES = (
    ("AWS::IAM::Group", "GroupName"),
    ("AWS::IAM::InstanceProfile", "InstanceProfileName"),
    ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"),
    ("AWS::IAM::Role", "RoleName"),
    ("AWS::IAM::User", "UserName"),
)


def test_no_other_lab_has_a_name_of_this_one(synthesise: Callable[..., Assembly]) -> None:
    entry = {"source": "ci.training", "principals": ["arn:aws:iam::111122223333:role/ci"]}
    lab = synthesise(
        slack={},
        events={"allow": {"training": entry}},
        cluster={"karpenter": {}},
        pools={"gpu": {"price_per_hour": "1.2"}, "kar": {"kind": "karpenter", "price_per_hour": "1.2"}},
    )
    names = {
        (resource["Type"], *str(name).partition("gpu-lab")[::2])
        for stack in lab.stacks
        for resource in lab.template(stack).resources.values()
        for key, name in resource.get("Properties", {}).items()
        if key.endswith("Name") and "gpu-lab" in str(name)
    }
    endings = {
        longer.removesuffix(end)
        for kind, begin, longer in names
        for other, start, end in names
        if (kind, begin) == (other, start) and end and longer != end and longer.endswith(end)
    }

    assert len(names) > 100
    assert endings == set()


def test_an_adopted_cluster_gets_the_controller_only(synthesise: Callable[..., Assembly]) -> None:
    lab = synthesise(
        cluster={"existing": "theirs"}, pools={"gpu": {"existing": "their-gpus", "price_per_hour": "1.2"}}
    )

    assert lab.stacks == ["gpu-lab-controller"]
    controller = lab.template("gpu-lab-controller")
    assert controller.outputs["ClusterName"] == "theirs"
    assert controller.one("AWS::SSM::Parameter")["Name"] == "/lamplighter/claims/theirs/their-gpus"
    assert {entry["ClusterName"] for entry in controller.properties("AWS::EKS::AccessEntry")} == {"theirs"}
    kinds = {resource["Type"] for resource in controller.resources.values()}
    assert not kinds & {"AWS::EKS::Cluster", "AWS::EKS::Nodegroup", "AWS::EC2::VPC"}
    assert "nodegroup/theirs/their-gpus/*" in json.dumps(controller.document)


def test_each_pool_has_a_group_a_gate_and_a_claim(synthesise: Callable[..., Assembly]) -> None:
    lab = synthesise(pools={"gpu": {}, "big_one": {"instance_type": "g5.12xlarge", "zone_index": 2}})

    cluster, controller = lab.template("gpu-lab-cluster"), lab.template("gpu-lab-controller")

    group = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-big_one")
    (subnet,) = group["Subnets"]
    assert cluster.resources[subnet["Ref"]]["Properties"]["AvailabilityZone"] == "ap-northeast-2c"
    assert {gate["Pool"] for gate in cluster.properties("Custom::LamplighterGate")} == {"gpu", "big_one"}
    assert len(controller.properties("AWS::SSM::Parameter")) == 2
    for template in (cluster, controller):
        assert template.one("Custom::LamplighterPools")["Pools"] == "gpu,big_one"
    assert cluster.outputs["BigOneSubnetAz"] == "ap-northeast-2c"
    assert controller.one("Custom::LamplighterLastClosed")["Pools"] == ["gpu", "big_one"]


def test_a_node_starts_as_its_image_can(synthesise: Callable[..., Assembly]) -> None:
    cluster = synthesise(
        cluster={"kubernetes_version": "1.32", "system_nodes": {"ami_type": "BOTTLEROCKET_x86_64"}},
        pools={"old": {"ami_type": "AL2_x86_64_GPU"}, "rocket": {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"}},
    ).template("gpu-lab-cluster")

    starts = {}
    for template in cluster.properties("AWS::EC2::LaunchTemplate"):
        data = template["LaunchTemplateData"]
        (disk,) = data["BlockDeviceMappings"]
        name = data["TagSpecifications"][0]["Tags"][0]["Value"]
        starts[name] = disk["DeviceName"], data.get("UserData", {}).get("Fn::Base64")
    assert starts["gpu-lab-ng-1"] == ("/dev/xvdb", "[settings.kubernetes]\nmax-pods = 50\n")
    assert starts["gpu-lab-ng-rocket"] == ("/dev/xvdb", None)
    device, script = starts["gpu-lab-ng-old"]
    assert device == "/dev/xvda"
    assert "yum install -y tree" in script


def iam_names(stacks: Assembly) -> set[str]:
    """Every name that IAM is given, by stack and resource where CloudFormation makes one."""
    documents = {stack: stacks.template(stack) for stack in stacks.stacks}
    found = set()
    for stack, template in documents.items():
        for logical, resource in template.resources.items():
            properties = resource.get("Properties", {})
            for kind, key in IAM_NAMES:
                if resource["Type"] == kind and key in properties:
                    found.add(plain(template, properties[key], f"{stack}/{logical}"))
    return found


def plain(template: Template, name: object, where: str) -> str:
    """A name as a first deploy gives it: that of a node group's role is its deploy step's to answer."""
    if isinstance(name, str):
        return name
    assert isinstance(name, dict), where
    step, answered = name["Fn::GetAtt"]
    assert answered == "RoleName", where
    new: str = template.resources[step]["Properties"]["New"]
    return new


def test_one_labs_name_deploys_in_two_regions(synthesise: Callable[..., Assembly]) -> None:
    keys = {"notify": {"email": "oncall@example.com"}, "slack": {"channel": "C0123456789"}}
    zones = ["us-west-2a", "us-west-2b", "us-west-2c"]

    seoul = iam_names(synthesise(**keys))
    oregon = iam_names(synthesise(region="us-west-2", cluster={"zones": zones}, **keys))

    assert {"gpu-lab-ap-northeast-2-ng-1", "gpu-lab-ap-northeast-2-ng-gpu"} <= seoul
    assert "gpu-lab-ap-northeast-2-CasAutoScalerPolicy" in seoul
    assert len(seoul) == len(oregon)
    assert not seoul & oregon, "IAM's names are one account's, whatever the region"


def test_names_stay_legal_however_long_the_labs_is(synthesise: Callable[..., Assembly]) -> None:
    name = "l" * 40
    lab = synthesise(name=name, pools={"gpu": {}, "a" * 19: {}})

    for stack in (f"{name}-cluster", f"{name}-controller"):
        template = lab.template(stack)
        for (kind, key), longest in LONGEST_NAMES.items():
            for properties in template.properties(kind):
                assert len(properties.get(key, "")) <= longest, (kind, properties[key])
        assert all(output.isalnum() for output in template.outputs)


def test_a_lab_without_the_operator_has_no_chart(synthesise: Callable[..., Assembly]) -> None:
    cluster = synthesise(gpu_operator={"enabled": False}).template("gpu-lab-cluster")
    assert not cluster.of_type("Custom::AWSCDK-EKS-HelmChart")
    assert cluster.of_type("Custom::AWSCDK-EKS-KubernetesResource")


def test_admins_get_every_right_in_the_cluster(synthesise: Callable[..., Assembly]) -> None:
    role = "arn:aws:iam::123456789012:role/platform"
    cluster = synthesise(admins=[role]).template("gpu-lab-cluster")
    entry = cluster.one("AWS::EKS::AccessEntry", PrincipalArn=role)
    (policy,) = entry["AccessPolicies"]
    assert policy["PolicyArn"].endswith("AmazonEKSClusterAdminPolicy")
    assert policy["AccessScope"] == {"Type": "cluster"}


def test_the_rights_of_our_functions_are_the_manifest_that_people_read(assembly: Assembly) -> None:
    cluster = assembly.template("gpu-lab-cluster")
    manifest = json.loads(cluster.one("Custom::AWSCDK-EKS-KubernetesResource")["Manifest"])
    kinds = [document["kind"] for document in manifest]
    assert kinds[0] == "Namespace"
    assert manifest[0]["metadata"]["name"] == "lamplighter"
    groups = {subject["name"] for document in manifest for subject in document.get("subjects", [])}
    assert groups == {
        "lamplighter:cluster",
        "lamplighter:diagnosis",
        "lamplighter:doctor",
        "lamplighter:experiments",
        "lamplighter:guard",
    }


def test_role_names_stay_within_what_iam_allows() -> None:
    names = Names(lab="a" * 40, region="ap-northeast-2", cluster="c")
    other = Names(lab="a" * 39 + "b", region="ap-northeast-2", cluster="c")

    assert len(names.role("gatekeeper")) <= 64
    assert names.role("gatekeeper") != other.role("gatekeeper")
    assert names.role("gatekeeper").endswith("-gatekeeper")
    assert all(len(names.role(function)) <= 64 for function in ("events", "lifecycle"))
    assert len(names.event_requests) <= 80
    assert len(names.events_dead_letters) <= 80
