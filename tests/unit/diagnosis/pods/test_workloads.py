"""Workloads that fail: each is a finding, with its cause where its texts show one, else with its text."""

from typing import Any

import pytest

from tests.diagnosis_cases import conditions, nvidia
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    at_work,
    event,
    healthy,
    node,
    pod,
    told,
    train,
    waiting,
)
from tests.unit.diagnosis.table import DEAD, SECOND, UNREAD, Told, given, table

NODE = NODES[0]
TOO_OLD = "unsatisfied condition: cuda>=13.0, please update your driver"
MISMATCH = "driver/library version mismatch"
HOOK = "OCI runtime create failed: error running prestart hook #0: exit status 1, stdout: , stderr: "
CLI = f"{HOOK}Auto-detected mode as 'legacy'\nnvidia-container-cli: "
MINE = "lab/train-0"


def crashed(said: str) -> Document:
    """A workload whose container fails to start again and again. The reason is in its last state."""
    work = waiting(train(), "CrashLoopBackOff", "back-off 5m0s", restarts=7)
    ended = {"reason": "StartError", "exitCode": 128, "message": said}
    work["status"]["containerStatuses"][0]["lastState"] = {"terminated": ended}
    return work


STARTS_NOT = (
    # libnvidia-container, as the runtime passes it on: NVIDIA/nvidia-container-toolkit issues 416, 632, 260.
    (f"{CLI}detection error: nvml error: gpu requires reset: unknown", "xid"),
    (f"{CLI}detection error: nvml error: unknown error: unknown", "driver-broken"),
    (f"{CLI}initialization error: driver rpc error: timed out: unknown", "driver-broken"),
    (f"{CLI}initialization error: nvml error: driver not loaded: unknown", "driver-broken"),
    (f"{CLI}detection error: open failed: /usr/lib/libnvidia-tls.so.1: no such file", "driver-broken"),
    (f"{CLI}device error: GPU-8f6d2f2e: unknown device: unknown", "cdi-unresolvable"),
    (f"{CLI}requirement error: unsatisfied condition: driver>=535", "driver-too-old"),
    (f"{CLI}initialization error: load library failed: libnvidia-ml.so.1: cannot open", "runtime-missing"),
    # The image has a file where the runtime would put its own. The driver is fine.
    (f"{CLI}mount error: file creation failed: /usr/lib/libnvidia-ml.so.1: file exists", "unknown"),
    (f"{CLI}ldcache error: process /sbin/ldconfig failed with error code: 1", "unknown"),
    (f"{CLI}initialization error: cuda error: unknown error", "driver-broken"),
    (f"{CLI}requirement error: unsatisfied condition: arch >= 8.0", "unknown"),
    # The toolkit in CDI's mode, which names NVML's errors as go-nvml does.
    ("error modifying OCI spec: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND", "runtime-missing"),
    ("error modifying OCI spec: failed to initialize NVML: ERROR_DRIVER_NOT_LOADED", "driver-broken"),
    ("failed to initialize NVML: ERROR_LIB_RM_VERSION_MISMATCH", "driver-mismatch"),
    ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0", "cdi-unresolvable"),
    # runc and containerd.
    ('exec: "nvidia-smi": executable file not found in $PATH: unknown', "runtime-missing"),
    ("fork/exec /usr/bin/nvidia-container-runtime: no such file or directory", "runtime-missing"),
    ('exec: "train.py": executable file not found in $PATH: unknown', "unknown"),
)


@pytest.mark.parametrize(("said", "cause"), STARTS_NOT)
def test_a_container_that_does_not_start_is_never_silent(said: str, cause: str) -> None:
    [(found, _, evidence)] = told(at_work(crashed(said)))
    assert found == cause
    assert said.rpartition("\n")[2][:60] in " ".join(evidence)


