"""From CreateFleet to a node and back: EC2, the user data, the access entry, the kubelet and the cloud controller."""

import base64

import pytest

from local.aws.embedded import EmbeddedAws
from tests.local.aws.eks_lab import Lab as EksLab
from tests.local.cluster.lab import await_true
from tests.local.conftest import Aws
from tests.local.karpenter_user_data import LABELS, bottlerocket, node_config

pytestmark = pytest.mark.long

ROLE = "karpenter-nodes"
AUTHORITY = "Y2E="
TAGS = {"karpenter.sh/nodepool": "lab-gpu", "eks:eks-cluster-name": "lab"}
AL2023 = "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260724"
BOTTLEROCKET = "bottlerocket-aws-k8s-1.35-nvidia-x86_64-v1.50.0-431fe75a"


@pytest.fixture(scope="module")
def aws(tmp_path_factory, clock, lab):
    """An embedded AWS whose machines are those of the cluster, with the role of the nodes."""
    embedded = EmbeddedAws(clock, tmp_path_factory.mktemp("aws"), "ap-northeast-2")
    embedded.start()
    made = Aws(embedded)
    with made.until_the_end:
        eks = EksLab(made)
        eks.role = made.role(ROLE)
        made.call("iam", "create_instance_profile", InstanceProfileName=ROLE)
        made.call("iam", "add_role_to_instance_profile", InstanceProfileName=ROLE, RoleName=ROLE)
        lab.fleet.network.admits = embedded.moto_additions.self_managed.admits
        embedded.moto_additions.fleet(lab.fleet)
        yield eks
    lab.fleet.network.admits = lambda _: True
    embedded.stop()


@pytest.fixture
def let_in(aws):
    entry = {"clusterName": "lab", "principalArn": aws.role}
    aws.aws.call("eks", "create_access_entry", **entry, type="EC2_LINUX")
    yield
    aws.aws.call("eks", "delete_access_entry", **entry)


def launch(aws, name, text):
    """Starts one instance as Karpenter does."""
    found = aws.aws.call("ec2", "describe_images", Filters=[{"Name": "name", "Values": [name]}])["Images"]
    image = found[0] if found else aws.aws.call("ec2", "register_image", Name=name, Architecture="x86_64")
    endpoint = aws.cluster()["endpoint"]
    data = {
        "ImageId": image["ImageId"],
        "IamInstanceProfile": {"Name": ROLE},
        "UserData": base64.b64encode(text("lab", endpoint, AUTHORITY).encode()).decode(),
    }
    named = f"karpenter.k8s.aws/{len(name)}{aws.clock.time()}"
    aws.aws.call("ec2", "create_launch_template", LaunchTemplateName=named, LaunchTemplateData=data)
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    fleet = aws.aws.call(
        "ec2",
        "create_fleet",
        Type="instant",
        LaunchTemplateConfigs=[
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": named, "Version": "$Latest"},
                "Overrides": [{"InstanceType": "g5.xlarge", "SubnetId": aws.subnets[0]}],
            }
        ],
        TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "on-demand"},
        OnDemandOptions={"AllocationStrategy": "lowest-price"},
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    aws.aws.call("ec2", "delete_launch_template", LaunchTemplateName=named)
    return fleet["Instances"][0]["InstanceIds"][0]


def node_of(lab, instance):
    nodes = lab.kubernetes.get("/api/v1/nodes")["items"]
    return next((one for one in nodes if one["spec"]["providerID"].endswith(f"/{instance}")), None)


def is_ready(lab, instance):
    node = node_of(lab, instance)
    conditions = node["status"]["conditions"] if node else []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def end(lab, aws, instance):
    aws.aws.call("ec2", "terminate_instances", InstanceIds=[instance])
    await_true(lambda: node_of(lab, instance) is None, "the node is gone")


@pytest.mark.parametrize(("image", "text"), [(AL2023, node_config), (BOTTLEROCKET, bottlerocket)])
def test_an_instance_of_a_fleet_becomes_the_node_that_its_user_data_describes(lab, aws, let_in, image, text):
    instance = launch(aws, image, text)
    await_true(lambda: is_ready(lab, instance), "it is Ready")

    node = node_of(lab, instance)
    assert LABELS.items() <= node["metadata"]["labels"].items()
    assert "karpenter.sh/unregistered" in [taint["key"] for taint in node["spec"]["taints"]]
    end(lab, aws, instance)


def test_bottlerocket_offers_its_gpus_by_itself(lab, aws, let_in):
    instance = launch(aws, BOTTLEROCKET, bottlerocket)
    await_true(lambda: is_ready(lab, instance), "it is Ready")

    def offered():
        return node_of(lab, instance)["status"]["allocatable"].get("nvidia.com/gpu")

    assert await_true(offered, "it offers its GPU") == "1"
    end(lab, aws, instance)


def test_without_an_access_entry_the_instance_runs_and_no_node_comes(lab, aws):
    instance = launch(aws, AL2023, node_config)
    lab.clock.sleep(600)

    assert [one["InstanceId"] for one in aws.instances("running")] == [instance]
    assert node_of(lab, instance) is None
    end(lab, aws, instance)
