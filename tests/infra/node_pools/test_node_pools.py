"""The NodePool of each pool: what it says, and what is there before it."""

from collections.abc import Callable

import pytest

from tests.infra.conftest import Assembly, Template
from tests.infra.node_pools.conftest import AUTO_MODE
from tests.infra.node_pools.manifests import objects, the


@pytest.fixture
def cluster(mixed: Assembly) -> Template:
    return mixed.template("gpu-lab-cluster")


def step(cluster: Template, kind: str, pool: str) -> str:
    return cluster.name(f"Custom::Lamplighter{kind}", Pool=pool)


def test_only_the_end_of_a_lease_takes_a_node(cluster: Template) -> None:
    _, found = the(cluster, "NodePool", "gpu-lab-plain")
    spec, node = found["spec"], found["spec"]["template"]["spec"]

    assert spec["disruption"] == {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]}
    assert spec["limits"] == {"nodes": "2"}
    # The longest lease of 8 hours, 2 hours for its warm-up and a clock change, and the last grace.
    assert (node["expireAfter"], node["terminationGracePeriod"]) == ("10h5m", "5m")


def test_every_node_is_of_the_type_that_the_lab_has_a_price_for(cluster: Template) -> None:
    _, found = the(cluster, "NodePool", "gpu-lab-plain")

    requirements = {each["key"]: each["values"] for each in found["spec"]["template"]["spec"]["requirements"]}
    assert requirements == {
        "node.kubernetes.io/instance-type": ["g5.xlarge"],
        "karpenter.sh/capacity-type": ["on-demand"],
        "topology.kubernetes.io/zone": ["ap-northeast-2b"],
        "kubernetes.io/arch": ["amd64"],
        "kubernetes.io/os": ["linux"],
    }


def test_the_plugin_s_chart_finds_the_nodes_without_a_plugin_of_their_own(cluster: Template) -> None:
    labels = {
        name: the(cluster, "NodePool", name)[1]["spec"]["template"]["metadata"]["labels"]
        for name in ("gpu-lab-plain", "gpu-lab-rocket")
    }

    assert labels["gpu-lab-plain"]["nvidia.com/gpu.present"] == "true"
    assert "nvidia.com/gpu.present" not in labels["gpu-lab-rocket"]


def test_a_deploy_leaves_the_size_as_it_is(cluster: Template) -> None:
    _, found = the(cluster, "NodePool", "gpu-lab-plain")
    assert found["spec"]["replicas"] == f"<{step(cluster, 'NodePoolSize', 'plain')}.Replicas>"


def test_the_nodes_of_a_pool_are_those_of_a_node_group_in_all_that_a_class_says(cluster: Template) -> None:
    _, plain = the(cluster, "EC2NodeClass", "gpu-lab-plain")
    _, rocket = the(cluster, "EC2NodeClass", "gpu-lab-rocket")
    spec = plain["spec"]

    assert spec["amiSelectorTerms"] == [{"alias": "al2023@v20260724"}]
    assert spec["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 2,
    }
    assert [
        term["id"].partition("<SecurityGroups")[2][:4] for term in spec["securityGroupSelectorTerms"]
    ] == ["Node", "Auxi"]
    [disk] = spec["blockDeviceMappings"]
    assert (disk["deviceName"], disk["ebs"]["volumeSize"], disk["ebs"]["encrypted"]) == (
        "/dev/xvda",
        "100Gi",
        True,
    )
    assert "dnf install -y tree" in spec["userData"]
    assert "role" not in spec
    assert "userData" not in rocket["spec"]
    assert [disk["deviceName"] for disk in rocket["spec"]["blockDeviceMappings"]] == [
        "/dev/xvda",
        "/dev/xvdb",
    ]


def test_the_bar_is_tried_before_there_is_a_nodepool(cluster: Template) -> None:
    [tried] = cluster.of_type("Custom::LamplighterLaunchBar")
    bar, _ = the(cluster, "ValidatingAdmissionPolicy", "gpu-lab-launch-bar")
    pool, _ = the(cluster, "NodePool", "gpu-lab-plain")

    assert bar in cluster.needs(tried)
    assert tried in cluster.needs(pool)
    assert cluster.resources[tried]["Properties"]["Pools"] == "plain,rocket"