LOGS = (
    # CUDA's runtime API, by error code: 214, 220, 35, 804, 222, 803, 100, 700.
    # 803 may be the node's fault or the image's.
    ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "xid"),
    ("CUDA error: uncorrectable NVLink error detected during the execution", "xid"),
    ("CUDA driver version is insufficient for CUDA runtime version", "driver-too-old"),
    ("Error 804: forward compatibility was attempted on non supported HW", "driver-too-old"),
    ("the provided PTX was compiled with an unsupported toolchain.", "driver-too-old"),
    ("Error 803: system has unsupported display driver / cuda driver combination", "unknown"),
    ("CUDA error: no CUDA-capable device is detected", "unknown"),
    ("CUDA error: an illegal memory access was encountered", "unknown"),
    # PyTorch and pynvml.
    ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", "driver-too-old"),
    ("RuntimeError: Found no NVIDIA driver on your system.", "runtime-missing"),
    ("pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found", "runtime-missing"),
    ("pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded", "driver-broken"),
    ("ImportError: libcuda.so.1: cannot open shared object file: No such file", "runtime-missing"),
    ("sh: 1: nvidia-smi: not found", "runtime-missing"),
    ("CUDA error: no kernel image is available for execution on the device", "unknown"),
    ("Error 802: system not yet initialized", "driver-broken"),
    # A listed library was found.
    ("Selecting /usr/lib64/libnvidia-ml.so.580.159.03 as /lib64/libnvidia-ml.so.1\nKilled", "unknown"),
    ("ValueError: a learning rate is no text", "unknown"),
)


def failed(log: str, *pods: Document, owner: str = "", **parts: Any) -> Document:
    """A workload that failed with this log."""
    work = train("Failed", minute=10, owner=owner)
    work["status"]["containerStatuses"][0]["state"] = {"terminated": {"reason": "Error", "exitCode": 1}}
    return given(at_work(work, train_0=log), *pods, **parts)


@pytest.mark.parametrize(("log", "cause"), LOGS)
def test_a_pod_that_failed_is_told_by_its_log(log: str, cause: str) -> None:
    [(found, _, evidence)] = told(failed(log))
    assert found == cause
    assert log.splitlines()[-1] in evidence[0]


def says(reason: str, message: str, restarts: int = 0, **parts: Any) -> Document:
    return given(at_work(waiting(train(), reason, message, restarts=restarts)), **parts)


def unready(now: float) -> Document:
    work = train("Running")
    work["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": at(10)}]
    probe = event("Pod", "train-0", "Unhealthy", "Readiness probe failed: 503", 11, namespace="lab")
    return given(at_work(work, now=now), events=[probe])


def on_a_lost_node() -> Document:
    document = says("ErrImagePull", "gone")
    document["kubernetes"]["nodes"][1] = node(0, 1, ready=False)
    return document


def plain(phase: str = "") -> Document:
    """Its library is missing, on an image without the driver."""
    work = waiting(train(), "CreateContainerError", "could not load NVML")
    work["status"] |= {"phase": phase} if phase else {}
    return given(at_work(work), group={"amiType": "AL2023_x86_64_STANDARD"})


def discovery(*pods: Document) -> Document:
    name = "gpu-feature-discovery-0"
    crashes = waiting(pod(name), "CrashLoopBackOff", "back-off", restarts=9)
    return given(at_work(), crashes, *pods, clusterpolicies=[], logs={f"gpu-operator/{name}": "panic: nil"})


def two_images() -> Document:
    return given(
        healthy(), *(waiting(pod(f"train-{n}", "lab", n, gpus=1), "ErrImagePull", "gone") for n in range(2))
    )


def three_troubles() -> Document:
    document = given(healthy(), pod("late", "lab", None, gpus=1, phase="Pending", tolerates=False))
    nvidia.CASES[0].shows(document, 0)
    conditions(document, 1).append({**DEAD, "reason": "NvidiaXID48Error", "message": "DBE"})
    return document


def unknown(words: str, *more: str) -> list[Told]:
    return [("unknown", POOL, f"lab/train-0 {words}", *more)]


FAILS = f"on {NODE} fails:"
BY_LIBRARY = f"{MINE}: could not load NVML"
PANIC = f"gpu-operator/gpu-feature-discovery-0 {FAILS} CrashLoopBackOff back-off; its log ends: panic: nil"
BROKEN = "couldn't communicate with the NVIDIA driver"
RUNTIME = (
    ("RunContainerError", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0",
     "driver-too-old"),
    ("CreateContainerError", "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0",
     "cdi-unresolvable"),
    ("CreateContainerError", f"nvidia-container-cli: initialization error: nvml error: {MISMATCH}", "driver-mismatch"),
)  # fmt: skip


