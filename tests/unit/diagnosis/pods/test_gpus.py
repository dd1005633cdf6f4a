"""Nodes without their GPUs: the normal time, counts, shares and slices, hardware faults, and the node itself."""

from typing import Any

import pytest

from lamplighter.reasons.reason import reason
from tests.diagnosis_cases import conditions, node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    event,
    healthy,
    judge,
    node,
    pod,
    policy,
    waiting,
    without_gpus,
    without_plugin,
)
from tests.unit.diagnosis.table import SECOND, UNREAD, Told, change, given, table

NODE = NODES[0]
PLUGIN = "nvidia-device-plugin-daemonset"
CALLED = f"gpu-operator/{PLUGIN}-0"
MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"
SHORT = ("gpu-count-short", NODE, f"{NODE} offers 0 of its 1 GPUs")
GPU = "nvidia.com/gpu"


def long_since() -> Document:
    """A node and pods that were there before the expectation began."""
    document = given(without_gpus(5), node={"status conditions 0 lastTransitionTime": at(-9)})
    for each in document["kubernetes"]["pods"]:
        each["metadata"]["creationTimestamp"] = at(-8)
    return document


def pulling(now: float) -> Document:
    events = [event("Pod", f"{PLUGIN}-0", "Pulling", "Pulling image", 4)]
    return given(without_gpus(now), pod(f"{PLUGIN}-0", phase="Pending"), events=events)


def starting(now: float, status: str = "False") -> Document:
    document = healthy(nodes=1, now=now)
    document["kubernetes"]["nodes"][1] = node(0, 1, ready=False, minute=2)
    return given(document, node={"status conditions 0 status": status})


UNREADY = ("node-not-ready", NODE, f"{NODE} is not Ready: KubeletNotReady: cni plugin not initialized")
NO_POD = f"DaemonSet {PLUGIN} has no pod on {NODE}; desired pods in the cluster: 2"


test_a_node_may_take = table(
    ("to announce its GPUs five minutes from when its plugin was made", without_gpus(8),
     [("gpus-announced", NODE, "11:03:00")]),
    ("and not a second more", without_gpus(8 + SECOND), [SHORT]),
    ("five minutes from when it was Ready where it has no plugin", without_plugin(7.5),
     [("gpus-announced", NODE, "11:02:30")]),
    ("which is missing after that", without_plugin(7.5 + SECOND), [("device-plugin-missing", NODE, MISSING, NO_POD)]),
    ("also where there is no DaemonSet yet", given(without_plugin(5), daemonsets=[]),
     [("gpus-announced", NODE, "11:02:30")]),
    ("and none after that", given(without_plugin(), daemonsets=[]), ["device-plugin-missing"]),
    ("all this since the expectation began", long_since(), [("gpus-announced", NODE, "11:00:00")]),
    ("two minutes to pull an image of the GPU software", pulling(6),
     [("gpus-announced", NODE, "11:03:00"), ("image-pull", CALLED, "11:04:00")]),
    ("and not a second more for that", pulling(6 + SECOND),
     [("image-pull-slow", CALLED, f"{CALLED} has been pulling an image for 121 s")]),
    ("three minutes to be Ready", starting(5), [("node-ready", NODE, "11:02:00")]),
    ("and not a second more to be Ready", starting(5 + SECOND), [UNREADY]),
    ("none where it was lost", starting(3, "Unknown"), [UNREADY]),
)  # fmt: skip


def counted(allocatable: str | None, capacity: str | None = None, *, base: Document | None = None, gpus: int = 1,
            **labels: str | None) -> Document:  # fmt: skip
    """A node that offers so many, has so many, and has these labels of feature discovery."""
    document = given(base or healthy(1), expected={"gpus_per_node": gpus})
    for which, count in (("allocatable", allocatable), ("capacity", capacity or allocatable)):
        change(node_of(document, 0), f"status {which} {GPU}", UNREAD if count is None else count)
    for key, value in labels.items():
        change(node_of(document, 0), f"metadata labels {GPU}.{key}", UNREAD if value is None else value)
    return document


def short(words: str) -> list[Told]:
    return [("gpu-count-short", NODE, f"{NODE} offers {words}")]


def sliced(**resources: str) -> Document:
    """A node that offers GPUs under these names alone."""
    document = given(healthy(1), gone="train")
    for which in ("allocatable", "capacity"):
        units = node_of(document, 0)["status"][which]
        del units[GPU]
        units |= {f"nvidia.com/{key}": value for key, value in resources.items()}
    return document


def shared(units: str) -> Document:
    paths = {f"status {which} {GPU}{more}": count for which in ("capacity", "allocatable")
             for more, count in (("", "0"), (".shared", "4"))}  # fmt: skip
    paths |= {f"metadata labels {GPU}.replicas": "4", f"status allocatable {GPU}.shared": units}
    return given(healthy(1), gone="train-waits", node=paths)


