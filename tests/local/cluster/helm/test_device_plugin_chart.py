"""NVIDIA's own device-plugin chart on the simulated fleet, on nodes that the operator beside it leaves alone."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.application.cluster.validate import validate
from lamplighter.domain.checks.ladder import LADDERS
from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.gpu import device_plugin
from lamplighter.lab.gpu_settings import over
from lamplighter.lab.model import Lab as LabFile
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from lamplighter.values.json_value import JsonValue
from local.fleet.machine import Machine
from tests.local.cluster.lab import Lab, await_true
from tests.local.cluster.test_cluster_steps import Told, connection, lease, poll

__all__ = ["connection"]

RELEASE = (device_plugin.RELEASE, "--namespace", "nvidia")
PRESENT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TRUE = {**PRESENT, "value": "true"}
#: It keeps the operator's feature discovery away, so that only the chart's can label the node.
APART = {"key": "lamplighter.test/apart", "value": "", "effect": "NoSchedule"}
TOLERATES_APART = {"key": APART["key"], "operator": "Exists"}
#: The chart's own tolerations (its values.yaml), and one for the taint above.
PLUGIN_TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, TOLERATES_APART]
WORKER_TOLERATES = [
    {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
    TOLERATES_APART,
]
OF_THE_DOCUMENT: dict[str, Any] = {
    "gfd": {"enabled": True},
    "tolerations": PLUGIN_TOLERATES,
    "nfd": {"worker": {"tolerations": WORKER_TOLERATES}},
}
OF_NODES_APART: JsonValue = {APART["key"]: "yes"}
PCI = "feature.node.kubernetes.io/pci-10de.present"
GFD = "nvidia.com/gpu.product"


@pytest.fixture
def install(lab: Lab, helm: Any, plugin_charts: Any) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Installs the chart as the document does, with these values; gone afterwards.

    It keeps away from the nodes of the operator: at its end it takes its labels and its GPUs from every node.
    """

    def of(values: dict[str, Any]) -> None:
        values = over(
            values, {"nodeSelector": OF_NODES_APART, "nfd": {"worker": {"nodeSelector": OF_NODES_APART}}}
        )
        done = helm(
            *(
                "upgrade",
                "--install",
                device_plugin.RELEASE,
                device_plugin.CHART,
                "--repo",
                plugin_charts.url,
            ),
            *("--version", "0.18.2", *RELEASE[1:], "--create-namespace", "--wait", "--timeout", "4m"),
            values=values,
        )
        assert done.returncode == 0, done.stderr

    yield of
    helm("uninstall", *RELEASE, "--wait")


@pytest.fixture
def node(lab: Lab) -> Iterator[Callable[..., Machine]]:
    """A GPU node apart, without the label that nodeadm writes since Kubernetes 1.35; ended afterwards."""
    made: list[Machine] = []

    def start(taint: dict[str, str], instance_type: str = "g5.xlarge") -> Machine:
        machine = lab.gpu_node("lab-ng-apart", instance_type, taints=[taint, APART])
        made.append(machine)
        await_true(lambda: lab.ready(machine), f"{machine.node_name} is Ready")
        relabel(lab, machine, {"nvidia.com/gpu.present": None, APART["key"]: "yes"})
        return machine

    yield start
    for machine in made:
        lab.end(machine)


def relabel(lab: Lab, machine: Machine, labels: dict[str, str | None]) -> None:
    lab.kubernetes.merge(f"/api/v1/nodes/{machine.node_name}", {"metadata": {"labels": labels}})


def labels_of(lab: Lab, machine: Machine) -> dict[str, str]:
    found: dict[str, str] = lab.node(machine)["metadata"]["labels"]
    return found


def pods_on(lab: Lab, machine: Machine) -> list[Any]:
    path = f"/api/v1/namespaces/nvidia/pods?fieldSelector=spec.nodeName={machine.node_name}"
    found: list[Any] = lab.kubernetes.get(path)["items"]
    return found


def test_discovery_finds_the_gpu_and_the_plugin_offers_it_until_the_end_of_the_release(
    lab, install, node, helm
):
    machine = node(PRESENT)
    install(OF_THE_DOCUMENT)

    await_true(lambda: lab.allocatable(machine) == "1", "the plugin has announced the GPU")
    await_true(lambda: GFD in labels_of(lab, machine), "discovery has labelled the node")
    assert labels_of(lab, machine)[PCI] == "true"
    assert labels_of(lab, machine)[GFD] == "NVIDIA-A10G"
    # migStrategy is none without a value: then there is none (k8s-device-plugin, internal/lm/mig-strategy.go).
    assert "nvidia.com/mig.strategy" not in labels_of(lab, machine)
    features = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/nvidia/nodefeatures"
    assert lab.kubernetes.get(f"{features}/{machine.node_name}")["spec"]["labels"][PCI] == "true"

    helm("uninstall", *RELEASE, "--wait")

    await_true(lambda: lab.allocatable(machine) == "0", "nothing is offered any more")
    assert not {PCI, GFD} & labels_of(lab, machine).keys()


