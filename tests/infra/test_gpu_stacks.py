"""The cluster of a lab whose GPUs the device plugin's own chart announces, or what its images bring along."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks

from lamplighter.lab import Lab
from stacks.assembly import build
from tests.infra.conftest import Assembly, Template
from tests.infra.test_checks import NOT_FOLLOWED

ROCKET = {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"}
LAB = {
    "name": "gpu-lab",
    "notify": {"email": "oncall@example.com"},
    "cluster": {"node_monitoring": True},
    "gpu_operator": {"enabled": False},
    "device_plugin": {"enabled": True},
    "pools": {"gpu": {}, "rocket": ROCKET},
    "windows": [
        {"name": "class", "pool": "gpu", "days": "mon", "start": "10:00", "end": "11:00", "gpu": {"share": 4}}
    ],
}


@pytest.fixture(scope="module")
def without_operator(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """One pool by the chart, one with a plugin in its image, under cdk-nag."""
    folder = tmp_path_factory.mktemp("without-operator")
    app = build(Lab.model_validate(LAB), folder)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    app.synth()
    return Assembly(folder)


@pytest.fixture
def cluster(without_operator: Assembly) -> Template:
    return without_operator.template("gpu-lab-cluster")


def test_the_checkers_find_nothing_unexplained(without_operator: Assembly) -> None:
    assert without_operator.violations() == []
    template = str(without_operator.folder / "gpu-lab-cluster.template.json")
    checked = subprocess.run(
        [
            *(str(Path(sys.executable).parent / "cfn-lint"), "--regions", "ap-northeast-2"),
            *("--ignore-checks", *NOT_FOLLOWED, "--template", template),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == ""


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


def test_a_node_gets_one_plugin(cluster: Template) -> None:
    [chart] = cluster.properties("Custom::AWSCDK-EKS-HelmChart")
    affinity = json.dumps(json.loads(chart["Values"])["affinity"])
    assert "gpu-lab-ng-gpu" in affinity
    assert "gpu-lab-ng-rocket" not in affinity


def test_the_monitoring_agent_is_an_add_on_that_needs_nodes(cluster: Template) -> None:
    [name] = [
        name
        for name, found in cluster.of_type("AWS::EKS::Addon").items()
        if found["Properties"]["AddonName"] == "eks-node-monitoring-agent"
    ]
    kinds = {cluster.resources[needed]["Type"] for needed in cluster.needs(name)}
    assert "AWS::EKS::Nodegroup" in kinds


def test_without_being_asked_there_is_no_monitoring_agent(assembly: Assembly) -> None:
    add_ons = assembly.template("gpu-lab-cluster").properties("AWS::EKS::Addon")
    assert "eks-node-monitoring-agent" not in {found["AddonName"] for found in add_ons}


def test_the_operator_keeps_away_from_nodes_with_a_plugin_of_their_own(
    synthesise: Callable[..., Assembly],
) -> None:
    cluster = synthesise(pools={"gpu": {}, "rocket": ROCKET}).template("gpu-lab-cluster")

    off = {"nvidia.com/gpu.deploy.operands": "false"}
    rocket = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-rocket")
    assert off.items() <= rocket["Labels"].items()
    gpu = cluster.one("AWS::EKS::Nodegroup", NodegroupName="gpu-lab-ng-gpu")
    assert not off.items() & gpu["Labels"].items()