def test_the_gate_comes_before_anything_of_a_pool_changes_and_the_size_right_before_the_pool(
    cluster: Template,
) -> None:
    gate, size = step(cluster, "Gate", "plain"), step(cluster, "NodePoolSize", "plain")
    node_class, _ = the(cluster, "EC2NodeClass", "gpu-lab-plain")
    pool, _ = the(cluster, "NodePool", "gpu-lab-plain")

    assert gate in cluster.needs(node_class)
    assert node_class in cluster.needs(size)
    between = cluster.needs(pool) - cluster.needs(gate) - {gate, size, node_class}
    assert {cluster.resources[name]["Type"] for name in between} <= {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::Subnet",
        "AWS::IAM::InstanceProfile",
    }


def test_karpenter_is_deleted_after_the_nodepools_and_before_the_system_nodes(cluster: Template) -> None:
    """Only the controller takes the finalizers off their objects. What a resource needs is deleted after it."""
    pool, _ = the(cluster, "NodePool", "gpu-lab-plain")
    controller = cluster.name("Custom::AWSCDK-EKS-HelmChart", Release="karpenter")
    system = cluster.name("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-1")

    assert controller in cluster.needs(pool)
    assert system in cluster.needs(controller)


def test_eks_lets_the_nodes_in_before_there_is_a_pool(cluster: Template) -> None:
    pool, _ = the(cluster, "NodePool", "gpu-lab-plain")
    assert cluster.name("AWS::EKS::AccessEntry", Type="EC2_LINUX") in cluster.needs(pool)
    role = cluster.one("AWS::IAM::Role", RoleName="gpu-lab-ap-northeast-2-karpenter-node")
    # The last one denies sizing.
    assert len(role["ManagedPolicyArns"]) == 5


def digests(assembly: Assembly) -> dict[str, str]:
    gates = assembly.template("gpu-lab-cluster").properties("Custom::LamplighterGate")
    return {gate["Pool"]: gate["Digest"] for gate in gates}


def test_the_gate_is_asked_only_when_the_pool_changes(synthesise: Callable[..., Assembly]) -> None:
    changes: dict[str, dict[str, object]] = {
        "nodes": {"max_nodes": 1},
        "type": {"instance_type": "g5.2xlarge"},
        "image": {"image": "al2023@v20260801"},
        "disk": {"disk_gib": 200},
        "grace": {"drain": "5m"},
        "labels": {"labels": {"a": "b"}},
        "packages": {"packages": []},
        "zone": {"zone_index": 2},
    }
    lab: dict[str, object] = {"cluster": {"karpenter": {}}}
    window = {"name": "evening", "pool": "type", "days": "daily", "start": "20:00", "end": "21:00"}
    plain = {name: {"kind": "karpenter"} for name in changes}

    before = digests(synthesise(**lab, pools=plain))
    with_window = digests(synthesise(**lab, pools=plain, windows=[window]))
    changed = digests(
        synthesise(**lab, pools={name: {"kind": "karpenter", **keys} for name, keys in changes.items()})
    )

    assert with_window == before
    assert {name for name in changes if changed[name] != before[name]} == changes.keys()


def test_a_pool_of_auto_mode_has_a_class_of_its_own_and_no_built_in_one(auto_mode: Assembly) -> None:
    cluster = auto_mode.template("gpu-lab-cluster")
    _, found = the(cluster, "NodePool", "gpu-lab-gpu")
    _, of_nodes = the(cluster, "NodeClass", "gpu-lab-gpu")

    assert found["spec"]["template"]["spec"]["nodeClassRef"] == {
        "group": "eks.amazonaws.com",
        "kind": "NodeClass",
        "name": "gpu-lab-gpu",
    }
    assert of_nodes["spec"].keys() == {
        "role",
        "subnetSelectorTerms",
        "securityGroupSelectorTerms",
        "ephemeralStorage",
    }
    of_cluster = cluster.one("AWS::EKS::Cluster")
    assert of_cluster["ComputeConfig"] == {"Enabled": True, "NodePools": []}
    assert of_cluster["StorageConfig"] == {"BlockStorage": {"Enabled": True}}
    assert of_cluster["KubernetesNetworkConfig"] == {"ElasticLoadBalancing": {"Enabled": True}}


