"""Node groups of several operating systems beside each other: each boots from the user data that the stacks wrote."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from local.kubernetes.api import Object
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

OWN = "ami-0123456789abcdef0"
LAB = f"""
name: systems
time_zone: UTC
gpu_operator: {{enabled: false}}
device_plugin: {{enabled: true}}
cluster:
  node_groups:
    arm: {{ami_type: AL2023_ARM_64_STANDARD, instance_type: t4g.medium, nodes: 1, max_pods: 40, labels: {{tier: arm}}}}
    rocket:
      {{ami_type: BOTTLEROCKET_x86_64, nodes: 2, max_pods: 30, taints: [{{key: team, value: web, effect: NoSchedule}}]}}
    win:
      ami_type: WINDOWS_FULL_2022_x86_64
      nodes: 1
      taints: [{{key: os, value: windows, effect: NoSchedule}}]
    own: {{ami_type: CUSTOM, image: {OWN}, image_family: bottlerocket, nodes: 1, labels: {{tier: own}}}}
"""
#: By group: nodes, operating system, architecture, the beginning of the image's name, pods.
GROUPS = {
    "arm": (1, "linux", "arm64", "Amazon Linux 2023", "40"),
    "rocket": (2, "linux", "amd64", "Bottlerocket OS 1.50.0 (aws-k8s-1.35)", "30"),
    "win": (1, "windows", "amd64", "Windows Server 2022 Datacenter", "9"),
    "own": (1, "linux", "amd64", "Bottlerocket OS 1.50.0 (aws-k8s-1.35)", "29"),
}
IIS = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    """The lab, deployed; its nodes are Ready."""
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield LabDay(cloud)


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_has_the_nodes_of_its_image(lab: LabDay, group: str) -> None:
    number, system, architecture, image, pods = GROUPS[group]

    found = nodes(lab, f"systems-{group}")

    assert len(found) == number
    for node in found:
        said = node["status"]["nodeInfo"]
        assert (said["operatingSystem"], said["architecture"]) == (system, architecture)
        assert said["osImage"].startswith(image)
        assert node["status"]["capacity"]["pods"] == pods


def test_labels_and_taints_are_those_of_the_lab(lab: LabDay) -> None:
    assert nodes(lab, "systems-arm")[0]["metadata"]["labels"]["tier"] == "arm"
    assert nodes(lab, "systems-own")[0]["metadata"]["labels"]["tier"] == "own"
    taints = nodes(lab, "systems-rocket")[0]["spec"]["taints"]
    assert [(one["key"], one["value"], one["effect"]) for one in taints] == [("team", "web", "NoSchedule")]


def test_a_pod_runs_on_windows(lab: LabDay) -> None:
    admin = lab.cloud.control_plane.admin()
    where = "/api/v1/namespaces/default/pods"
    spec = {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "tolerations": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        "containers": [{"name": "iis", "image": IIS}],
    }
    admin.create(where, {"metadata": {"name": "iis"}, "spec": spec})
    running = lambda _: admin.get(f"{where}/iis")["status"].get("phase") == "Running"  # noqa: E731
    lab.until("IIS runs", running, timedelta(minutes=15))


def nodes(lab: LabDay, group: str) -> list[Object]:
    address = f"/api/v1/nodes?labelSelector=eks.amazonaws.com/nodegroup={group}"
    found: list[Object] = lab.cloud.control_plane.admin().get(address)["items"]
    return found
