"""The cluster of a lab whose GPUs the device plugin's own chart announces, or what its images bring along."""

import json
from collections.abc import Callable

import pytest

from stacks.layer import CHECKOUT
from tests.examples import on_a_node_group
from tests.infra.conftest import WITHOUT_OPERATOR, Assembly, Template


@pytest.fixture
def cluster(without_operator: Assembly) -> Template:
    return without_operator.template("gpu-lab-cluster")


def test_the_device_plugin_s_chart_stands_in_for_the_operator(cluster: Template) -> None:
    [(name, chart)] = cluster.of_type("Custom::AWSCDK-EKS-HelmChart").items()
    said = chart["Properties"]
    assert (said["Chart"], said["Version"], said["Release"]) == ("nvidia-device-plugin", "0.18.2", "nvdp")
    assert said["Repository"] == "https://nvidia.github.io/k8s-device-plugin"
    assert (said["Timeout"], said["Wait"]) == ("600s", True)
    values = json.loads(said["Values"])
    assert values["gfd"] == {"enabled": False}
    assert set(values["config"]["map"]) == {"whole", "shared-4"}
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in values["tolerations"]
    assert values["nfd"]["worker"]["tolerations"] == values["tolerations"]
    kinds = {cluster.resources[needed]["Type"] for needed in cluster.needs(name)}
    assert {"AWS::EKS::Nodegroup", "AWS::EKS::Addon"} <= kinds


def test_the_exporter_s_chart_comes_by_its_own_key(synthesise: Callable[..., Assembly]) -> None:
    lab = {**WITHOUT_OPERATOR, "dcgm_exporter": {"enabled": True}, "guard": {"idle_by": "gpu"}}
    cluster = synthesise(**lab).template("gpu-lab-cluster")
    charts = cluster.properties("Custom::AWSCDK-EKS-HelmChart")
    [said] = [chart for chart in charts if chart["Chart"] == "dcgm-exporter"]
    assert (said["Version"], said["Release"], said["Namespace"]) == (
        "4.8.2",
        "dcgm-exporter",
        "dcgm-exporter",
    )
    assert said["Repository"] == "https://nvidia.github.io/dcgm-exporter/helm-charts"
    assert json.loads(said["Values"])["serviceMonitor"] == {"enabled": False}
    # Where the lab takes away the way from the whole VPC, this one stays.
    assert cluster.one("AWS::EC2::SecurityGroupIngress", FromPort=9400)["ToPort"] == 9400
    # Who may ask it comes after the namespace that the chart makes.
    [right] = [
        name
        for name, manifest in cluster.of_type("Custom::AWSCDK-EKS-KubernetesResource").items()
        if "pods/proxy" in json.dumps(manifest["Properties"]["Manifest"])
    ]
    assert "dcgm-exporter" in json.dumps(cluster.resources[right]["Properties"]["Manifest"])
    assert any(
        cluster.resources[name]["Properties"].get("Chart") == "dcgm-exporter" for name in cluster.needs(right)
    )


def test_the_lab_of_the_device_plugin_document_installs_what_the_document_installs(
    synthesise: Callable[..., Assembly],
) -> None:
    lab = on_a_node_group(CHECKOUT / "examples" / "002-device-plugin.yaml")
    cluster = synthesise(**lab).template("training-on-eks-cluster")
    [chart] = cluster.properties("Custom::AWSCDK-EKS-HelmChart")
    assert (chart["Chart"], chart["Version"], chart["Release"]) == ("nvidia-device-plugin", "0.18.2", "nvdp")
    assert chart["Namespace"] == "nvidia"
    assert json.loads(chart["Values"])["gfd"] == {"enabled": True}
    pool = cluster.one("AWS::EKS::Nodegroup", NodegroupName="training-on-eks-ng-gpu")
    assert pool["Taints"] == [{"Key": "nvidia.com/gpu", "Value": "present", "Effect": "NO_SCHEDULE"}]
    assert pool["AmiType"] == "AL2023_x86_64_NVIDIA"


def test_a_node_gets_one_plugin(cluster: Template) -> None:
    [chart] = cluster.properties("Custom::AWSCDK-EKS-HelmChart")
    affinity = json.dumps(json.loads(chart["Values"])["affinity"])
    assert "gpu-lab-ng-gpu" in affinity
    assert "gpu-lab-ng-rocket" not in affinity


def test_the_monitoring_agent_is_an_add_on_that_needs_nodes(cluster: Template) -> None:
    name = cluster.name("AWS::EKS::Addon", AddonName="eks-node-monitoring-agent")
    kinds = {cluster.resources[needed]["Type"] for needed in cluster.needs(name)}
    assert "AWS::EKS::Nodegroup" in kinds


def test_without_being_asked_there_is_no_monitoring_agent(assembly: Assembly) -> None:
    add_ons = assembly.template("gpu-lab-cluster").properties("AWS::EKS::Addon")
    assert "eks-node-monitoring-agent" not in {found["AddonName"] for found in add_ons}


def test_the_operator_keeps_away_from_nodes_with_a_plugin_of_their_own(
    synthesise: Callable[..., Assembly],
) -> None:
    cluster = synthesise(pools=WITHOUT_OPERATOR["pools"]).template("gpu-lab-cluster")

    off = {"nvidia.com/gpu.deploy.operands": "false"}
    rocket = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-rocket")
    assert off.items() <= rocket["Labels"].items()
    gpu = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-gpu")
    assert not off.items() & gpu["Labels"].items()