def test_a_worker_that_does_not_tolerate_the_value_of_the_taint_leaves_the_node_without_gpus(
    lab, install, node, clock
):
    machine = node(TRUE)
    install(OF_THE_DOCUMENT)
    clock.sleep(900)

    assert pods_on(lab, machine) == []
    assert PCI not in labels_of(lab, machine)
    assert lab.allocatable(machine) is None

    [found] = diagnosed(lab, machine, clock)
    assert found.cause.name == "untolerated-taint"
    assert found.about == "nvidia/nvdp-node-feature-discovery-worker"
    assert "nfd.worker.tolerations: [{key: nvidia.com/gpu, operator: Exists" in str(found.evidence[-1])

    # when one line of the values is changed as the finding says
    fixed = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, TOLERATES_APART]
    install({**OF_THE_DOCUMENT, "nfd": {"worker": {"tolerations": fixed}}})
    await_true(lambda: lab.allocatable(machine) == "1", "the plugin has announced the GPU")
    assert diagnosed(lab, machine, clock) == []


def test_the_label_of_the_node_selects_a_configuration_and_an_unknown_one_is_refused(lab, install, node):
    machine = node(PRESENT)
    mps = FOUR.replace("timeSlicing", "mps").replace("4", "5")
    install({**OF_THE_DOCUMENT, "config": {"map": {"default": "version: v1", "four": FOUR, "mps": mps}}})
    await_true(lambda: lab.allocatable(machine) == "1", "the one that is named default applies")

    relabel(lab, machine, {"nvidia.com/device-plugin.config": "four"})
    await_true(lambda: lab.allocatable(machine) == "4", "four pods share the GPU")
    await_true(lambda: labels_of(lab, machine).get("nvidia.com/gpu.replicas") == "4", "and discovery says so")

    relabel(lab, machine, {"nvidia.com/device-plugin.config": "mps"})
    await_true(
        lambda: lab.allocatable(machine) == "5", "five pods share the GPU, once the daemon of MPS runs"
    )
    running = {container["name"] for pod in pods_on(lab, machine) for container in pod["spec"]["containers"]}
    assert "mps-control-daemon-ctr" in running

    relabel(lab, machine, {"nvidia.com/device-plugin.config": "eight"})

    def refused() -> bool:
        waits = [
            status["lastState"].get("terminated", {}).get("exitCode")
            for pod in pods_on(lab, machine)
            for status in pod["status"].get("containerStatuses", [])
            if status["name"] == "nvidia-device-plugin-sidecar"
        ]
        return 1 in waits

    await_true(refused, "the container that follows the label ends")


FOUR = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"


@pytest.fixture
def pair(lab: Lab, node: Any, install: Any) -> list[Machine]:
    """Two nodes of a pool whose GPUs the chart announces."""
    machines: list[Machine] = [node(PRESENT), node(PRESENT)]
    for machine in machines:
        relabel(lab, machine, {"eks.amazonaws.com/nodegroup": "lab-ng-gpu"})
    install(OF_THE_DOCUMENT)

    def ready() -> bool:
        return all(lab.allocatable(one) == "1" and GFD in labels_of(lab, one) for one in machines)

    await_true(ready, "both nodes offer their GPU, with labels")
    return machines


@pytest.mark.parametrize("ladder", ["standard", pytest.param("deep", marks=pytest.mark.long)])
def test_every_check_of_a_ladder_runs_without_the_operator(pair, clock, connection, ladder):
    rows = [{"name": one.node_name, "instance": one.instance_id, "gpus": 1, "ready": True} for one in pair]
    leased = lease(clock, nodes=len(pair))
    run = Told("gpu", "cli-1", {"AwaitGpus": {"nodes": rows, "not_ready": []}}, (leased,))

    proven = poll(validate, run, plugin_lab(ladder), connection)

    assert proven["verdict"] == "passed", [(row["check"], row["verdict"]) for row in run.judged_rows]
    of_ladder = {
        check.name for check in LADDERS[ladder] if not (check.several or check.fabric or check.nvlinks)
    } | {
        "allocatable",
        "labels",
        "xid",
    }
    assert {row["check"] for row in run.judged_rows} == of_ladder
    assert proven["not_judged"] == [{"check": "validator", "why": document(reason("check.node.no-operator"))}]


def plugin_lab(ladder: str) -> LabFile:
    return LabFile.model_validate(
        {
            "name": "lab",
            "gpu_operator": {"enabled": False},
            "device_plugin": {"enabled": True, "values": {"gfd": {"enabled": True}}},
            "pools": {"gpu": {"taints": [PRESENT, APART]}},
            "checks": {"ladder": ladder},
        }
    )


def diagnosed(lab: Lab, machine: Machine, clock: Any) -> list[Any]:
    """The findings on this node, from what the API server answers."""
    apps = "/apis/apps/v1"
    lists = {
        "nodes": "/api/v1/nodes",
        "pods": "/api/v1/namespaces/nvidia/pods",
        "events": "/api/v1/namespaces/nvidia/events",
        "daemonsets": f"{apps}/namespaces/nvidia/daemonsets",
        "deployments": f"{apps}/namespaces/nvidia/deployments",
    }
    kubernetes = {kind: lab.kubernetes.get(path)["items"] for kind, path in lists.items()}
    for kind in ("clusterpolicies", "runtimeclasses", "jobs", "configmaps"):
        kubernetes[kind] = []
    kubernetes["nodes"] = [one for one in kubernetes["nodes"] if one["metadata"]["name"] == machine.node_name]
    began = datetime.fromtimestamp(machine.launched, UTC)
    expected = {
        "pool": "lab-ng-apart",
        "instance_type": machine.instance_type,
        "nodes": 1,
        "gpus_per_node": 1,
        "since": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    now = datetime.fromtimestamp(clock.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return list(
        diagnose(Snapshot.read({"now": now, "expected": expected, "kubernetes": kubernetes})).findings
    )