test_a_node_offers = table(
    ("none where one is expected", counted(None, base=without_gpus(), count=None), short("0 GPUs where 1 is expected")),
    ("none of its one", without_gpus(), [SHORT]),
    ("3 of its 4", counted("3", "4", base=without_gpus()), short("3 of its 4 GPUs")),
    ("7 of its 8", counted("7", "8", gpus=8, count="8"), ["gpu-count-short"]),
    ("all 16 shares of 8", counted("16", gpus=8, count="8", replicas="2"), []),
    ("15 of 16 shares", counted("15", gpus=8, count="8", replicas="2"), short("15 GPUs where 16 are expected")),
    ("all 8, of which feature discovery counts 7", counted("8", gpus=8, count="7"),
     [("gpu-count-short", NODE, f"GPU feature discovery counts 7 GPUs on {NODE} where 8 are expected")]),
    ("8 without a share", counted("8", gpus=8, count="8", replicas="0"), []),
    ("renamed shares", sliced(**{"gpu.shared": "1", "gpu": "0"}), []),
    ("4 renamed shares of one", shared("4"), []),
    ("3 of 4 renamed shares", shared("3"), ["gpu-count-short"]),
)  # fmt: skip


def new_type(minute: float = 15, *, offers: str = "0", release: str = "1.35.4-20260801",
             node: dict[str, str] | None = None) -> Document:  # fmt: skip
    """A node of g7, whose GPUs need the driver 595."""
    paths = {
        "metadata labels node.kubernetes.io/instance-type": "g7.2xlarge",
        f"status allocatable {GPU}": offers,
    }
    return given(without_gpus(minute), node=paths | (node or {}), group={"releaseVersion": release})


ROCKET = "Bottlerocket OS 1.50.0 (aws-k8s-1.35-nvidia)"
LABELLED = "metadata labels nvidia.com/cuda.driver-version.full"
NEEDED = ("the GPUs of a g7.2xlarge need the driver 595 or later", MISSING)


test_a_driver_is_too_old_for_the_type = table(
    ("by the release of its image", new_type(),
     [("driver-too-old", NODE, "EKS' image 1.35.4-20260801 has an older driver", *NEEDED)]),
    ("also within the normal time", new_type(5), ["driver-too-old"]),
    ("by Bottlerocket's image", new_type(release="1.50.0-1a2b3c4d", node={"status nodeInfo osImage": ROCKET}),
     [("driver-too-old", NODE, f"EKS' image {ROCKET} has an older driver", *NEEDED)]),
    ("by a label, whatever the image", new_type(release="1.35.4-20260917", node={LABELLED: "580.159.03"}),
     [("driver-too-old", NODE, f"{NODE} has the driver 580.159.03, by its label", *NEEDED)]),
    ("and not where the label has it", new_type(node={LABELLED: "595.58.03"}), ["gpu-count-short"]),
    ("not in a release that has it", new_type(release="1.35.4-20260917"), ["gpu-count-short"]),
    ("not where its image is no EKS release", new_type(release="ami-0123456789abcdef0"), ["gpu-count-short"]),
    ("not where the operator installs one", given(new_type(), clusterpolicies=[policy(driver={"enabled": True})]),
     ["gpu-count-short"]),
    ("not where it offers its GPU", new_type(offers="1"), []),
    ("not for another type", new_type(node={"metadata labels node.kubernetes.io/instance-type": "g6.xlarge"}),
     ["gpu-count-short"]),
)  # fmt: skip


def fault(reason: str, status: str = "False") -> Document:
    return {"type": "AcceleratedHardwareReady", "status": status, "reason": reason, "message": "odd"}


def faulty(reason: str, status: str = "False", **parts: Any) -> Document:
    return given(healthy(1), conditions=[fault(reason, status)], **parts)


def printed(line: str, *, short: bool = False, **parts: Any) -> Document:
    return given(without_gpus() if short else healthy(1), logs={CALLED: line}, **parts)


def off(gpus: str) -> Document:
    """Of two GPUs one is dead, and the plugin is switched off."""
    paths = {f"status allocatable {GPU}": gpus, f"status capacity {GPU}": "2"}
    return given(without_gpus(), gone="nvidia-", expected={"gpus_per_node": 2}, node=paths,
                 clusterpolicies=[policy(devicePlugin={"enabled": False})],
                 conditions=[fault("NvidiaDoubleBitError")])  # fmt: skip