def test_a_pool_with_efa_has_an_interface_for_it_on_each_card(synthesise: Callable[..., Assembly]) -> None:
    pool = {"kind": "auto-mode", "instance_type": "p4d.24xlarge", "efa": True, "price_per_hour": "32.77"}
    cluster = synthesise(**{**AUTO_MODE, "pools": {"gpu": pool}}).template("gpu-lab-cluster")
    _, of_nodes = the(cluster, "NodeClass", "gpu-lab-gpu")

    interfaces = of_nodes["spec"]["advancedNetworking"]["networkInterfaces"]
    assert [
        (each["networkCardIndex"], each["deviceIndex"], each["interfaceType"]) for each in interfaces
    ] == [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only"), (2, 0, "efa-only"), (3, 0, "efa-only")]
    # EKS adds no address later: a node without these has none for its pods.
    assert [each.get("secondaryIPv4PrefixCount", 0) for each in interfaces] == [2, 0, 0, 0, 0]


def test_nodes_with_efa_exchange_everything_by_a_group_of_their_own(
    synthesise: Callable[..., Assembly],
) -> None:
    """EFA's traffic needs rules to and from the group itself; a rule by address does not allow it."""
    pools = {
        "fast": {"kind": "auto-mode", "instance_type": "g5.8xlarge", "efa": True, "price_per_hour": "3"},
        "plain": {"kind": "auto-mode", "instance_type": "g5.xlarge", "price_per_hour": "2"},
    }
    cluster = synthesise(**{**AUTO_MODE, "pools": pools}).template("gpu-lab-cluster")
    specs = {pool: the(cluster, "NodeClass", f"gpu-lab-{pool}")[1]["spec"] for pool in pools}
    groups = {
        pool: [term["id"] for term in spec["securityGroupSelectorTerms"]] for pool, spec in specs.items()
    }
    [efa] = [group for group in groups["fast"] if group not in groups["plain"]]
    own = {"Fn::GetAtt": efa.strip("<>").split(".")}

    assert groups["fast"] == [*groups["plain"], efa]
    assert cluster.one("AWS::EC2::SecurityGroupEgress", GroupId=own)["DestinationSecurityGroupId"] == own
    assert cluster.one("AWS::EC2::SecurityGroupIngress", GroupId=own)["SourceSecurityGroupId"] == own


def test_auto_mode_launches_with_the_cluster_s_role_and_its_nodes_come_by_their_own(
    auto_mode: Assembly,
) -> None:
    cluster = auto_mode.template("gpu-lab-cluster")
    role = cluster.one("AWS::IAM::Role", RoleName="gpu-lab-ap-northeast-2-control-plane")
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    attached = {str(arn["Fn::Join"][1][-1]).rpartition("/")[2] for arn in role["ManagedPolicyArns"]}
    assert attached == {
        "AmazonEKSBlockStoragePolicy",
        "AmazonEKSClusterPolicy",
        "AmazonEKSComputePolicy",
        "AmazonEKSLoadBalancingPolicy",
        "AmazonEKSNetworkingPolicy",
    }
    entry = cluster.one("AWS::EKS::AccessEntry", Type="EC2")
    [policy] = entry["AccessPolicies"]
    assert str(policy["PolicyArn"]["Fn::Join"][1][-1]).endswith("/AmazonEKSAutoNodePolicy")
    of_nodes = cluster.name("AWS::IAM::Role", RoleName="gpu-lab-ap-northeast-2-auto-mode-node")
    [of_cluster] = cluster.of_type("AWS::EKS::Cluster")
    assert of_nodes in cluster.needs(of_cluster), (
        "EKS has an instance profile of it until the cluster is gone"
    )


def test_a_lab_without_nodepools_has_nothing_of_all_this(synthesise: Callable[..., Assembly]) -> None:
    cluster = synthesise().template("gpu-lab-cluster")

    kinds = {found["kind"] for _, found in objects(cluster)}
    assert not kinds & {"ConfigMap", "NodePool", "ValidatingAdmissionPolicy"}
    assert "karpenter" not in str(cluster.properties("Custom::AWSCDK-EKS-HelmChart"))
    assert "ComputeConfig" not in cluster.one("AWS::EKS::Cluster")
