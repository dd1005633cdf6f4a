"""Faults that are switched on under nodes that run: what they show, in whose words, and that they heal."""

import pytest

from tests.local.cluster.lab import POLICY, await_true

POOL = "lab-ng-faults"
CUDA = "nvcr.io/nvidia/cuda:12.5.1-base-ubuntu22.04"


@pytest.fixture(scope="module")
def machine(lab):
    machine = lab.gpu_node(POOL)
    lab.await_gpus(machine)
    yield machine
    lab.end(machine)


@pytest.fixture
def fault(lab):
    yield lambda name: lab.fleet.faults.on(name, POOL)
    lab.fleet.faults.off()


def events(lab, path):
    namespace, _, name = path.removeprefix("/api/v1/namespaces/").partition("/pods/")
    listed = lab.kubernetes.get(
        f"/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.name={name}"
    )
    return listed["items"]


def waiting(lab, path):
    statuses = lab.kubernetes.get(path)["status"].get("containerStatuses", [])
    return statuses[0]["state"].get("waiting", {}) if statuses else {}


def await_waiting(lab, path, reason):
    def message():
        found = waiting(lab, path)
        return found.get("message") if found.get("reason") == reason else None

    return await_true(message, f"{path} waits with {reason}")


def test_a_network_plugin_that_is_gone_makes_the_node_not_ready_until_it_is_back(lab, machine, fault):
    fault("node-not-ready")
    await_true(lambda: lab.condition(machine).get("status") == "False", "it is not Ready")
    assert lab.condition(machine)["message"].endswith("cni plugin not initialized")
    lab.fleet.faults.off("node-not-ready")
    await_true(lambda: lab.ready(machine), "it is Ready again")


def test_a_plugin_that_crashes_takes_the_gpus_away_and_brings_them_back(lab, machine, fault):
    fault("device-plugin-missing")
    await_true(lambda: lab.allocatable(machine) == "0", "its GPU is gone")
    await_true(
        lambda: waiting(lab, plugin(lab, machine)).get("reason") == "CrashLoopBackOff", "the plugin crashes"
    )
    assert "error starting plugins" in lab.kubernetes.text(plugin(lab, machine) + "/log")
    lab.fleet.faults.off("device-plugin-missing")
    await_true(lambda: lab.allocatable(machine) == "1", "its GPU is back")


def plugin(lab, machine):
    pod = lab.pod_of("nvidia-device-plugin-daemonset", machine)
    return f"/api/v1/namespaces/gpu-operator/pods/{pod['metadata']['name']}"