test_a_workload_fails = table(
    *((f"by the runtime: {cause}", says(reason, said), [(cause, MINE, f"{MINE}: {said}")]) for reason, said,
     cause in RUNTIME),
    ("by its image", says("ErrImagePull", "toomanyrequests"),
     [("image-pull-failed", MINE, f"{MINE} main: ErrImagePull toomanyrequests")]),
    ("by the signature of its image", says("SignatureValidationFailed", "no"), ["image-pull-failed"]),
    ("each by its image", two_images(), [("image-pull-failed", "lab/train-0, lab/train-1", *(
     f"lab/train-{number} main: ErrImagePull gone" for number in range(2)))]),
    ("by the end of its log", says("CrashLoopBackOff", "back-off", 4, logs={MINE: "ValueError: learning rate"}),
     unknown(f"{FAILS} CrashLoopBackOff back-off; its log ends: ValueError: learning rate")),
    ("by how it ended, without a log", failed("", logs=UNREAD, logs_previous=UNREAD),
     unknown(f"{FAILS} container main: Error; exit code 1", "not read: logs")),
    *((f"by what it waits for: {reason}", says(reason, "secret not found", 1),
     unknown(f"{FAILS} {reason} secret not found"))
      for reason in ("CreateContainerConfigError", "CreateContainerError", "PostStartHookError")),
    ("by what it printed before it was restarted", says("CrashLoopBackOff", "back-off", 1,
     logs_previous={MINE: TOO_OLD}),
     [("driver-too-old", MINE, f"{MINE}: {TOO_OLD}")]),
    ("not by that once it is well", given(at_work(), logs_previous={MINE: MISMATCH}), []),
    ("by a library, as no plugin that registered", says("CrashLoopBackOff", "odd", 1,
     logs={MINE: "could not load NVML\nRegistered device plugin for 'x'"}), [("runtime-missing", MINE, BY_LIBRARY)]),
    ("by a missing library", says("CreateContainerError", "could not load NVML"), [("runtime-missing", MINE,
     BY_LIBRARY)]),
    ("by an image of its node without the driver", plain(), [("wrong-ami", POOL, BY_LIBRARY)]),
    ("and not also because it failed", plain("Failed"), [("wrong-ami", POOL, BY_LIBRARY)]),
    ("while it runs: a driver that no longer works", at_work(train_0=MISMATCH),
     [("driver-mismatch", MINE, f"{MINE} on {NODE}: {MISMATCH}")]),
    ("while it runs: a driver that is not reached", at_work(train_0=BROKEN),
     [("driver-broken", MINE, f"{MINE} on {NODE}: {BROKEN}")]),
    ("while it runs: broken memory", at_work(train_0="RuntimeError: CUDA error: uncorrectable ECC error encountered"),
     ["xid"]),
    *((f"while it runs, not: {said}", at_work(train_0=said), []) for said in (TOO_OLD, "could not load NVML")),
    *((f"not once it ended well: {said}", at_work(train("Succeeded"), train_0=said), [])
      for said in (MISMATCH, BROKEN, TOO_OLD, "could not load NVML")),
    ("not on a node whose GPU is dead", given(at_work(train_0=MISMATCH), conditions=[DEAD]), ["xid"]),
    ("there by its image", says("ErrImagePull", "gone", conditions=[DEAD]),
     [("image-pull-failed", MINE, f"{MINE} main: ErrImagePull gone"), "xid"]),
    ("there by the driver that its image needs", says("CreateContainerError", TOO_OLD, conditions=[DEAD]),
     ["xid", ("driver-too-old", MINE, f"{MINE}: {TOO_OLD}")]),
    ("there not by the driver", says("CreateContainerError", MISMATCH, conditions=[DEAD]), ["xid"]),
    ("there not by itself", says("CrashLoopBackOff", "odd", conditions=[DEAD]), ["xid"]),
    ("not on a node that is not Ready", on_a_lost_node(), ["node-not-ready"]),
    ("not at once because it is not Ready", unready(12), [("container-start", MINE, "11:10:00")]),
    ("in the end because it is not Ready", unready(12 + SECOND),
     unknown(f"on {NODE} runs and is not Ready: Unhealthy: Readiness probe failed: 503")),
    ("as NVIDIA's own pod where nothing is nearer to the root", discovery(), [("unknown", POOL, PANIC)]),
    ("not where something is", discovery(waiting(train(), "ErrImagePull", "gone")), ["image-pull-failed"]),
    ("beside the troubles of two nodes", three_troubles(), ["untolerated-taint", "driver-mismatch", "xid"]),
)  # fmt: skip
