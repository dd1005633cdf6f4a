"""GPUs without the operator: the device plugin's chart by real helm, and a plugin that the image brings along."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from lamplighter import clock
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.apply import apply_gpu_settings
from lamplighter.application.cluster.judge import PLUGINS
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.settings import await_gpus
from lamplighter.domain.gpu import device_plugin
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import BootStage, Noted, Stage
from lamplighter.domain.money.money import Money
from lamplighter.errors import TryLater
from lamplighter.lab.gpu_settings import over
from lamplighter.lab.model import Lab as LabFile
from lamplighter.values.instant import written
from local.fleet.machine import Machine
from tests.local.cluster.lab import Lab, await_true

WINDOW = {"name": "class", "pool": "plain", "days": "daily", "start": "10:00", "end": "11:00"}
LAB: dict[str, Any] = {
    "name": "lab",
    "gpu_operator": {"enabled": False},
    "device_plugin": {"enabled": True},
    "pools": {"plain": {}, "rocket": {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"}},
    "windows": [{**WINDOW, "gpu": {"share": 4}}],
}
WITHOUT_OPERATOR = LabFile.model_validate(LAB)
WITH_DISCOVERY = LabFile.model_validate(
    {**LAB, "device_plugin": {"enabled": True, "values": {"gfd": {"enabled": True}}}}
)
# Beside the operator that the other tests use: it leaves these nodes alone.
OPERANDS_OFF = {"nvidia.com/gpu.deploy.operands": "false"}
APART: Any = {"nfd": {"worker": {"nodeSelector": OPERANDS_OFF}}}


@dataclass(frozen=True)
class Told(Run):
    """A run whose leases are told by the test."""

    told: tuple[Lease, ...] = ()

    def leases(self) -> list[Lease]:
        return list(self.told)

    def begin(self, stage: Stage, of: int) -> None:
        """How far it is concerns nobody here."""

    def note(self, stage: Stage, done: int, of: int) -> None:
        """How far it is concerns nobody here."""

    def note_boot(self, stages: Mapping[BootStage, Noted]) -> None:
        """How far it is concerns nobody here."""


@pytest.fixture
def chart(lab, helm, plugin_charts) -> Iterator[Callable[[LabFile], None]]:
    """Installs the chart as a lab has it; gone afterwards.

    Discovery keeps away from the nodes of the operator: at its end it takes its labels from its nodes.
    """
    release = (device_plugin.RELEASE, "--namespace", WITHOUT_OPERATOR.device_plugin.namespace)

    def install(lab_file: LabFile) -> None:
        installed = helm(
            *(
                "upgrade",
                "--install",
                device_plugin.RELEASE,
                device_plugin.CHART,
                "--repo",
                plugin_charts.url,
            ),
            *("--version", lab_file.device_plugin.version, *release[1:], "--create-namespace"),
            *("--wait", "--timeout", "4m"),
            values=over(device_plugin.chart_values(lab_file), APART),
        )
        assert installed.returncode == 0, installed.stderr

    yield install
    helm("uninstall", *release, "--wait")


@pytest.fixture
def node(lab) -> Iterator[Callable[..., Machine]]:
    """A GPU node of a pool, with the labels that EKS gives it; ended afterwards."""
    made: list[Machine] = []

    def start(pool: str, ami_type: str = "AL2023_x86_64_NVIDIA") -> Machine:
        group = WITHOUT_OPERATOR.nodegroup_name(pool)
        labels = OPERANDS_OFF | {"eks.amazonaws.com/nodegroup": group}
        taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
        made.append(lab.machine("g5.xlarge", group, ami_type, taints=[taint], labels=labels))
        return made[-1]

    yield start
    for machine in made:
        lab.end(machine)


def opened(lab: Lab, lab_file: LabFile, connection: Connection, machine: Machine, window: str | None) -> Any:
    """ApplyGpuSettings, then AwaitGpus until it answers."""
    now = clock.now()
    pool = machine.nodegroup.removeprefix("lab-ng-")
    lease = Lease(
        id="evening",
        pool=pool,
        nodes=1,
        owner="class",
        source="window",
        state=LeaseState.OPENING,
        opens=now,
        closes=now + timedelta(hours=3),
        window=window,
        hold=Money.of("3", "USD"),
    )
    # Launched by the time of Kubernetes, so that nothing is late while a busy machine is slow.
    instance = {"id": machine.instance_id, "launched": written(now + timedelta(hours=1))}
    results: dict[str, Any] = {"AwaitNodes": {"instances": [instance]}}
    run = Told(pool, lease.id, results, (lease,))
    results["ApplyGpuSettings"] = apply_gpu_settings(run, lab_file, connection)

    def answer() -> Any:
        with suppress(TryLater):
            return await_gpus(run, lab_file, connection)
        return None

    return await_true(answer, f"the GPUs of {machine.node_name} are there")


def test_the_chart_s_nodes_open_by_what_can_be_allocated(lab, chart, node, enter):
    chart(WITHOUT_OPERATOR)
    machine = node("plain")

    found = opened(lab, WITHOUT_OPERATOR, enter("cluster"), machine, None)

    assert [(each["gpus"], each["ready"]) for each in found["nodes"]] == [(1, True)]
    labels = lab.node(machine)["metadata"]["labels"]
    assert not [name for name in labels if name.startswith("nvidia.com/gpu.count")]
    assert lab.pod_of("nvidia-operator-validator", machine) is None
    # The plugin's log is found beside the container that watches the node's label.
    key, value, container = PLUGINS[1]
    pods = lab.kubernetes.get(f"/api/v1/pods?labelSelector={key}={value}")["items"]
    [pod] = [each for each in pods if each["spec"].get("nodeName") == machine.node_name]
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/log"
    printed = lab.kubernetes.text(f"{path}?container={container}")
    assert "Registered device plugin for 'nvidia.com/gpu' with Kubelet" in printed


def test_a_window_shares_them_without_anybody_labelling_what_it_found(lab, chart, node, enter):
    chart(WITHOUT_OPERATOR)
    machine = node("plain")

    found = opened(lab, WITHOUT_OPERATOR, enter("cluster"), machine, "class")

    assert [each["gpus"] for each in found["nodes"]] == [4]
    assert lab.allocatable(machine) == "4"


def test_with_feature_discovery_its_labels_are_waited_for_too(lab, chart, node, enter):
    chart(WITH_DISCOVERY)
    machine = node("plain")

    found = opened(lab, WITH_DISCOVERY, enter("cluster"), machine, "class")

    assert [each["gpus"] for each in found["nodes"]] == [4]
    assert lab.node(machine)["metadata"]["labels"]["nvidia.com/gpu.replicas"] == "4"


def test_bottlerocket_announces_its_gpus_by_itself(lab, node, enter):
    machine = node("rocket", "BOTTLEROCKET_x86_64_NVIDIA")

    found = opened(lab, WITHOUT_OPERATOR, enter("cluster"), machine, None)

    assert [each["gpus"] for each in found["nodes"]] == [1]
    here = lab.kubernetes.get(f"/api/v1/pods?fieldSelector=spec.nodeName={machine.node_name}")["items"]
    assert not [pod for pod in here if "nvidia" in pod["metadata"]["name"]]


def test_the_operator_keeps_away_from_a_node_that_is_labelled_so(lab, node):
    machine = node("rocket", "BOTTLEROCKET_x86_64_NVIDIA")
    await_true(lambda: lab.allocatable(machine) == "1", "its own plugin announces its GPU")
    pci = "feature.node.kubernetes.io/pci-10de.present"
    await_true(lambda: lab.node(machine)["metadata"]["labels"].get(pci), "discovery has found its GPU")
    asked = "nvidia.com/gpu.deploy.device-plugin"
    await_true(
        lambda: lab.node(machine)["metadata"]["labels"].get(asked) == "false", "the operator has seen it"
    )
    assert lab.pod_of("nvidia-device-plugin-daemonset", machine) is None