FATAL, OTHER = "Xid (PCI:0000): 79", "XidCriticalError: Xid=13"
CRITICAL = "XidCriticalError: Xid=79 on Device=GPU-8f6d2f2e; marking device as unhealthy."
LINK, SWITCH = "Xid (PCI:0000): 74, NVLink", "SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
UNLISTED = "NVIDIA's table of XIDs as we have it does not list XID 172"
OF_AGENT = str(reason("finding.evidence.monitoring-fault"))
NEEDS = "Xid (PCI:0000): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to {}"
FAULTS = (
    ("NvidiaXID79Error", "xid", NODE), ("NvidiaDoubleBitError", "xid", NODE), ("DCGMDiagnosticFailure", "xid", NODE),
    ("NvidiaDeviceCountMismatch", "gpu-count-short", NODE), ("NvidiaFabricError", "xid", NODE),
    ("NvidiaNVLinkError", "xid", NODE), ("DCGMHealthCode4", "xid", NODE), ("DCGMHealthCode80", "xid", NODE),
    ("NvidiaRowRemapFailure", "xid", NODE), ("FabricManagerNotRunning", "driver-broken", NODE),
    ("DCGMHealthCode71", "unknown", POOL), ("NvidiaXID63Error", "xid", NODE),
)  # fmt: skip


test_a_gpu_is_dead_by = table(
    *((f"{code} of the node", faulty(code), [(cause, about, f"{NODE} AcceleratedHardwareReady=False, {code}: odd")])
      for code, cause, about in FAULTS),
    *((f"not {code} that is over", faulty(code, "True"), []) for code, _, _ in (*FAULTS, ("NvidiaXID13Error", "", ""))),
    ("not an error of an application", faulty("NvidiaXID13Error"), []),
    ("not a number that no table has", faulty(f"DCGMHealthCode{'9' * 5000}"), ["unknown"]),
    ("not the agent's lost connection to DCGM", faulty("DCGMError"),
     [("unknown", POOL, f"{NODE} AcceleratedHardwareReady=False, DCGMError: odd; {OF_AGENT}")]),
    ("an XID that NVIDIA's table does not have", printed("Xid (PCI:0000): 172, x"),
     [("unknown", POOL, f"{CALLED}: Xid (PCI:0000): 172, x; {UNLISTED}")]),
    ("an NVLink, of which an NVSwitch is the root", printed(f"{LINK}\n{SWITCH}"),
     [("xid", NODE, f"{CALLED}: {LINK}", str(reason("finding.evidence.sxid", line=f"{CALLED}: {SWITCH}")))]),
    ("an NVLink alone", printed(LINK), [("xid", NODE, f"{CALLED}: {LINK}")]),
    ("another XID, whatever a switch says", printed(f"{FATAL}\n{SWITCH}"), [("xid", NODE, f"{CALLED}: {FATAL}")]),
    ("not a number of an NVSwitch", printed("SXid (PCI:0000): 12028, Non-fatal"), []),
    ("not what has to repeat first", printed("Xid (PCI:0000): 63, Row Remapper: new row"), []),
    ("not one from which it recovered", printed(f"{FATAL}\n{NEEDS.format('0x2 (Node Reboot Required)')}\n"
     f"{NEEDS.format('0x0 (None)')}"), []),
    ("an event of the node", given(healthy(1), more={"events": [event("Node", NODE, "NvidiaXID79Error", "fatal"),
     event("Node", NODE, "NvidiaXID13Warning", "not fatal")]}), [("xid", NODE, "NvidiaXID79Error: fatal")]),
    ("not an NVLink error of Blackwell that is not fatal", printed("Xid (PCI:0000): 145, RLW_RXPIPE Nonfatal XC0"), []),
    ("a fatal XID in a log", printed(FATAL), [("xid", NODE, f"{CALLED}: {FATAL}")]),
    ("one that the plugin calls critical", printed(CRITICAL, expected={"gpus_per_node": 1}), ["xid"]),
    ("not another", printed(OTHER), []),
    ("not one of a program", printed("NVRM: Xid (PCI:0000:00:1e): 31, pid=1, name=python"), []),
    ("another where a GPU is missing", printed(OTHER, short=True),
     [("xid", NODE, f"{CALLED}: {OTHER}", f"{NODE} offers 0 of its 1 GPUs")]),
    ("not one that the plugin does not call critical", printed("Xid (PCI:0000): 13", short=True), ["gpu-count-short"]),
    ("more than a short count and a lost GPU", given(counted("7", "8", gpus=8, count="8"), logs={CALLED: CRITICAL,
     "lab/train-0": "Failed to initialize NVML: Unknown Error"}), ["xid"]),
    ("beside a plugin that is off where no GPU is offered", off("0"), ["xid", "device-plugin-disabled"]),
    ("alone where one is", off("1"), ["xid"]),
    ("alone where both are", off("2"), ["xid"]),
    ("none of yesterday", given(healthy(), logs={CALLED: f"E1120 10:00:00.000001 1 health.go:159] {CRITICAL}"},
     more={"events": [event("Node", NODE, "NvidiaXID79Error", "fatal", -60)]}), []),
)  # fmt: skip


