"""Several instance types and zones in templates: on the node group, in a NodePool's requirements, in the outputs."""

import json
from collections.abc import Callable

import pytest

from tests.infra.conftest import Assembly, Resource, Template, checked
from tests.infra.node_pools.manifests import the

LAB = {
    "name": "gpu-lab",
    "notify": {"email": "oncall@example.com"},
    "cluster": {"karpenter": {"version": "1.14.3"}},
    "pools": {
        "gpu": {"instance_types": ["g6.xlarge", "g5.xlarge"], "zones": [2, 0]},
        "one": {"instance_types": ["g5.xlarge"], "zones": [0]},
        "plain": {},
        "nodes": {"kind": "karpenter", "instance_types": ["g6.xlarge", "g5.xlarge"], "zones": [2, 0]},
    },
}
fast = checked(LAB)


@pytest.fixture
def cluster(fast: Assembly) -> Template:
    return fast.template("gpu-lab-cluster")


def group(cluster: Template, pool: str) -> Resource:
    return cluster.one("AWS::EKS::Nodegroup", NodegroupName=f"gpu-lab-ng-{pool}")


def template(cluster: Template, pool: str) -> Resource:
    content = cluster.resources[group(cluster, pool)["LaunchTemplate"]["Id"]["Ref"]]["Properties"]
    found: Resource = content["LaunchTemplateData"]
    return found


def zones(cluster: Template, subnets: list[dict[str, str]]) -> list[str]:
    return [cluster.resources[subnet["Ref"]]["Properties"]["AvailabilityZone"] for subnet in subnets]


def test_several_types_are_on_the_group_in_their_order_and_none_is_in_its_template(cluster: Template) -> None:
    assert group(cluster, "gpu")["InstanceTypes"] == ["g6.xlarge", "g5.xlarge"]
    assert "InstanceType" not in template(cluster, "gpu")
    assert group(cluster, "gpu")["CapacityType"] == "ON_DEMAND"


@pytest.mark.parametrize("pool", ["one", "plain"])
def test_one_type_stays_in_the_template_where_a_change_rolls(cluster: Template, pool: str) -> None:
    assert "InstanceTypes" not in group(cluster, pool)
    assert template(cluster, pool)["InstanceType"] == "g5.xlarge"


def test_a_group_has_the_private_subnet_of_each_zone(cluster: Template) -> None:
    several = group(cluster, "gpu")["Subnets"]

    assert zones(cluster, several) == ["ap-northeast-2c", "ap-northeast-2a"]
    assert zones(cluster, group(cluster, "plain")["Subnets"]) == ["ap-northeast-2a"]
    assert cluster.outputs["GpuSubnetAz"] == "ap-northeast-2c,ap-northeast-2a"
    assert cluster.outputs["GpuSubnetId"] == {"Fn::Join": [",", several]}
    assert cluster.outputs["PlainSubnetId"] == group(cluster, "plain")["Subnets"][0]


def test_a_nodepool_requires_one_of_the_types_in_one_of_the_zones(cluster: Template) -> None:
    _, found = the(cluster, "NodePool", "gpu-lab-nodes")
    requirements = {one["key"]: one for one in found["spec"]["template"]["spec"]["requirements"]}
    _, node_class = the(cluster, "EC2NodeClass", "gpu-lab-nodes")

    assert requirements["node.kubernetes.io/instance-type"]["values"] == ["g6.xlarge", "g5.xlarge"]
    assert requirements["topology.kubernetes.io/zone"]["values"] == ["ap-northeast-2c", "ap-northeast-2a"]
    assert {one["operator"] for one in requirements.values()} == {"In"}
    named = [one["id"] for one in node_class["spec"]["subnetSelectorTerms"]]
    assert named == [f"<{subnet['Ref']}>" for subnet in group(cluster, "gpu")["Subnets"]]


def test_only_a_lab_with_a_group_in_several_zones_may_stop_its_rebalancing(
    fast: Assembly, synthesise: Callable[..., Assembly]
) -> None:
    def granted(assembly: Assembly) -> bool:
        return "autoscaling:SuspendProcesses" in json.dumps(assembly.template("gpu-lab-controller").document)

    assert granted(fast)
    assert not granted(synthesise())
