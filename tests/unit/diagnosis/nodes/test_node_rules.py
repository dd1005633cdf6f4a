"""A node without its GPUs, rule by rule: which pods and DaemonSets count, and what ends the search."""

import pytest

from tests.diagnosis_cases import conditions, node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at_work,
    daemonset,
    event,
    judge,
    no_gpus,
    pod,
    policy,
    replace,
    told,
    under_way,
    waiting,
    without,
    without_gpus,
    without_plugin,
)

NODE = NODES[0]

PLUGIN = "nvidia-device-plugin-daemonset"

MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"

SHORT = ("gpu-count-short", NODE, [f"{NODE} offers 0 of its 1 GPUs"])

BACK_OFF = ("CrashLoopBackOff", "back-off")


def findings_alone(document: Document) -> list[tuple[str, str, list[str]]]:
    """The findings of a snapshot in which no stage is in progress."""
    assert judge(document).in_progress == ()
    return told(document)


def test_gpus_are_waited_for_since_the_plugin_was_made_and_not_since_any_other_pod() -> None:
    document = without_gpus(8)
    replace(document, pod("gpu-feature-discovery-0", minute=6))
    assert under_way(document) == [("gpus-announced", NODE, "11:03:00")]


@pytest.mark.parametrize("image", ["Bottlerocket OS 1.50.0 (aws-k8s-1.35-nvidia)", ""])
def test_a_node_that_brings_its_plugin_is_switched_off_by_no_label(image: str) -> None:
    document = without_plugin()
    mine = node_of(document, 0)
    mine["status"]["nodeInfo"]["osImage"] = image
    mine["metadata"]["labels"] |= {
        "eks.amazonaws.com/compute-type": "auto",
        "nvidia.com/gpu.deploy.operands": "false",
    }
    service = "runs the device plugin as a service of the node, without a pod or a log in the cluster"
    said = f"its image ({image or 'EKS Auto Mode'}) {service}"
    assert told(document) == [("device-plugin-missing", NODE, [MISSING, said])]
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    conditions(document, 0).append(fault)
    assert [cause for cause, _, _ in told(document)] == ["xid"]


def test_a_plugin_that_runs_after_it_was_switched_off_is_not_off() -> None:
    document = without_gpus()
    document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    assert told(document) == [SHORT]


def test_of_two_daemonsets_the_one_that_a_gpu_needs_is_named() -> None:
    document = without_plugin(6)
    document["kubernetes"]["daemonsets"] = [
        daemonset(name, 0, tolerates=False) for name in ("nvidia-dcgm", "nvidia-container-toolkit")
    ]
    about = "gpu-operator/nvidia-container-toolkit"
    assert [each[:2] for each in findings_alone(document)] == [("untolerated-taint", about)]


def test_a_taint_is_not_blamed_on_a_node_that_has_its_plugin() -> None:
    document = without_gpus()
    document["kubernetes"]["daemonsets"] = [daemonset("nvidia-container-toolkit", 0, tolerates=False)]
    assert told(document) == [SHORT]


def test_what_the_policy_does_not_tolerate_ends_the_search() -> None:
    document = without_plugin()
    del document["kubernetes"]["daemonsets"]
    document["kubernetes"]["clusterpolicies"] = [policy(daemonsets={"tolerations": []})]
    assert [cause for cause, _, _ in findings_alone(document)] == ["untolerated-taint"]


def test_a_pull_that_is_slow_or_fails_ends_the_search() -> None:
    slow = without_gpus(6.5)
    replace(slow, pod(f"{PLUGIN}-0", phase="Pending", minute=5))
    slow["kubernetes"]["events"] = [event("Pod", f"{PLUGIN}-0", "Pulling", "Pulling image", 4)]
    failed = without_gpus(6)
    replace(failed, waiting(pod(f"{PLUGIN}-0", minute=5), "ErrImagePull", "gone"))
    for document, cause in ((slow, "image-pull-slow"), (failed, "image-pull-failed")):
        without(document, "train")
        assert [each[0] for each in findings_alone(document)] == [cause]