@pytest.mark.parametrize(("document", "action"), [
    (faulty("NvidiaXID54Error"), "isolate"),
    (printed(FATAL), "reboot"),
    (printed("Xid (PCI:0000): 95, x"), "reset"),
    (given(printed("Xid (PCI:0000): 95, x"), node={"metadata labels node.kubernetes.io/instance-type": "p4d.24xlarge"}),
     "reboot"),
    (printed(f"Xid (PCI:0000): 48, x\n{NEEDS.format('0x2 (Node Reboot Required)')}"), "reboot"),
    (printed(f"{FATAL}\n{NEEDS.format('0x1 (Drain and Reset)')}"), "reset"),
    (printed(f"Xid (PCI:0000): 74, x\n{NEEDS.format('0x3 (Drain P2P)')}"), "reset"),
    (printed("Xid (PCI:0000): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00"), "reset"),
    (faulty("NvidiaXID63Error"), "watch"),
    (faulty("DCGMHealthCode4"), "isolate"),
])  # fmt: skip
def test_nvidia_s_own_table_says_what_to_do(document: Document, action: str) -> None:
    [found] = judge(document).findings
    assert found.advice == reason(f"finding.xid.{action}.advice")


def test_of_nodes_with_different_errors_each_is_told_what_to_do_and_the_most_urgent_is_the_advice() -> None:
    document = healthy()
    conditions(document, 0).append(fault("NvidiaXID95Error"))
    conditions(document, 1).append(fault("NvidiaXID54Error"))
    [found] = judge(document).findings
    assert found.advice == reason("finding.xid.isolate.advice")
    assert reason("finding.xid.reset", node=NODE) in found.evidence
    assert reason("finding.xid.isolate", node=NODES[1]) in found.evidence


def test_an_old_condition_is_told_with_its_age_since_the_agent_takes_none_back() -> None:
    old = {**fault("DCGMHealthCode4"), "lastTransitionTime": at(-60 * 24 * 8)}
    [found] = judge(given(healthy(1), conditions=[old])).findings
    assert str(found.evidence[1]).startswith("the condition has stood since ")
    new = {**old, "lastTransitionTime": at(10)}
    [found] = judge(given(healthy(1), conditions=[new])).findings
    assert len(found.evidence) == 1


MANAGER = "nvidia-mig-manager-m4wl8"
WHY = 'level=fatal msg="Error applying MIG configuration: unable to apply MIG config with MIG mode disabled"'
AGAIN = 'level=info msg="Updating to MIG config: all-1g.5gb"'
UNDIVIDED = f"{NODE}: MIG could not be set to all-1g.5gb (label nvidia.com/mig.config.state=failed)"


def divided(state: str, log: str = "", document: Document | None = None) -> Document:
    labels = {"metadata labels nvidia.com/mig.config": "all-1g.5gb"}
    labels["metadata labels nvidia.com/mig.config.state"] = state
    return given(
        document or healthy(nodes=1), pod(MANAGER), node=labels, logs={f"gpu-operator/{MANAGER}": log}
    )


def without_driver() -> Document:
    """The driver was updated under a running kernel module: the MIG manager fails as well."""
    validator = "nvidia-operator-validator-0"
    crashes = waiting(pod(validator), "CrashLoopBackOff", "back-off", restarts=5)
    logs = {f"gpu-operator/{validator}": "driver/library version mismatch"}
    return given(divided("failed"), crashes, logs=logs)


test_a_division_by_mig = table(
    ("that failed is told", divided("failed"), [("unknown", POOL, UNDIVIDED)]),
    ("is told with the first error of its manager", divided("failed", f"level=info\n{WHY}\nlevel=error last"),
     [("unknown", POOL, f"{UNDIVIDED}; gpu-operator/{MANAGER}: {WHY}")]),
    ("is told without the error of an earlier one", divided("failed", f"{WHY} 1\n{AGAIN}\n{WHY}"),
     [("unknown", POOL, f"{UNDIVIDED}; gpu-operator/{MANAGER}: {WHY}")]),
    ("that failed explains the GPUs that are missing", divided("failed", document=without_gpus()),
     [("unknown", POOL, UNDIVIDED)]),
    ("that failed because of the driver is its finding", without_driver(),
     [("driver-mismatch", NODE)]),
    ("that goes on or succeeded is well", divided("success", WHY), []),
)  # fmt: skip
