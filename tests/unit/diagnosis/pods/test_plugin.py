"""Device plugins and GPUs that fail: crashes, missing DaemonSets, hardware faults, late nodes."""

from typing import Any

import pytest

from tests.diagnosis_cases import conditions, node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    daemonset,
    event,
    healthy,
    node,
    pod,
    policy,
    replace,
    told,
    under_way,
    waiting,
    without_gpus,
    without_plugin,
)

SECOND = 1 / 60

NODE = NODES[0]

PLUGIN = "nvidia-device-plugin-daemonset"

CALLED = f"gpu-operator/{PLUGIN}-0"

MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"


def test_an_image_of_the_gpu_software_may_be_pulled_for_two_minutes() -> None:
    def pulling(now: float) -> Document:
        document = without_gpus(now)
        replace(document, pod(f"{PLUGIN}-0", phase="Pending"))
        document["kubernetes"]["events"] = [event("Pod", f"{PLUGIN}-0", "Pulling", "Pulling image", 4)]
        return document

    assert under_way(pulling(6))[0] == ("gpus-announced", NODE, "11:03:00")
    assert told(pulling(6 + SECOND)) == [
        ("image-pull-slow", CALLED, [f"{CALLED} has been pulling an image for 121 s"])
    ]


@pytest.mark.parametrize(("restarts", "early"), [(2, False), (3, True)])
def test_a_plugin_that_crashed_three_times_is_not_waited_for(restarts: int, *, early: bool) -> None:
    def crashing(now: float) -> Document:
        document = without_gpus(now)
        replace(document, waiting(pod(f"{PLUGIN}-0"), "CrashLoopBackOff", "back-off", restarts=restarts))
        document["logs_previous"][CALLED] = "first\nlast\n"
        return document

    said = [
        (
            "device-plugin-missing",
            NODE,
            [f"{CALLED}: container main: back-off, {restarts} restarts", "last"],
        )
    ]
    assert told(crashing(8 + SECOND)) == said
    assert told(crashing(8)) == (said if early else [])


@pytest.mark.parametrize(
    ("exit_code", "said"),
    [(1, "exit code 1"), (-1, "exit code -1"), (0, None), (None, None)],
)
def test_a_container_that_ended_badly_says_its_exit_code(exit_code: int | None, said: str | None) -> None:
    document = without_gpus()
    broken = pod(f"{PLUGIN}-0", phase="Pending")
    broken["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": exit_code}}
    replace(document, broken)
    found = [each for each in told(document) if each[0] == "device-plugin-missing"]
    line = f"{CALLED}: container main: {said}, 0 restarts"
    assert found == ([] if said is None else [("device-plugin-missing", NODE, [line])])


@pytest.mark.parametrize(
    ("state", "more"),
    [("ready", ["the state of the ClusterPolicy is ready although GPUs are missing"]), ("", [])],
)
def test_a_daemonset_of_the_plugin_that_is_not_there_is_missed(state: str, more: list[str]) -> None:
    document = without_plugin()
    document["kubernetes"]["daemonsets"] = [daemonset("nvidia-dcgm")]
    document["kubernetes"]["clusterpolicies"] = [policy(state)] if state else []
    assert told(document) == [
        ("device-plugin-missing", NODE, [MISSING, "there is no DaemonSet of the device plugin", *more])
    ]


def test_a_label_that_keeps_the_plugin_off_the_node_is_named() -> None:
    document = without_plugin()
    del node_of(document, 0)["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"]
    assert told(document)[0][2][2:] == [f"{NODE} lacks the label nvidia.com/gpu.deploy.device-plugin=true"]


def test_what_cannot_be_told_for_want_of_reading_says_what_was_not_read() -> None:
    document = without_plugin()
    document["kubernetes"] = {"nodes": document["kubernetes"]["nodes"]}
    del document["aws"]["nodegroup"], document["logs"]
    document["expected"]["pool"] = POOL
    keys = "kubernetes.daemonsets, kubernetes.pods, kubernetes.clusterpolicies, kubernetes.events, logs"
    assert told(document) == [
        ("unknown", POOL, [f"{NODE} offers 0 of its 1 GPUs", f"not read: {keys}, aws.nodegroup"])
    ]