def test_a_label_switches_the_plugin_off_for_one_pool_alone(lab, machine, fault):
    fault("device-plugin-disabled")
    await_true(lambda: lab.allocatable(machine) == "0", "its GPU is gone")
    assert lab.node(machine)["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] == "false"
    assert lab.allocatable(lab.gpu) == "1"
    lab.fleet.faults.off("device-plugin-disabled")
    await_true(lambda: lab.allocatable(machine) == "1", "its GPU is back")


def test_for_all_pools_the_plugin_is_switched_off_in_the_policy_and_given_back(lab, machine):
    lab.fleet.faults.on("device-plugin-disabled")
    await_true(lambda: {lab.allocatable(one) for one in (machine, lab.gpu)} == {"0"}, "no GPU is left")
    policy = lab.kubernetes.get(POLICY)
    assert policy["spec"]["devicePlugin"]["enabled"] is False
    await_true(lambda: lab.kubernetes.get(POLICY)["status"]["state"] == "ready", "it is ready all the same")
    lab.fleet.faults.off("device-plugin-disabled")
    await_true(lambda: {lab.allocatable(one) for one in (machine, lab.gpu)} == {"1"}, "the GPUs are back")
    assert lab.kubernetes.get(POLICY)["spec"]["devicePlugin"]["enabled"] is True
    lab.await_gpus(machine)


@pytest.mark.parametrize(
    ("name", "reason", "said"),
    [
        ("image-pull-failed", "ImagePullBackOff", "429 Too Many Requests"),
        ("cdi-unresolvable", "CreateContainerError", "unresolvable CDI devices nvidia.com/gpu="),
    ],
)
def test_what_the_kubelet_tries_again_succeeds_once_it_can(lab, machine, fault, *, name, reason, said):
    fault(name)
    path = lab.run(name, "sleep", "1", gpus=1, image=f"{CUDA}-{name}", **lab.on(machine))
    assert said in await_waiting(lab, path, reason)
    assert said in " ".join(event["message"] for event in events(lab, path))
    lab.fleet.faults.off(name)
    lab.await_phase(path, "Succeeded")


def test_without_the_runtime_no_sandbox_is_made_until_it_is_there(lab, machine, fault):
    fault("runtime-missing")
    path = lab.run("no-runtime", "sleep", "1", gpus=1, **lab.on(machine))

    def refused():
        return [event for event in events(lab, path) if event["reason"] == "FailedCreatePodSandBox"]

    (event,) = await_true(refused, "the sandbox is refused")
    assert event["message"].endswith('no runtime for "nvidia" is configured')
    await_true(lambda: refused()[0]["count"] > 1, "it is tried again, and counted in the one event")
    lab.fleet.faults.off("runtime-missing")
    lab.await_phase(path, "Succeeded")


@pytest.mark.parametrize(
    ("name", "tool", "status", "said"),
    [
        ("driver-mismatch", "nvidia-smi", 18, "Failed to initialize NVML: Driver/library version mismatch"),
        ("driver-broken", "nvidia-smi", 9, "couldn't communicate with the NVIDIA driver"),
        ("driver-broken", "vectorAdd", 1, "no CUDA-capable device is detected"),
        ("gpu-lost", "nvidia-smi", 255, "Failed to initialize NVML: Unknown Error"),
    ],
)
def test_tools_say_what_they_say_on_a_broken_driver(lab, machine, fault, *, name, tool, status, said):
    fault(name)
    path = lab.run(f"{name}-{tool.lower()}", tool, gpus=1, **lab.on(machine))
    pod = lab.await_phase(path, "Failed")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == status
    assert said in lab.kubernetes.text(path + "/log")
    lab.fleet.faults.off(name)
    well = lab.run(f"{name}-{tool.lower()}-well", tool, gpus=1, **lab.on(machine))
    lab.await_phase(well, "Succeeded")


def test_a_pod_that_holds_a_gpu_says_that_it_lost_it(lab, machine, fault):
    path = lab.run("holder", "sleep", "infinity", gpus=1, **lab.on(machine))
    lab.await_phase(path, "Running")
    fault("gpu-lost")
    lost = "Failed to initialize NVML: Unknown Error"
    await_true(lambda: lost in lab.kubernetes.text(path + "/log"), "it says so")
    lab.kubernetes.delete(path)
    await_true(lambda: lab.kubernetes.find(path) is None, "it is gone")


def test_an_image_for_a_newer_cuda_does_not_start(lab, machine, fault):
    fault("driver-too-old")
    path = lab.run("too-new", "nvidia-smi", gpus=1, image=CUDA, **lab.on(machine))
    ended = lab.await_phase(path, "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "unsatisfied condition: cuda>=12.5, please update your driver" in ended["message"]


def test_an_image_for_a_cuda_that_no_driver_has_yet_does_not_start_on_a_well_node_either(lab, machine):
    path = lab.run("future", "nvidia-smi", gpus=1, image="nvcr.io/nvidia/cuda:14.0.0-base", **lab.on(machine))
    ended = lab.await_phase(path, "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert "unsatisfied condition: cuda>=14.0" in ended["message"]


def test_a_kubelet_that_counts_all_gpus_as_given_away_refuses_the_pod(lab, machine, fault):
    fault("admission-refused")
    path = lab.run("refused", "nvidia-smi", gpus=1, **lab.on(machine))
    status = lab.await_phase(path, "Failed")["status"]
    assert status["reason"] == "UnexpectedAdmissionError"
    assert "Requested: 1, Available: 0" in status["message"]


def test_such_a_kubelet_takes_a_pod_that_asks_for_no_gpu(lab, machine, fault):
    fault("admission-refused")
    path = lab.run("without-gpu", "sleep", "1", **lab.on(machine))
    lab.await_phase(path, "Succeeded")


def test_a_slow_registry_takes_minutes_and_says_so(lab, machine, fault):
    fault("image-pull-slow")
    image = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"
    path = lab.run("slow", gpus=1, image=image, **lab.on(machine))
    lab.await_phase(path, "Succeeded")
    (said,) = [event["message"] for event in events(lab, path) if event["reason"] == "Pulled"]
    assert said.startswith(f'Successfully pulled image "{image}" in ')
    assert said.split(" in ")[1][:2] in {"1m", "2m"}


def test_an_operator_that_crashes_is_unavailable_and_comes_back(lab, machine):
    address = "/apis/apps/v1/namespaces/gpu-operator/deployments/gpu-operator"
    assert machine
    lab.fleet.faults.on("operator-not-ready")
    await_true(
        lambda: not lab.kubernetes.get(address)["status"].get("availableReplicas"), "it is unavailable"
    )
    lab.fleet.faults.off("operator-not-ready")
    await_true(lambda: lab.kubernetes.get(address)["status"].get("availableReplicas"), "it is available")


def test_a_gpu_that_falls_off_the_bus_stays_away(lab):
    lab.fleet.faults.on("xid", "lab-ng-xid")
    machine = lab.gpu_node("lab-ng-xid", "g5.12xlarge")
    await_true(lambda: lab.allocatable(machine) == "3", "one of its four GPUs is gone")
    assert lab.node(machine)["status"]["capacity"]["nvidia.com/gpu"] == "4"
    assert "XidCriticalError: Xid=79 on Device=GPU-" in lab.kubernetes.text(plugin(lab, machine) + "/log")
    lab.fleet.faults.off()
    assert lab.allocatable(machine) == "3"
    lab.end(machine)
