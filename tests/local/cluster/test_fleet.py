"""Machines become nodes, pods run on them, and nodes go when their machines do."""

from typing import Any

import pytest

from local.kubernetes.api import ApiError
from tests.local.cluster.lab import await_true, pass_time


def test_a_machine_becomes_a_ready_node_that_says_what_it_is(lab):
    node = lab.node(lab.gpu)
    assert node["spec"]["providerID"] == f"aws:///ap-northeast-2a/{lab.gpu.instance_id}"
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["nvidia.com/gpu"]
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "g5.xlarge"
    assert node["status"]["capacity"]["pods"] == "50"
    assert lab.ready(lab.gpu)


def test_a_gpu_node_has_the_labels_of_every_stage(lab):
    labels = lab.node(lab.gpu)["metadata"]["labels"]
    assert labels["feature.node.kubernetes.io/pci-10de.present"] == "true"
    assert labels["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A10G"
    assert labels["nvidia.com/gpu.count"] == labels["nvidia.com/gpu.replicas"] == "1"
    assert labels["nvidia.com/cuda.driver-version.full"] == "580.159.03"
    assert lab.allocatable(lab.gpu) == "1"


def test_the_validator_ran_its_stages_and_a_pod_that_took_a_gpu(lab):
    validator = lab.pod_of("nvidia-operator-validator", lab.gpu)
    names = [status["name"] for status in validator["status"]["initContainerStatuses"]]
    assert names == ["driver-validation", "toolkit-validation", "cuda-validation", "plugin-validation"]
    log = f"/api/v1/namespaces/gpu-operator/pods/{validator['metadata']['name']}/log"
    assert "all validations are successful" in lab.kubernetes.text(log)
    workload = lab.pod_of("nvidia-device-plugin-validator", lab.gpu)
    assert workload["status"]["phase"] == "Succeeded"
    assert workload["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}


def test_gpu_tools_print_what_they_print(lab):
    query = "--query-gpu=name,driver_version,ecc.errors.uncorrected.volatile.total"
    smi = lab.run("smi", "nvidia-smi", query, "--format=csv", gpus=1)
    lab.await_phase(smi, "Succeeded")
    assert lab.kubernetes.text(smi + "/log").splitlines() == [
        "name, driver_version, ecc.errors.uncorrected.volatile.total",
        "NVIDIA A10G, 580.159.03, 0",
    ]
    image = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"
    vector_add = lab.run("vectoradd", gpus=1, image=image)
    lab.await_phase(vector_add, "Succeeded")
    assert "Test PASSED" in lab.kubernetes.text(vector_add + "/log?tailLines=2")


def test_a_pod_that_asks_for_more_gpus_than_there_are_waits(lab):
    path = lab.run("greedy", "nvidia-smi", gpus=2)

    def reason() -> str:
        conditions = lab.kubernetes.get(path)["status"].get("conditions", [])
        return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")

    assert "Insufficient nvidia.com/gpu" in await_true(reason, "the scheduler has looked at it")
    lab.kubernetes.delete(path)


def test_a_pod_bound_past_the_scheduler_is_refused_by_the_kubelet(lab):
    path = lab.run("forced", "nvidia-smi", gpus=2, nodeName=lab.gpu.node_name)
    pod = lab.await_phase(path, "Failed")
    assert pod["status"]["reason"] == "UnexpectedAdmissionError"
    assert "Requested: 2, Available: 1" in pod["status"]["message"]


def test_a_container_ends_as_its_program_does(lab):
    path = lab.run("fails", "sh", "-c", "echo going down; sleep 3; exit 7")
    pod = lab.await_phase(path, "Failed")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert lab.kubernetes.text(path + "/log") == "going down\n"


def test_a_pod_that_outlives_its_deadline_is_ended(lab):
    path = lab.run("hangs", "sleep", "infinity", activeDeadlineSeconds=120)
    pod = lab.await_phase(path, "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"


def test_a_container_that_must_not_end_is_started_again(lab):
    path = lab.run("returns", "sh", "-c", "echo once; sleep 2; exit 1", restartPolicy="OnFailure")

    def restarted() -> bool:
        statuses = lab.kubernetes.get(path)["status"].get("containerStatuses", [])
        return any(status["restartCount"] > 0 for status in statuses)

    await_true(restarted, "it was started again")
    assert lab.kubernetes.text(path + "/log?previous=true") == "once\n"
    lab.kubernetes.delete(path)


def test_a_first_pull_is_an_event_that_says_how_long_it_took(lab):
    path = lab.run("pulls", image="nvcr.io/nvidia/pytorch:25.10-py3", **lab.on(lab.gpu))
    pod = lab.await_phase(path, "Succeeded")
    events = lab.kubernetes.get(
        f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={pod['metadata']['uid']}"
    )["items"]
    pulled = next(event["message"] for event in events if event["reason"] == "Pulled")
    assert pulled.startswith('Successfully pulled image "nvcr.io/nvidia/pytorch:25.10-py3" in ')
    assert pulled.endswith("Image size: 9300000000 bytes.")


def test_a_deleted_pod_reports_its_end_and_goes(lab):
    path = lab.run("stays", "sleep", "infinity")
    lab.await_phase(path, "Running")
    lab.kubernetes.delete(path)
    await_true(lambda: lab.kubernetes.find(path) is None, "the pod is gone")
    with pytest.raises(ApiError):
        lab.kubernetes.text(path + "/log")


def test_a_drain_cordons_evicts_and_leaves_the_daemons(lab):
    machine = lab.gpu_node()
    lab.await_gpus(machine)
    path = lab.run("student", "sleep", "infinity", **lab.on(machine))
    lab.await_phase(path, "Running")

    lab.fleet.drain(machine.instance_id)

    assert lab.node(machine)["spec"]["unschedulable"]
    # What has ended keeps no drain waiting; it is gone a moment later.
    await_true(lambda: lab.kubernetes.find(path) is None, "the pod is gone")
    assert lab.pod_of("nvidia-device-plugin-daemonset", machine)
    lab.end(machine)


def test_a_node_whose_machine_goes_is_removed_with_its_pods(lab):
    machine = lab.gpu_node()
    await_true(lambda: lab.ready(machine), "the node is Ready")
    path = lab.run("doomed", "sleep", "infinity", **lab.on(machine))
    lab.await_phase(path, "Running")

    lab.fleet.machine_stopping(machine.instance_id)
    lab.fleet.machine_stopped(machine.instance_id)

    await_true(lambda: lab.node(machine) is None, "the node is gone")
    await_true(lambda: lab.kubernetes.find(path) is None, "its pod is gone")


def test_a_machine_that_never_joins_is_no_node(lab):
    lab.fleet.faults.on("node-not-joined", "never")
    absent = lab.gpu_node("never")
    late = lab.gpu_node()
    await_true(lambda: lab.ready(late), "a machine that started later is Ready")
    assert lab.node(absent) is None
    lab.end(absent)
    lab.end(late)


def test_a_gpu_that_the_driver_does_not_see_is_missing_everywhere(lab):
    lab.fleet.faults.on("gpu-count-short", "short")
    machine = lab.gpu_node("short", "g5.12xlarge")
    lab.await_gpus(machine)
    assert lab.allocatable(machine) == "3"
    assert lab.node(machine)["metadata"]["labels"]["nvidia.com/gpu.count"] == "3"
    lab.end(machine)


def test_pods_of_a_template_that_is_given_back_in_the_middle_of_a_rolling_are_current_again(lab):
    """Kubernetes compares the hash of a pod's template, too, not only the generation that made the pod."""
    path, pods = "/apis/apps/v1/namespaces/default/daemonsets", "/api/v1/namespaces/default/pods"

    def template(cpu: str) -> dict[str, Any]:
        container = {"name": "agent", "image": "agent", "resources": {"requests": {"cpu": cpu}}}
        spec = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
        return {"metadata": {"labels": {"app": "agent"}}, "spec": spec}

    def current() -> bool:
        status = lab.kubernetes.get(f"{path}/agent").get("status", {})
        wanted = status.get("desiredNumberScheduled", 0)
        return 2 <= wanted == status.get("updatedNumberScheduled") == status.get("numberReady")

    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template("10m")}
    lab.kubernetes.create(path, {"metadata": {"name": "agent"}, "spec": spec})
    await_true(current, "a pod on each node")
    lab.kubernetes.merge(f"{path}/agent", {"spec": {"template": template("1k")}})

    def waits() -> bool:
        found = lab.kubernetes.get(f"{pods}?labelSelector=app=agent")["items"]
        return any(not pod["spec"].get("nodeName") for pod in found)

    await_true(waits, "the first new pod fits nowhere, so the others stay")
    lab.kubernetes.merge(f"{path}/agent", {"spec": {"template": template("10m")}})

    await_true(current, "all pods are current")
    pass_time(1)
    assert lab.fleet.never_came == frozenset()
    lab.kubernetes.delete(f"{path}/agent")