def test_a_pull_of_a_workload_or_of_a_pod_that_works_keeps_no_gpu_away() -> None:
    document = without_gpus()
    work = pod("train-9", "lab", gpus=1, phase="Pending")
    document["kubernetes"]["pods"].append(work)
    document["kubernetes"]["events"] = [
        event("Pod", "train-9", "Pulling", "Pulling image", 4, namespace="lab"),
        event("Pod", f"{PLUGIN}-0", "Pulling", "Pulling image", 4),
    ]
    assert told(document) == [SHORT]


def test_a_plugin_s_daemonset_says_nothing_where_pods_were_not_read() -> None:
    document = without_plugin()
    del document["kubernetes"]["pods"]
    document["kubernetes"]["events"] = []
    said = [f"{NODE} offers 0 of its 1 GPUs", "not read: kubernetes.pods"]
    assert told(document) == [("unknown", POOL, said)]


def test_no_daemonset_is_missed_where_they_were_not_read() -> None:
    document = without_plugin()
    del document["kubernetes"]["daemonsets"]
    said = [f"{NODE} offers 0 of its 1 GPUs", "not read: kubernetes.daemonsets"]
    assert told(document) == [("unknown", POOL, said)]


def test_of_two_daemonsets_of_the_plugin_the_first_is_asked_for_its_pod() -> None:
    document = without_plugin()
    first, second = daemonset("nvidia-gpu-device-plugin", 3), daemonset(desired=5)
    first["spec"]["template"]["spec"]["nodeSelector"] = {"lab": "first"}
    document["kubernetes"]["daemonsets"] = [first, second]
    said = f"DaemonSet nvidia-gpu-device-plugin has no pod on {NODE}; desired pods in the cluster: 3"
    lacks = f"{NODE} lacks the label lab=first"
    assert told(document) == [("device-plugin-missing", NODE, [MISSING, said, lacks])]


def test_of_two_containers_that_crash_the_first_speaks_for_the_plugin() -> None:
    document = at_work()
    broken = waiting(pod(f"{PLUGIN}-0"), *BACK_OFF, restarts=1)
    status = broken["status"]["containerStatuses"][0]
    broken["status"]["containerStatuses"] = [{**status, "name": name} for name in ("main", "sidecar")]
    replace(document, broken)
    line = f"gpu-operator/{PLUGIN}-0: container main: back-off"
    assert told(document) == [("device-plugin-missing", NODE, [line])]
    no_gpus(document)
    assert told(document) == [("device-plugin-missing", NODE, [f"{line}, 1 restart"])]


def test_a_stuck_validator_is_quoted_from_before_its_restart() -> None:
    document = at_work()
    name = "nvidia-operator-validator-0"
    replace(document, waiting(pod(name), *BACK_OFF, restarts=5))
    document["logs_previous"][f"gpu-operator/{name}"] = "first\nlast\n"
    line = f"gpu-operator/{name}: container main: back-off, 5 restarts"
    assert told(document) == [("validator-stuck", NODE, [line, "last"])]


def test_only_its_own_workload_speaks_for_a_validator() -> None:
    document = at_work(
        waiting(pod("train-0", "lab", gpus=1), "CreateContainerError", "unresolvable CDI devices")
    )
    replace(document, waiting(pod("nvidia-operator-validator-0"), *BACK_OFF, restarts=5))
    document["kubernetes"]["pods"].append(waiting(pod("nvidia-dcgm-0"), *BACK_OFF, restarts=5))
    old = "driver/library version mismatch"
    document["logs"] |= {f"gpu-operator/{name}-0": old for name in ("nvidia-dcgm", "gpu-feature-discovery")}
    about = {cause: about for cause, about, _ in told(document)}
    assert (about["validator-stuck"], about["cdi-unresolvable"]) == (NODE, "lab/train-0")
    assert about["driver-mismatch"] == "gpu-operator/nvidia-dcgm-0"


def test_a_library_that_is_missing_on_an_image_with_the_driver_is_not_the_image_s_fault() -> None:
    work = waiting(pod("train-0", "lab", gpus=1), "RunContainerError", "libnvidia-ml.so.1 is missing")
    document = at_work(work)
    del document["aws"]["nodegroup"]["amiType"]
    for image, cause in (("(aws-k8s-1.35-nvidia)", "runtime-missing"), ("(aws-k8s-1.35)", "wrong-ami")):
        node_of(document, 0)["status"]["nodeInfo"]["osImage"] = f"Bottlerocket OS 1.50.0 {image}"
        assert [each[0] for each in told(document)] == [cause]
