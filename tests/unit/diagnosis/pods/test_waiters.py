"""Operands that only wait for another operand of their node: the one that crashes is told, with its last words."""

from tests.snapshots import NODES, Document, at, judge, pod, without_gpus

TOOLKIT = "nvidia-container-toolkit-daemonset-x"
RUNS = {"running": {"startedAt": at(4)}}
CRASHES = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m"}}
LAST = "level=fatal cannot find /run/nvidia/driver"
WAITERS = ("nvidia-device-plugin-daemonset-0", "gpu-feature-discovery-0", "nvidia-dcgm-exporter-0")


def starting(name: str, init: Document) -> Document:
    document = pod(name, phase="Pending")
    document["spec"]["initContainers"] = [{"name": "driver-validation"}]
    document["status"] |= {
        "initContainerStatuses": [{"name": "driver-validation", "restartCount": 6, "state": init}],
        "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}}],
    }
    return document


def evidence(toolkit: Document) -> list[str]:
    document = without_gpus(30)
    document["kubernetes"]["pods"] = [starting(TOOLKIT, toolkit), *(starting(name, RUNS) for name in WAITERS)]
    document["logs"] = {f"gpu-operator/{TOOLKIT}/driver-validation": f"starting\n{LAST}\n"}
    [found] = judge(document).findings
    return [str(line) for line in found.evidence]


def test_pods_that_only_wait_for_one_that_crashes_are_one_line() -> None:
    crash, waiters = evidence(CRASHES)[1:3]
    assert crash.startswith(f"gpu-operator/{TOOLKIT} on {NODES[0]} fails: ")
    assert crash.endswith(f"its log ends: {LAST}")
    assert waiters.endswith(f" only wait for what gpu-operator/{TOOLKIT} brings")
    assert all(name in waiters for name in WAITERS)


def test_without_one_that_crashes_each_is_told() -> None:
    assert sum("does not start" in line for line in evidence(RUNS)) == 1 + len(WAITERS)
