"""Machines of each operating system become nodes that say so, and run only the pods that are built for them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.fleet.machine import Machine
from local.kubernetes.add_ons import AddOnPods
from tests.local.cluster.lab import Lab, await_true, pass_time

pytestmark = pytest.mark.long

IIS = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"
WINDOWS_TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}
FOR_LINUX = {"nodeSelector": {"kubernetes.io/os": "linux"}}


@pytest.fixture
def start(lab: Lab) -> Iterator[Callable[..., Machine]]:
    """Starts a machine of an image; it is ended afterwards."""
    made: list[Machine] = []

    def machine(ami_type: str, instance_type: str = "m5.large", **more: Any) -> Machine:
        made.append(lab.machine(instance_type, f"lab-{len(made)}", ami_type, **more))
        return made[-1]

    yield machine
    for each in made:
        lab.end(each)


@pytest.fixture
def vpc_cni(lab: Lab) -> Iterator[AddOnPods]:
    """The add-on's settings in the cluster, as EKS writes them; gone afterwards."""
    add_on = AddOnPods(lab.kubernetes)
    add_on.changed("vpc-cni", there=True)
    yield add_on
    add_on.changed("vpc-cni", there=False)


def info(lab, machine):
    await_true(lambda: lab.ready(machine), f"{machine.node_name} is Ready")
    return lab.node(machine)


def failures(lab, path):
    name = path.rpartition("/")[2]
    events = lab.kubernetes.get(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")
    return " ".join(event["message"] for event in events["items"] if event["type"] == "Warning")


def test_a_windows_node_has_no_gpu_even_where_its_type_has_one(lab, start):
    node = info(lab, start("WINDOWS_CORE_2022_x86_64", "g5.xlarge", taints=[WINDOWS_TAINT]))
    pass_time(300)
    assert "nvidia.com/gpu" not in node["status"]["capacity"]
    assert not any("nvidia" in label for label in node["metadata"]["labels"])


def test_a_pod_on_windows_gets_an_address_only_with_the_settings_of_the_vpc_cni(lab, start, vpc_cni):
    machine = start("WINDOWS_FULL_2022_x86_64", taints=[WINDOWS_TAINT])
    info(lab, machine)
    path = lab.run("iis", image=IIS, restartPolicy="Always", **lab.on(machine))
    missing = "pod iis does not have label vpc.amazonaws.com/PrivateIPv4Address"
    await_true(lambda: missing in failures(lab, path), "the sandbox fails without an address")
    assert lab.kubernetes.get(path)["status"]["phase"] == "Pending"

    vpc_cni.changed("vpc-cni", there=True, configuration='{"enableWindowsIpam": "true"}')

    lab.await_phase(path, "Running")
    lab.kubernetes.delete(path)


def test_a_role_without_the_right_of_windows_gives_no_address_either(lab, start, vpc_cni, monkeypatch):
    vpc_cni.changed("vpc-cni", there=True, configuration="enableWindowsIpam: 'true'")
    monkeypatch.setattr(lab.fleet.network, "windows_right", lambda _: False)
    machine = start("WINDOWS_CORE_2025_x86_64", taints=[WINDOWS_TAINT])
    info(lab, machine)
    path = lab.run("iis", image=IIS, **lab.on(machine))
    await_true(lambda: "PrivateIPv4Address" in failures(lab, path), "the sandbox fails without an address")
    lab.kubernetes.delete(path)


def test_an_image_runs_only_on_the_system_that_it_is_built_for(lab, start, vpc_cni):
    vpc_cni.changed("vpc-cni", there=True, configuration='{"enableWindowsIpam": "true"}')
    windows = start("WINDOWS_FULL_2022_x86_64", taints=[WINDOWS_TAINT])
    info(lab, windows)
    linux = lab.run("for-linux", image="busybox", **lab.on(windows))
    await_true(
        lambda: "no match for platform in manifest: windows/amd64" in failures(lab, linux),
        "containerd finds no image for Windows",
    )
    other = lab.run("for-windows", image=IIS, **FOR_LINUX)
    await_true(
        lambda: "no match for platform in manifest: linux/amd64" in failures(lab, other),
        "containerd finds no image for Linux",
    )
    for path in (linux, other):
        lab.kubernetes.delete(path)


def test_the_node_monitoring_agent_runs_on_linux_only(lab, start):
    add_on = AddOnPods(lab.kubernetes)
    add_on.changed("eks-node-monitoring-agent", there=True)
    windows, linux = start("WINDOWS_FULL_2022_x86_64"), start("BOTTLEROCKET_x86_64")
    for machine in (windows, linux):
        info(lab, machine)

    def on(machine):
        pods = lab.kubernetes.get("/api/v1/namespaces/kube-system/pods")["items"]
        return [pod for pod in pods if pod["spec"].get("nodeName") == machine.node_name]

    await_true(lambda: on(linux), "the agent has a pod on the Linux node")
    assert on(windows) == []
    add_on.changed("eks-node-monitoring-agent", there=False)


def test_eks_labels_and_taints_a_custom_image_when_it_has_joined(lab, start):
    late = {"key": "team", "value": "gpu", "effect": "NoSchedule"}
    machine = start("AL2023_x86_64_STANDARD", later_labels={"tier": "web"}, later_taints=[late])
    info(lab, machine)
    await_true(lambda: lab.node(machine)["metadata"]["labels"].get("tier") == "web", "EKS has labelled it")
    assert late in lab.node(machine)["spec"]["taints"]
