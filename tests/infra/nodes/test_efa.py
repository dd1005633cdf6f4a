"""EFA in templates: a node group's interfaces, security groups and placement group, a NodePool's, and the plugin."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.infra.cfn_lint import NOTHING, complaints
from tests.infra.conftest import Assembly, Resource, Template, checked
from tests.infra.node_pools.manifests import the
from tests.infra.nodes.test_changes import happens

LAB = {
    "name": "gpu-lab",
    "notify": {"email": "oncall@example.com"},
    "cluster": {"karpenter": {"version": "1.14.3"}},
    "pools": {
        "gpu": {"instance_type": "p4d.24xlarge", "efa": True, "price_per_hour": "32.77"},
        "plain": {},
        "nodes": {"kind": "karpenter", "instance_type": "g5.8xlarge", "efa": True, "price_per_hour": "3"},
    },
}
fast = checked(LAB)


def launch_template(cluster: Template, nodegroup: str) -> Resource:
    group = cluster.one("AWS::EKS::Nodegroup", NodegroupName=nodegroup)
    content = cluster.resources[group["LaunchTemplate"]["Id"]["Ref"]]["Properties"]
    found: Resource = content["LaunchTemplateData"]
    return found


@pytest.fixture
def cluster(fast: Assembly) -> Template:
    return fast.template("gpu-lab-cluster")


def test_each_interface_of_a_group_s_node_has_every_group_and_no_subnet(cluster: Template) -> None:
    plain, efa = (launch_template(cluster, f"gpu-lab-ng-{pool}") for pool in ("plain", "gpu"))
    interfaces = efa["NetworkInterfaces"]

    assert [(one["NetworkCardIndex"], one["DeviceIndex"], one["InterfaceType"]) for one in interfaces] == [
        (0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only"), (2, 0, "efa-only"), (3, 0, "efa-only"),
    ]  # fmt: skip
    own = cluster.name("AWS::EC2::SecurityGroup", GroupDescription="Nodes with EFA, among each other")
    wanted = [*plain["SecurityGroupIds"], {"Fn::GetAtt": [own, "GroupId"]}]
    assert all(one["Groups"] == wanted and "SubnetId" not in one for one in interfaces)
    # EC2 refuses groups beside interfaces.
    assert "SecurityGroupIds" not in efa


def test_a_group_s_nodes_stand_close_together(cluster: Template) -> None:
    group = cluster.name("AWS::EC2::PlacementGroup", Strategy="cluster")
    assert launch_template(cluster, "gpu-lab-ng-gpu")["Placement"] == {"GroupName": {"Ref": group}}
    assert "Placement" not in launch_template(cluster, "gpu-lab-ng-plain")


def test_a_node_of_karpenter_has_the_same_interfaces_and_group(cluster: Template) -> None:
    _, found = the(cluster, "EC2NodeClass", "gpu-lab-nodes")
    own = cluster.name("AWS::EC2::SecurityGroup", GroupDescription="Nodes with EFA, among each other")

    assert found["spec"]["networkInterfaces"] == [
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
    ]
    assert {"id": f"<{own}.GroupId>"} in found["spec"]["securityGroupSelectorTerms"]


def test_the_plugin_runs_on_the_pools_types_and_no_other_plugin_takes_its_devices(cluster: Template) -> None:
    charts = {one.get("Chart"): one for one in cluster.properties("Custom::AWSCDK-EKS-HelmChart")}
    plugin = charts["aws-efa-k8s-device-plugin"]

    assert (plugin["Version"], plugin["Namespace"]) == ("v0.5.30", "kube-system")
    assert json.loads(plugin["Values"]) == {
        "supportedInstanceLabels": {"values": ["g5.8xlarge", "p4d.24xlarge"]},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    operator = json.loads(charts["gpu-operator"]["Values"])
    assert operator["devicePlugin"]["env"] == [{"name": "MOFED_ENABLED", "value": "false"}]


def test_nothing_complains_of_it(fast: Assembly) -> None:
    assert fast.violations() == []
    assert complaints([Path(fast.folder / "gpu-lab-cluster.template.json")]) == NOTHING


def test_efa_on_a_pool_that_is_there_rolls_its_nodes(synthesise: Callable[..., Assembly]) -> None:
    large = {"instance_type": "g5.8xlarge", "price_per_hour": "3"}
    before, now = (
        synthesise(pools={"gpu": {**large, **more}}).template("gpu-lab-cluster")
        for more in ({}, {"efa": True})
    )
    assert happens(before, now, "gpu-lab-ng-gpu") == "rolled"
