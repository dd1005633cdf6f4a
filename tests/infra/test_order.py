"""What must be there before what: at a deploy, and backwards at a destroy."""

import json
from collections.abc import Callable

import pytest

from tests.infra.conftest import Assembly, Template


def add_on(cluster: Template, name: str) -> str:
    (found,) = [
        n for n, r in cluster.of_type("AWS::EKS::Addon").items() if r["Properties"]["AddonName"] == name
    ]
    return found


def node_group(cluster: Template, name: str) -> str:
    groups = cluster.of_type("AWS::EKS::Nodegroup").items()
    (found,) = [n for n, r in groups if r["Properties"]["NodegroupName"] == name]
    return found


def the(template: Template, kind: str) -> str:
    (found,) = template.of_type(kind)
    return found


@pytest.mark.parametrize("name", ["vpc-cni", "kube-proxy", "eks-pod-identity-agent"])
@pytest.mark.parametrize("group", ["gpu-lab-ng-1", "gpu-lab-ng-gpu"])
def test_what_a_node_needs_comes_before_it(cluster: Template, name: str, group: str) -> None:
    assert add_on(cluster, name) in cluster.needs(node_group(cluster, group))


@pytest.mark.parametrize("name", ["coredns", "metrics-server", "external-dns", "cert-manager"])
def test_what_needs_a_node_comes_after_it(cluster: Template, name: str) -> None:
    assert node_group(cluster, "gpu-lab-ng-1") in cluster.needs(add_on(cluster, name))


def test_nodes_come_after_their_way_out(cluster: Template) -> None:
    routes = {n for n, r in cluster.of_type("AWS::EC2::Route").items() if "NatGatewayId" in r["Properties"]}
    assert routes <= cluster.needs(node_group(cluster, "gpu-lab-ng-1"))


def test_the_chart_comes_after_nodes_dns_and_the_right_to_install(cluster: Template) -> None:
    needed = cluster.needs(the(cluster, "Custom::AWSCDK-EKS-HelmChart"))
    assert node_group(cluster, "gpu-lab-ng-1") in needed
    assert add_on(cluster, "coredns") in needed
    assert set(cluster.of_type("AWS::EKS::AccessEntry")) & needed


def test_the_cluster_logs_into_a_group_that_is_declared(cluster: Template) -> None:
    groups = cluster.of_type("AWS::Logs::LogGroup").items()
    (found,) = [n for n, r in groups if r["Properties"].get("LogGroupName") == "/aws/eks/gpu-lab/cluster"]
    assert found in cluster.needs(the(cluster, "AWS::EKS::Cluster"))


def test_the_gate_comes_before_anything_of_a_pool_changes(cluster: Template) -> None:
    gate = the(cluster, "Custom::LamplighterGate")
    group = node_group(cluster, "gpu-lab-ng-gpu")
    template = cluster.resources[group]["Properties"]["LaunchTemplate"]["Id"]["Ref"]
    assert gate in cluster.needs(group)
    assert gate in cluster.needs(template)
    assert gate in cluster.needs(the(cluster, "Custom::LamplighterDesiredSize"))


def test_a_pool_is_shut_as_late_as_can_be(cluster: Template) -> None:
    """Nobody can open it from its gate to its group, so whatever may take long comes before both."""
    gate, size = the(cluster, "Custom::LamplighterGate"), the(cluster, "Custom::LamplighterDesiredSize")
    group = node_group(cluster, "gpu-lab-ng-gpu")
    template = cluster.resources[group]["Properties"]["LaunchTemplate"]["Id"]["Ref"]
    between = cluster.needs(group) - cluster.needs(gate) - {gate, template, size}

    assert template in cluster.needs(size)
    assert {cluster.resources[name]["Type"] for name in between} == {
        "AWS::EC2::SecurityGroup",
        "AWS::IAM::Role",
    }


def test_a_pools_size_is_what_the_group_says(cluster: Template) -> None:
    properties = cluster.resources[node_group(cluster, "gpu-lab-ng-gpu")]["Properties"]
    size = the(cluster, "Custom::LamplighterDesiredSize")
    assert properties["ScalingConfig"]["DesiredSize"] == {"Fn::GetAtt": [size, "DesiredSize"]}


CHANGES_OF_A_POOL = {
    "type": {"instance_type": "g5.2xlarge"},
    "disk": {"disk_gib": 200},
    "nodes": {"max_nodes": 1},
    "labels": {"labels": {"a": "b"}},
}


def digests(assembly: Assembly) -> dict[str, str]:
    gates = assembly.template("gpu-lab-cluster").properties("Custom::LamplighterGate")
    return {gate["Pool"]: gate["Digest"] for gate in gates}


def test_the_gate_is_asked_only_when_the_pool_changes(synthesise: Callable[..., Assembly]) -> None:
    pools: dict[str, object] = {name: {} for name in CHANGES_OF_A_POOL}
    window = {"name": "evening", "pool": "type", "days": "daily", "start": "20:00", "end": "21:00"}

    as_it_is = digests(synthesise(pools=pools))

    assert as_it_is.keys() == pools.keys()
    assert digests(synthesise(pools=pools, windows=[window], guard={"budget": {"amount": "5"}})) == as_it_is
    changed = digests(synthesise(pools=CHANGES_OF_A_POOL))
    assert {pool for pool in pools if changed[pool] != as_it_is[pool]} == pools.keys()


def test_the_last_close_goes_first_when_the_controller_goes(controller: Template) -> None:
    """What a resource needs stays until the resource is deleted: LastClosed needs all there is."""
    last = the(controller, "Custom::LamplighterLastClosed")

    assert controller.needs(last) == set(controller.resources) - {last}


def test_the_controller_comes_after_the_cluster_and_refers_to_nothing_in_it(assembly: Assembly) -> None:
    manifest = json.loads((assembly.folder / "manifest.json").read_text("utf-8"))
    assert "gpu-lab-cluster" in manifest["artifacts"]["gpu-lab-controller"]["dependencies"]
    text = (assembly.folder / "gpu-lab-controller.template.json").read_text("utf-8")
    assert "Fn::ImportValue" not in text
    assert "Export" not in assembly.template("gpu-lab-cluster").document["Outputs"]["ClusterName"]
