"""`lamplighter adopt` prints a lab file for an existing cluster, and what prevents its adoption."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from moto import mock_aws
from moto.eks.models import eks_backends
from ruamel.yaml import YAML

from cli.plan import adopt
from lamplighter.adapters.capacity.adoption import Adoption
from lamplighter.domain.pool.adoption import Autoscalers, ExistingCluster, ExistingPool, obstacles
from lamplighter.errors import BadInput
from lamplighter.labfile import file as labfile

CLUSTER = ExistingCluster(
    "Team_A", "eu-central-1", "1.34", "API", public_endpoint=True, public_cidrs=("0.0.0.0/0",)
)
GROUP = ExistingPool("gpus", "ACTIVE", ("g5.xlarge",), "AL2023_x86_64_NVIDIA", "ON_DEMAND", 0, 3, 0, {})
TAGGED = replace(GROUP, group_tags={"k8s.io/cluster-autoscaler/enabled": "true"})
NONE = Autoscalers(asked=True)


def said(
    cluster: ExistingCluster = CLUSTER, group: ExistingPool = GROUP, autoscalers: Autoscalers = NONE
) -> list[tuple[bool, str]]:
    return [(found.blocks, str(found.text)) for found in obstacles(cluster, group, autoscalers)]


@pytest.mark.parametrize("ami_type", ["AL2023_x86_64_NVIDIA", ""])
def test_a_group_that_is_ready_has_nothing_in_its_way(ami_type: str) -> None:
    assert said(group=replace(GROUP, ami_type=ami_type)) == []


RUNS = Autoscalers(asked=True, found=("deployment kube-system/autoscaler",))


@pytest.mark.parametrize(
    ("about", "blocks", "words"),
    [
        ({"cluster": replace(CLUSTER, authentication="CONFIG_MAP")}, True, "has authentication mode CONFIG_MAP"),
        ({"cluster": replace(CLUSTER, public_endpoint=False)}, True, "is private: the functions run outside its VPC"),
        ({"cluster": replace(CLUSTER, public_cidrs=("203.0.113.0/24",))}, True, "lets in only 203.0.113.0/24"),
        ({"cluster": replace(CLUSTER, names_its_key=False)}, False,
         "the certificate authority of cluster Team_A has no key identifiers"),
        ({"cluster": replace(CLUSTER, names_its_key=False)}, False, "; the functions accept it"),
        ({"group": replace(GROUP, minimum=1)}, True, "node group gpus has minimum 1: it would never be at zero"),
        ({"group": replace(GROUP, scheduled_actions=("morning", "night"), group="eks-gpus-1")}, True,
         "has scheduled actions (morning and night): they change its size beside the lab's leases"),
        ({"group": replace(GROUP, scheduled_actions=("morning",), group="eks-gpus-1")}, True,
         "--auto-scaling-group-name eks-gpus-1 --scheduled-action-name NAME"),
        ({"group": replace(GROUP, capacity_type="CAPACITY_BLOCK")}, False, "the block is paid in advance"),
        ({"group": replace(GROUP, instance_types=("m5.large",), ami_type="AL2023_x86_64_STANDARD")}, True,
         "node group gpus may start m5.large, without an NVIDIA GPU: no lease on it could be proven"),
        ({"group": replace(GROUP, instance_types=("g99.huge",))}, False,
         "it is not known here whether g99.huge of node group gpus have an NVIDIA GPU"),
        ({"group": replace(GROUP, instance_types=())}, False,
         "it is not known here whether the instances of node group gpus have an NVIDIA GPU"),
        ({"group": replace(GROUP, desired=2)}, False, "2 nodes are ordered in gpus now: they stay and are reported"),
        ({"group": TAGGED, "autoscalers": RUNS}, True,
         "deployment kube-system/autoscaler may open node group gpus without a lease"),
        ({"autoscalers": RUNS}, False, "runs, and node group gpus lacks the tag by which it finds groups"),
        ({"autoscalers": Autoscalers(asked=True, nodepools=("default",))}, True,
         "NodePool default may start GPU nodes that no lease justifies"),
        ({"group": TAGGED, "autoscalers": Autoscalers(asked=False, why_not="no answer")}, False,
         "the group has an autoscaler's tag: no answer"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_and_what_is_only_said(about: dict[str, Any], blocks: bool, words: str) -> None:
    [(found, text)] = said(**about)
    assert found is blocks
    assert words in text


def test_a_group_that_may_start_nodes_without_gpus_beside_others_is_in_the_way() -> None:
    found = said(group=replace(GROUP, instance_types=("g5.xlarge", "inf2.xlarge", "t3.large")))
    [text] = [text for blocks, text in found if blocks]
    assert text.startswith("node group gpus may start inf2.xlarge and t3.large, without an NVIDIA GPU")
    assert text.endswith("name a node group whose instances have GPUs")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ami_type": "AL2023_x86_64_STANDARD"}, "is AL2023_x86_64_STANDARD, which has no NVIDIA driver"),
        ({"ami_type": "AL2023_x86_64_NEURON"}, "is AL2023_x86_64_NEURON, which has no NVIDIA driver"),
        ({"ami_type": "BOTTLEROCKET_x86_64_FIPS"}, "is BOTTLEROCKET_x86_64_FIPS, which has no NVIDIA driver"),
        ({"ami_type": "AL2_x86_64_GPU"},
         ("is AL2_x86_64_GPU, and Amazon Linux 2 ended: EKS publishes no new image of it since 2025-11-26; make a"
          " node group with AL2023_x86_64_NVIDIA and adopt that one before the cluster leaves Kubernetes 1.32")),
        ({"ami_type": "BOTTLEROCKET_x86_64_NVIDIA", "release": "1.62.0-5d9ac849"},
         "has its own device plugin: no window can share its GPUs"),
        ({"ami_type": "BOTTLEROCKET_x86_64_NVIDIA_FIPS"}, "has its own device plugin"),
        ({"ami_type": "AL2023_ARM_64_NVIDIA", "instance_types": ("g5g.xlarge",)},
         "are arm64: a container image for x86_64 alone fails there with 'exec format error'"),
        ({"ami_type": "CUSTOM", "release": "ami-0c0c53d11a3f898ea"},
         "has an image of its own, ami-0c0c53d11a3f898ea: it is not known here whether it has the NVIDIA driver"),
        ({"ami_type": "CUSTOM"}, "has an image of its own, which EKS does not name"),
    ],
)  # fmt: skip
def test_what_follows_from_an_image_is_said_and_is_not_in_the_way(more: dict[str, Any], words: str) -> None:
    [(blocks, text)] = said(group=replace(GROUP, **more))
    assert not blocks
    assert words in text


def test_an_image_may_have_several_consequences() -> None:
    old = replace(GROUP, ami_type="AL2_ARM_64", instance_types=("g5g.xlarge",))

    found = said(group=old)

    assert [blocks for blocks, _ in found] == [False] * 3
    ended, driver, arm = [text for _, text in found]
    assert "make a node group with AL2023_ARM_64_NVIDIA" in ended
    assert "which has no NVIDIA driver" in driver
    assert "are arm64" in arm
    [(_, custom), (_, arm)] = said(
        group=replace(GROUP, ami_type="CUSTOM", release="ami-0abc", instance_types=("g5g.xlarge",))
    )
    assert "aws ec2 describe-images --query 'Images[].[Name,Description]' --image-ids ami-0abc" in custom
    assert "are arm64" in arm


@pytest.mark.parametrize("instance_type", ["g4dn.xlarge", "m5.large"])
def test_a_windows_group_is_refused_by_name_whatever_its_instances(instance_type: str) -> None:
    windows = replace(GROUP, ami_type="WINDOWS_FULL_2022_x86_64", instance_types=(instance_type,))
    [(blocks, text)] = said(group=windows)
    assert blocks
    assert text.startswith("node group gpus is WINDOWS_FULL_2022_x86_64: no pool can be Windows")
    assert "name a node group with a Linux image, such as AL2023_x86_64_NVIDIA" in text


def test_each_image_type_of_eks_is_judged() -> None:
    """Only images with the NVIDIA driver that AWS still publishes for x86_64 need no word."""
    model = botocore.session.get_session().get_service_model("eks")
    known: list[str] = model.shape_for("AMITypes").enum  # type: ignore[attr-defined]
    silent = {ami_type for ami_type in known if not said(group=replace(GROUP, ami_type=ami_type))}
    assert silent == {"AL2023_x86_64_NVIDIA"}


def written(folder: Path, group: ExistingPool) -> Path:
    file = folder / "lab.yaml"
    file.write_text("\n".join(adopt.lab_file(CLUSTER, group)), "utf-8")
    return file


def test_what_is_printed_is_a_lab_file(tmp_path: Path) -> None:
    file = written(tmp_path, GROUP)
    lab = labfile.load(file)
    assert (lab.name, lab.region, lab.cluster_name) == ("team-a", "eu-central-1", "Team_A")
    assert lab.nodegroup_name("gpu") == "gpus"
    assert (lab.pools["gpu"].max_nodes, lab.mode("gpu")) == (3, "watch")


def test_an_old_group_is_named_and_a_new_one_is_not(tmp_path: Path) -> None:
    """EKS names a new group after the node group, and with another name when the node group is created again."""
    old, new = "eks-6eb9e8a0-1f2b-4c5d-8e9f-0a1b2c3d4e5f", "eks-gpus-6eb9e8a0-1f2b-4c5d-8e9f-0a1b2c3d4e5f"

    named = labfile.load(written(tmp_path, replace(GROUP, group=old)))
    assert named.pools["gpu"].auto_scaling_group == old
    assert (named.reaches("gpu", old), named.reaches("gpu", new)) == (True, False)

    by_prefix = labfile.load(written(tmp_path, replace(GROUP, group=new)))
    assert by_prefix.pools["gpu"].auto_scaling_group is None
    assert (by_prefix.reaches("gpu", old), by_prefix.reaches("gpu", new)) == (False, True)


def test_an_image_with_its_own_plugin_is_written_so_that_check_knows(tmp_path: Path) -> None:
    rocket = written(tmp_path, replace(GROUP, ami_type="BOTTLEROCKET_x86_64_NVIDIA"))
    assert labfile.load(rocket).gpu_stack("gpu") == "built-in"
    rocket.write_text(f"{rocket.read_text('utf-8')}\ngpu: {{share: 4}}\n", "utf-8")
    with pytest.raises(BadInput, match=r"gpu\.share: "):
        labfile.load(rocket)


def test_of_an_image_of_its_own_the_lab_file_asks_what_it_is(tmp_path: Path) -> None:
    custom = written(tmp_path, replace(GROUP, ami_type="CUSTOM", release="ami-0c0c53d11a3f898ea"))
    text = custom.read_text("utf-8")
    assert labfile.load(custom).gpu_stack("gpu") == "operator"
    custom.write_text(text.replace("# ami_type", "ami_type"), "utf-8")
    assert labfile.load(custom).gpu_stack("gpu") == "built-in"


@pytest.mark.parametrize(
    ("cluster", "name"), [("Prod", "prod"), ("1st.cluster", "lab-1st-cluster"), ("-x-", "x")]
)
def test_the_lab_is_named_after_the_cluster(cluster: str, name: str) -> None:
    assert adopt.lab_name(cluster) == name


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    with mock_aws():
        eks, role = boto3.client("eks"), "arn:aws:iam::123456789012:role/any"
        eks.create_cluster(
            name="team", version="1.34", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]}
        )
        eks.create_nodegroup(
            clusterName="team",
            nodegroupName="gpus",
            scalingConfig={"minSize": 1, "maxSize": 3, "desiredSize": 2},
            instanceTypes=["g5.2xlarge"],
            subnets=["subnet-1"],
            nodeRole=role,
        )
        yield "team"


def test_a_cluster_is_read_as_eks_tells_it(cluster: str) -> None:
    found, group = Adoption().cluster(cluster), Adoption().group(cluster, "gpus")
    assert (found.name, found.version, found.region) == ("team", "1.34", "eu-central-1")
    assert (group.minimum, group.maximum, group.desired) == (1, 3, 2)
    assert group.instance_types == ("g5.2xlarge",)
    seen = boto3.client("eks").describe_nodegroup(clusterName=cluster, nodegroupName="gpus")["nodegroup"]
    assert [group.group] == [behind["name"] for behind in seen["resources"]["autoScalingGroups"]]


def test_a_warm_pool_is_read_from_the_groups_controller(cluster: str) -> None:
    group, scaling = Adoption().group(cluster, "gpus"), boto3.client("autoscaling")
    scaling.create_launch_configuration(
        LaunchConfigurationName="of-eks", ImageId="ami-12c6146b", InstanceType="g5.2xlarge"
    )
    scaling.create_auto_scaling_group(
        AutoScalingGroupName=group.group,
        LaunchConfigurationName="of-eks",
        MinSize=0,
        MaxSize=3,
        AvailabilityZones=["eu-central-1a"],
    )
    assert not Adoption().group(cluster, "gpus").warm_pool

    scaling.put_warm_pool(AutoScalingGroupName=group.group, MinSize=1)

    assert Adoption().group(cluster, "gpus").warm_pool


def test_the_authority_in_the_user_data_of_an_image_of_its_own_is_read(cluster: str) -> None:
    old, new = (
        f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n" for text in ("b2xk", "bmV3")
    )
    stated = b64encode((new + old).encode()).decode()
    data = b64encode(f"#!/bin/bash\n/etc/eks/bootstrap.sh team --b64-cluster-ca {stated}\n".encode()).decode()
    made = boto3.client("ec2").create_launch_template(
        LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "g5.xlarge", "UserData": data}
    )["LaunchTemplate"]
    for name, kind in (("own", "CUSTOM"), ("of-eks", "AL2023_x86_64_NVIDIA")):
        boto3.client("eks").create_nodegroup(
            clusterName=cluster,
            nodegroupName=name,
            amiType=kind,  # type: ignore[arg-type]
            launchTemplate={"id": made["LaunchTemplateId"], "version": "1"},
            subnets=["subnet-1"],
            nodeRole="arn:aws:iam::123456789012:role/any",
        )

    # While EKS rotates the authority it answers two, and their order may differ.
    described = eks_backends["123456789012"]["eu-central-1"].clusters[cluster]
    described.certificate_authority = {"data": b64encode(f"{old}\n{new}".strip().encode()).decode()}
    assert Adoption().group(cluster, "own").authorities == {"b2xk", "bmV3"}
    assert Adoption().group(cluster, "of-eks").authorities == set(), "EKS tells the nodes itself"
    assert Adoption().cluster(cluster).authorities == {"b2xk", "bmV3"}


def test_a_wrong_name_is_answered_with_the_right_ones(cluster: str) -> None:
    with pytest.raises(BadInput, match="there is no cluster 'taem' in eu-central-1; there: team"):
        Adoption().cluster("taem")
    with pytest.raises(BadInput, match="has no managed node group 'gpu'; it has: gpus"):
        Adoption().group(cluster, "gpu")


def test_no_region_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(BadInput, match="no AWS region is set"):
        Adoption()


def test_the_printed_objects_of_a_lab_with_nodepools_have_its_bar_and_the_rights_about_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = tmp_path / "lab.yaml"
    lab.write_text(
        "name: demo\ncluster: {existing: theirs, karpenter: {existing: true}}\n"
        "pools: {gpu: {kind: karpenter, existing: their-gpus, instance_type: g5.xlarge, max_nodes: 2}}\n"
    )

    adopt.command(rbac=True)
    plain = list(YAML(typ="safe").load_all(capsys.readouterr().out))
    adopt.command(rbac=True, lab=str(lab))
    of_lab = list(YAML(typ="safe").load_all(capsys.readouterr().out))

    assert of_lab[: len(plain)] == plain
    named = {(each["kind"], each["metadata"]["name"]) for each in of_lab[len(plain) :]}
    assert {
        ("ClusterRole", "demo-node-pools-capacity"),
        ("ConfigMap", "demo-gpu"),
        ("ValidatingAdmissionPolicy", "demo-launch-bar"),
        ("ValidatingAdmissionPolicyBinding", "demo-gpu"),
    } <= named


def test_the_printed_objects_of_a_lab_that_counts_idle_time_by_gpu_let_the_guard_ask_the_exporter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = tmp_path / "lab.yaml"
    lab.write_text(
        "name: demo\ncluster: {existing: theirs}\npools: {gpu: {existing: gpus, instance_type: g5.xlarge}}\n"
        "guard: {idle_by: gpu}\ngpu_operator: {namespace: nvidia}\n"
    )

    adopt.command(rbac=True, lab=str(lab))

    *_, role, binding = YAML(typ="safe").load_all(capsys.readouterr().out)
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "nvidia")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]}]
    assert (binding["metadata"]["namespace"], binding["roleRef"]["name"]) == (
        "nvidia",
        role["metadata"]["name"],
    )
    assert [subject["name"] for subject in binding["subjects"]] == ["lamplighter:guard"]


@pytest.mark.parametrize(("pool", "left"), [("b-c", True), ("gpu", False)])
def test_a_bar_that_an_earlier_release_named_otherwise_is_told_with_its_removal(
    pool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, left: bool
) -> None:
    """It would refuse every node. Another lab may have the name, so its policy is looked at first."""
    lab = tmp_path / "lab.yaml"
    lab.write_text(
        "name: demo\ncluster: {existing: theirs, karpenter: {existing: true}}\n"
        f"pools: {{{pool}: {{kind: karpenter, existing: their-gpus, instance_type: g5.xlarge, max_nodes: 2}}}}\n"
    )

    adopt.command(rbac=True, lab=str(lab))

    printed = capsys.readouterr().out
    get = f"#   kubectl get validatingadmissionpolicybinding demo-{pool} -o jsonpath='{{.spec.policyName}}'\n"
    delete = f"#   kubectl delete validatingadmissionpolicybinding demo-{pool}\n"
    assert ((get in printed, delete in printed) == (True, True)) is left
    assert ("If this prints demo-launch-bar" in printed) is left


def test_a_lab_is_read_only_for_the_printed_objects() -> None:
    with pytest.raises(BadInput, match="--lab: only for --rbac"):
        adopt.command(lab="lab.yaml")