def fault(reason: str, status: str = "False", **more: Any) -> Document:
    return {"type": "AcceleratedHardwareReady", "status": status, "reason": reason, "message": "odd", **more}


@pytest.mark.parametrize(
    ("reason", "cause", "about"),
    [
        ("NvidiaXID79Error", "xid", NODE),
        ("NvidiaDoubleBitError", "xid", NODE),
        ("DCGMDiagnosticFailure", "xid", NODE),
        ("NvidiaXID13Error", None, ""),
        ("NvidiaDeviceCountMismatch", "gpu-count-short", NODE),
        ("NvidiaFabricError", "unknown", POOL),
    ],
)
def test_what_the_node_says_of_its_hardware_is_quoted(reason: str, cause: str | None, about: str) -> None:
    document = healthy(nodes=1)
    conditions(document, 0).append(fault(reason))
    said = f"{NODE} AcceleratedHardwareReady=False, {reason}: odd"
    assert told(document) == ([] if cause is None else [(cause, about, [said])])
    document = healthy(nodes=1)
    conditions(document, 0).append(fault(reason, "True"))
    assert told(document) == []


def test_of_an_event_and_a_log_the_fatal_xids_count_and_others_where_a_gpu_is_missing() -> None:
    def printed(line: str, *, short: bool) -> Document:
        document = without_gpus() if short else healthy(nodes=1)
        document["logs"][CALLED] = line
        return document

    fatal, other = "Xid (PCI:0000): 79", "XidCriticalError: Xid=13"
    short = f"{NODE} offers 0 of its 1 GPUs"
    assert told(printed(fatal, short=False)) == [("xid", NODE, [f"{CALLED}: {fatal}"])]
    assert told(printed(other, short=False)) == []
    assert told(printed(other, short=True)) == [("xid", NODE, [f"{CALLED}: {other}", short])]
    assert told(printed("Xid (PCI:0000): 13", short=True))[0][0] == "gpu-count-short"
    document = healthy(nodes=1)
    document["kubernetes"]["events"] += [
        event("Node", NODE, "NvidiaXID79Error", "fatal"),
        event("Node", NODE, "NvidiaXID13Warning", "not fatal"),
    ]
    assert told(document) == [("xid", NODE, ["NvidiaXID79Error: fatal"])]


def test_a_pod_that_lost_its_gpu_explains_its_node_only_where_that_still_offers_some() -> None:
    def lost(*, offers: bool) -> Document:
        document = healthy(nodes=1)
        document["logs"]["lab/train-0"] = "first\nFailed to initialize NVML: Unknown Error\n"
        if not offers:
            node_of(document, 0)["status"]["allocatable"]["nvidia.com/gpu"] = "0"
        return document

    line = ("gpu-lost", "lab/train-0", [f"lab/train-0 on {NODE}: Failed to initialize NVML: Unknown Error"])
    assert told(lost(offers=True)) == [line]
    assert told(lost(offers=False)) == [
        line,
        ("gpu-count-short", NODE, [f"{NODE} offers 0 of its 1 GPUs"]),
    ]


def test_a_node_may_take_three_minutes_to_be_ready_and_none_when_it_was_lost() -> None:
    def starting(now: float, status: str = "False") -> Document:
        document = healthy(nodes=1, now=now)
        document["kubernetes"]["nodes"][1] = node(0, 1, ready=False, minute=2)
        conditions(document, 0)[0]["status"] = status
        return document

    said = ("node-not-ready", NODE, [f"{NODE} is not Ready: KubeletNotReady: cni plugin not initialized"])
    assert under_way(starting(5)) == [("node-ready", NODE, "11:02:00")]
    assert told(starting(5 + SECOND)) == [said]
    assert told(starting(3, "Unknown")) == [said]
