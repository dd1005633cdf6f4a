"""A lab without the GPU Operator: pools of x86 and of ARM use the device plugin's own chart, one that of its image.

Beside them are node groups of several operating systems. Each boots from the user data that the stacks wrote.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.kubernetes.api import Object
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

OWN = "ami-0123456789abcdef0"
LAB = f"""
name: plain
time_zone: UTC
gpu_operator: {{enabled: false}}
device_plugin: {{enabled: true}}
dcgm_exporter: {{enabled: true}}
pools:
  gpu: {{max_nodes: 1}}
  arm: {{max_nodes: 1, instance_type: g5g.xlarge, ami_type: AL2023_ARM_64_NVIDIA}}
  rocket: {{max_nodes: 1, ami_type: BOTTLEROCKET_x86_64_NVIDIA}}
windows:
  - {{name: class, pool: gpu, dates: [2026-12-01], start: "12:05", end: "13:30", gpu: {{share: 4}}}}
cluster:
  node_monitoring: true
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
CLASS = "class-2026-12-01"
PROVEN = {"allocatable", "nvidia-smi", "vectoradd"}


@pytest.fixture(scope="module")
def plain(device_plugin_chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    del device_plugin_chart  # only its presence counts
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield LabDay(cloud)


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_has_the_nodes_of_its_image(plain: LabDay, group: str) -> None:
    number, system, architecture, image, pods = GROUPS[group]

    found = nodes(plain, f"plain-{group}")

    assert len(found) == number
    for node in found:
        said = node["status"]["nodeInfo"]
        assert (said["operatingSystem"], said["architecture"]) == (system, architecture)
        assert said["osImage"].startswith(image)
        assert node["status"]["capacity"]["pods"] == pods


def test_labels_and_taints_are_those_of_the_lab(plain: LabDay) -> None:
    assert nodes(plain, "plain-arm")[0]["metadata"]["labels"]["tier"] == "arm"
    assert nodes(plain, "plain-own")[0]["metadata"]["labels"]["tier"] == "own"
    taints = nodes(plain, "plain-rocket")[0]["spec"]["taints"]
    assert [(one["key"], one["value"], one["effect"]) for one in taints] == [("team", "web", "NoSchedule")]


def test_a_pod_runs_on_windows(plain: LabDay) -> None:
    admin = plain.cloud.control_plane.admin()
    where = "/api/v1/namespaces/default/pods"
    spec = {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "tolerations": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        "containers": [{"name": "iis", "image": IIS}],
    }
    admin.create(where, {"metadata": {"name": "iis"}, "spec": spec})
    running = lambda _: admin.get(f"{where}/iis")["status"].get("phase") == "Running"  # noqa: E731
    plain.until("IIS runs", running, timedelta(minutes=15))


@pytest.fixture(scope="module")
def leases(plain: LabDay) -> dict[str, Lease]:
    """The leases of all pools, once each is open or has failed."""
    names = {"gpu": CLASS}
    for pool in ("arm", "rocket"):
        said = plain.command("open", pool, "1", "for", "1h", "--json")
        assert said.code == 0, said
        names[pool] = str(said.document["lease"]["id"])

    def now() -> dict[str, Lease]:
        found = {pool: plain.ledger.lease(pool, name) for pool, name in names.items()}
        return {pool: lease for pool, lease in found.items() if lease is not None}

    def ended(lease: Lease) -> bool:
        """Waits for the end of the run: the proof is written after the lease is open, and before its notice."""
        ready = lease.ready
        said = ready and any(entry.at >= ready for entry in entries(plain, lease.pool, "announced"))
        return lease.state in {LeaseState.CLOSED, LeaseState.REFUSED} or bool(said)

    plain.until(
        "all pools are open",
        lambda _: len(now()) == len(names) and all(ended(lease) for lease in now().values()),
        timedelta(minutes=30),
    )
    return now()


def test_each_pool_opens_to_proven_gpus(plain: LabDay, leases: dict[str, Lease]) -> None:
    for pool, lease in leases.items():
        assert lease.state is LeaseState.OPEN, (pool, lease)
        proven = entries(plain, pool, "verdict")
        passed = {str(entry.what).partition(" ")[0] for entry in proven if " passed on " in str(entry.what)}
        assert passed >= PROVEN, [entry.what for entry in proven]
        assert len(passed) == len(proven), [(entry.what, entry.why) for entry in proven]

    seats = {pool["pool"]: pool["seats"] for pool in plain.command("status", "--json").document["pools"]}
    assert seats["gpu"]["count"] == 4


def test_the_exporter_shows_metrics_of_the_gpus_that_the_chart_announces(
    plain: LabDay, leases: dict[str, Lease]
) -> None:
    admin = plain.cloud.control_plane.admin()
    groups = {
        node["metadata"]["name"]: node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"]
        for node in admin.get("/api/v1/nodes")["items"]
    }
    exporters = "/api/v1/namespaces/dcgm-exporter/pods"

    def working() -> set[str]:
        return {
            groups[pod["spec"]["nodeName"]]
            for pod in admin.get(exporters)["items"]
            if all(one["ready"] for one in pod["status"].get("containerStatuses", [{"ready": False}]))
        }

    announced = {"plain-ng-gpu", "plain-ng-arm"}
    plain.until("the exporters are ready", lambda _: working() >= announced, timedelta(minutes=10))
    assert working() == announced
    assert set(leases) == {"gpu", "arm", "rocket"}


def test_that_there_is_no_operator_is_no_finding(plain: LabDay, leases: dict[str, Lease]) -> None:
    for pool in leases:
        assert diagnosed(plain, pool)["findings"] == []


def test_a_broken_gpu_is_said_by_the_monitoring_agent_and_found(
    plain: LabDay, leases: dict[str, Lease]
) -> None:
    admin = plain.cloud.control_plane.admin()

    def hardware() -> dict[str, str]:
        nodes = admin.get("/api/v1/nodes?labelSelector=eks.amazonaws.com/nodegroup=plain-ng-rocket")["items"]
        conditions = [condition for node in nodes for condition in node["status"]["conditions"]]
        return next((one for one in conditions if one["type"] == "AcceleratedHardwareReady"), {})

    def found(pool: str) -> list[str]:
        return [each["cause"] for each in diagnosed(plain, pool)["findings"]]

    plain.until("the agent is content", lambda _: hardware().get("status") == "True", timedelta(minutes=5))
    plain.cloud.fault_on("xid", "rocket")
    plain.until("the agent says so", lambda _: hardware().get("status") == "False", timedelta(minutes=5))

    assert hardware()["reason"] == "NvidiaXID79Error"
    plain.until("it is found", lambda _: found("rocket") == ["xid"], timedelta(minutes=5))
    assert found("gpu") == []


def entries(lab: LabDay, pool: str, kind: str) -> list[Entry]:
    return [entry for entry in lab.ledger.audit(pool, NOON) if entry.kind == kind]


def diagnosed(lab: LabDay, pool: str) -> dict[str, Any]:
    """A live diagnosis by the command line."""
    said = lab.command("diagnose", pool, "--json", "-")
    assert said.code == 0, said
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def nodes(plain: LabDay, group: str) -> list[Object]:
    address = f"/api/v1/nodes?labelSelector=eks.amazonaws.com/nodegroup={group}"
    found: list[Object] = plain.cloud.control_plane.admin().get(address)["items"]
    return found
