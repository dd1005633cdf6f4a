"""Pods that fail or wait: each is a finding, with its cause where its texts show one, else with its text."""

import pytest

from tests.diagnosis_cases import conditions
from tests.diagnosis_cases.aws import STORE, ranks
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    at_work,
    causes,
    event,
    healthy,
    judge,
    pod,
    replace,
    told,
    train,
    under_way,
    waiting,
    without,
)

NODE = NODES[0]
HOOK = "OCI runtime create failed: error running prestart hook #0: exit status 1, stdout: , stderr: "
CLI = f"{HOOK}Auto-detected mode as 'legacy'\nnvidia-container-cli: "


def crashed(said: str, *, reason: str = "StartError", code: int = 128) -> Document:
    """A workload whose container fails to start again and again. The reason is in its last state."""
    work = waiting(train(), "CrashLoopBackOff", "back-off 5m0s", restarts=7)
    ended = {"reason": reason, "exitCode": code, "message": said}
    work["status"]["containerStatuses"][0]["lastState"] = {"terminated": ended}
    return work


def failed(log: str) -> Document:
    """A workload that failed with this log."""
    work = train("Failed", minute=10)
    work["status"]["containerStatuses"][0]["state"] = {"terminated": {"reason": "Error", "exitCode": 1}}
    return at_work(work, train_0=log)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        # libnvidia-container, as the runtime passes it on: NVIDIA/nvidia-container-toolkit issues 416, 632, 260.
        (f"{CLI}detection error: nvml error: gpu requires reset: unknown", "xid"),
        (f"{CLI}detection error: nvml error: unknown error: unknown", "driver-broken"),
        (f"{CLI}initialization error: driver rpc error: timed out: unknown", "driver-broken"),
        (f"{CLI}initialization error: nvml error: driver not loaded: unknown", "driver-broken"),
        (f"{CLI}detection error: open failed: /usr/lib/libnvidia-tls.so.1: no such file", "driver-broken"),
        (f"{CLI}device error: GPU-8f6d2f2e: unknown device: unknown", "cdi-unresolvable"),
        (f"{CLI}requirement error: unsatisfied condition: driver>=535", "driver-too-old"),
        (
            f"{CLI}initialization error: load library failed: libnvidia-ml.so.1: cannot open",
            "runtime-missing",
        ),
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
    ],
)
def test_a_container_that_does_not_start_is_never_silent(said: str, cause: str) -> None:
    [(found, _, evidence)] = told(at_work(crashed(said)))
    assert found == cause
    assert said.rpartition("\n")[2][:60] in " ".join(evidence)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
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
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            "driver-too-old",
        ),
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
    ],
)
def test_a_pod_that_failed_is_told_by_its_log(log: str, cause: str) -> None:
    [(found, _, evidence)] = told(failed(log))
    assert found == cause
    assert log.splitlines()[-1] in evidence[0]


def test_a_pod_that_the_kubelet_refused_because_its_gpu_is_lost_lost_its_gpu() -> None:
    # kubernetes issue 97131, k8s-device-plugin issue 231.
    said = (
        "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: nvml: GPU is lost"
    )
    work = train("Failed")
    work["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": said}
    assert causes(at_work(work)) == ["gpu-lost"]
    # Its issue 1397: a restart of the plugin repairs it, as it does for a refused pod.
    work["status"]["message"] = said.replace("GPU is lost", "error calling nvml.Init: Unknown Error")
    assert causes(at_work(work)) == ["admission-refused"]


def test_a_pod_that_failed_without_a_log_is_told_by_how_it_ended() -> None:
    document = failed("")
    del document["logs"], document["logs_previous"]
    said = f"lab/train-0 on {NODE} fails: container main: Error; exit code 1"
    assert told(document) == [("unknown", POOL, [said, "not read: logs"])]


def test_a_pod_that_failed_before_another_of_its_owner_took_over_is_history() -> None:
    document = failed("Killed")
    document["kubernetes"]["pods"][-1]["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train"}]
    document["kubernetes"]["pods"].append(pod("train-1", "lab", 0, gpus=1, owner="Job/train", minute=12))
    assert told(document) == []


@pytest.mark.parametrize(
    "reason", ["CreateContainerConfigError", "CreateContainerError", "PostStartHookError"]
)
def test_a_container_that_waits_beside_others_that_run_is_told_by_what_it_waits_for(reason: str) -> None:
    document = at_work(waiting(train(), reason, "secret not found", restarts=1))
    said = f"lab/train-0 on {NODE} fails: {reason} secret not found"
    assert told(document) == [("unknown", POOL, [said])]


def test_an_image_whose_signature_is_refused_is_not_pulled() -> None:
    assert causes(at_work(waiting(train(), "SignatureValidationFailed", "no"))) == ["image-pull-failed"]


def test_what_runs_on_and_says_that_memory_is_broken_is_told() -> None:
    document = at_work(train_0="RuntimeError: CUDA error: uncorrectable ECC error encountered")
    assert causes(document) == ["xid"]


def test_a_pod_that_runs_and_does_not_get_ready_is_waited_for_and_then_told() -> None:
    def unready(now: float) -> Document:
        work = train("Running")
        work["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": at(10)}]
        document = at_work(work, now=now)
        probe = event("Pod", "train-0", "Unhealthy", "Readiness probe failed: 503", 11, namespace="lab")
        document["kubernetes"]["events"] = [probe]
        return document

    assert under_way(unready(12)) == [("container-start", "lab/train-0", "11:10:00")]
    said = f"lab/train-0 on {NODE} runs and is not Ready: Unhealthy: Readiness probe failed: 503"
    assert told(unready(13)) == [("unknown", POOL, [said])]


def unplaced(said: str, *, full: bool = False) -> Document:
    """A pod that requests one GPU and has no node, beside a free or a used GPU."""
    document = at_work(None if full else train(number=None))
    if full:
        document["kubernetes"]["pods"].append(pod("more", "lab", None, gpus=1, phase="Pending"))
    name = "more" if full else "train-0"
    document["kubernetes"]["events"] = [event("Pod", name, "FailedScheduling", said, 19, namespace="lab")]
    return document


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        # kube-scheduler counts a node without any GPU as lacking one. Here one node had a GPU and no memory.
        ("0/3 nodes are available: 1 Insufficient memory, 2 Insufficient nvidia.com/gpu.", False),
        (
            "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 3 Insufficient cpu, 3 Too many pods.",
            False,
        ),
        (
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 Insufficient memory, "
                "1 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No preemption victims found."
            ),
            False,
        ),
        # A node that the pod may use refuses it for another reason.
        (
            "0/3 nodes are available: 1 node(s) had volume node affinity conflict, 2 Insufficient nvidia.com/gpu.",
            False,
        ),
        (
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }, "
                "2 Insufficient nvidia.com/gpu."
            ),
            False,
        ),
        (
            "0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 2 Insufficient nvidia.com/gpu.",
            False,
        ),
        # Every tried node lacks a GPU. The scheduler sees more than the snapshot has.
        ("0/3 nodes are available: 2 Insufficient memory, 3 Insufficient nvidia.com/gpu.", True),
        (
            (
                "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
                "2 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 2 No preemption victims found."
            ),
            True,
        ),
        ("Insufficient nvidia.com/gpu", True),
    ],
)
def test_a_pod_that_waits_for_more_than_a_gpu_is_told_in_the_scheduler_s_words(
    said: str, *, silent: bool
) -> None:
    free = f"lab/train-0 has no node although a GPU is free: {said}"
    assert told(unplaced(said)) == ([] if silent else [("unknown", POOL, [free])])


def test_a_pod_that_is_being_deleted_holds_its_gpu_until_it_is_gone() -> None:
    document = unplaced("0/3 nodes are available: 1 Insufficient memory, 2 Insufficient nvidia.com/gpu.")
    going = pod("going", "lab", 0, gpus=1)
    going["metadata"]["deletionTimestamp"] = at(19)
    document["kubernetes"]["pods"].append(going)
    assert told(document) == []


def test_a_pod_that_waits_for_its_volume_waits_for_no_gpu() -> None:
    said = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    assert told(unplaced(said, full=True)) == [("unknown", POOL, [f"lab/more has no node: {said}"])]
    assert told(unplaced("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", full=True)) == []


def timed_out(phase: str = "Failed", *, log: str = STORE) -> Document:
    """A job of two ranks, in which the first timed out waiting for the second."""
    document = healthy()
    ranks(document, log, phase=phase)
    del document["logs"]["lab/nccl-1/main"]
    return document


def never_pulled(name: str = "nccl-1", number: int = 1, owner: str = "Job/nccl") -> Document:
    return waiting(pod(name, "lab", number, gpus=1, owner=owner, minute=10), "ErrImagePull", "not found")


@pytest.mark.parametrize("phase", ["Running", "Failed"])
def test_a_peer_s_time_out_follows_from_the_image_that_was_never_pulled(phase: str) -> None:
    document = timed_out(phase)
    replace(document, never_pulled())
    assert causes(document) == ["image-pull-failed"]

    # The job's deadline ended the rank that never started.
    document["kubernetes"]["pods"][-1]["status"]["phase"] = "Failed"
    document["aws"]["security_groups"][0]["IpPermissions"] = []
    assert causes(document) == ["image-pull-failed"]


def test_a_rank_that_runs_beside_one_that_failed_has_not_taken_its_place() -> None:
    document = healthy()
    ranks(document, "")
    replace(document, pod("nccl-1", "lab", 1, gpus=1, phase="Failed", owner="Job/nccl", minute=10))
    document["logs"]["lab/nccl-1"] = "CUDA error: uncorrectable ECC error encountered"
    assert causes(document) == ["xid"]

    # A new pod of the same rank of an indexed job counts. A late pod of another rank does not.
    for index, found in (("1", []), ("0", ["xid"])):
        again = pod("nccl-1-again", "lab", 1, gpus=1, owner="Job/nccl", minute=12)
        again["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": index}
        replace(document, again)
        for each in document["kubernetes"]["pods"]:
            if each["metadata"]["name"] == "nccl-1":
                each["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": "1"}
        assert causes(document) == found


def test_a_peer_of_the_same_jobset_or_of_which_only_events_are_known_counts_as_well() -> None:
    document = timed_out()
    without(document, "nccl-1")
    document["kubernetes"]["pods"] += [
        pod("nccl-2", "lab", 1, gpus=1, owner="Job/nccl", phase="Failed", minute=10),
        never_pulled("workers-0", owner="Job/workers"),
    ]
    for each in document["kubernetes"]["pods"]:
        if each["metadata"]["name"].startswith(("nccl", "workers")):
            each["metadata"]["labels"] = {"jobset.sigs.k8s.io/jobset-name": "nccl"}
    assert causes(document) == ["image-pull-failed"]

    unread = timed_out()
    del unread["kubernetes"]["pods"]
    said = 'Failed to pull image "lab/nccl:1": not found'
    unread["kubernetes"]["events"] = [event("Pod", "nccl-1", "Failed", said, namespace="lab")]
    assert causes(unread) == ["image-pull-failed"]


def test_ranks_of_a_jobset_that_were_kept_apart_are_one_finding() -> None:
    document = timed_out()
    without(document, "nccl-1")
    document["kubernetes"]["pods"].append(
        pod("workers-0", "lab", 1, gpus=1, owner="Job/workers", phase="Failed", minute=10)
    )
    for each in document["kubernetes"]["pods"]:
        if each["metadata"]["name"].startswith(("nccl", "workers")):
            each["metadata"]["labels"] = {"jobset.sigs.k8s.io/jobset-name": "nccl"}
    assert causes(document) == ["nccl-path-blocked"]


def test_a_rank_that_gave_up_on_one_that_has_no_node_yet_is_no_finding_of_its_own() -> None:
    document = timed_out()
    without(document, "nccl-1")
    document["kubernetes"]["pods"] += [
        pod("nccl-1", "lab", None, gpus=1, phase="Pending", owner="Job/nccl", minute=10),
        pod("holds", "lab", 0, gpus=1),
        pod("holds-too", "lab", 1, gpus=1),
    ]
    assert told(document) == []


def test_what_breaks_one_rank_ends_the_others_too() -> None:
    document = timed_out(log="RuntimeError: the other rank is gone")
    replace(document, pod("nccl-1", "lab", 1, gpus=1, phase="Failed", owner="Job/nccl", minute=10))
    assert causes(document) == ["unknown"]

    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    conditions(document, 1).append(fault)
    assert [(each.cause.name, each.about) for each in judge(document).findings] == [("xid", NODES[1])]


def test_nvidia_s_own_pod_that_crashes_is_told_where_nothing_nearer_to_the_root_is() -> None:
    document = at_work()
    document["kubernetes"]["clusterpolicies"] = []
    name = "gpu-feature-discovery-0"
    replace(document, waiting(pod(name), "CrashLoopBackOff", "back-off", restarts=9))
    document["logs"] = {f"gpu-operator/{name}": "panic: nil"}
    said = f"gpu-operator/{name} on {NODE} fails: CrashLoopBackOff back-off; its log ends: panic: nil"
    assert told(document) == [("unknown", POOL, [said])]

    replace(document, waiting(train(), "ErrImagePull", "gone"))
    assert causes(document) == ["image-pull-failed"]


def test_the_validator_s_own_workload_says_that_the_driver_is_too_old_for_it() -> None:
    document = at_work()
    stuck = waiting(
        pod("nvidia-operator-validator-0"), "CrashLoopBackOff", "back-off", restarts=7, init="cuda-validation"
    )
    # gpu-operator, cuda-workload-validation.yaml: it sees all GPUs and requests none.
    name = "nvidia-cuda-validator-x"
    replace(document, stuck)
    replace(document, pod(name, phase="Failed", minute=18))
    said = "Failed to allocate device vector A (error code forward compatibility was attempted on non supported HW)!"
    document["logs"][f"gpu-operator/{name}"] = said
    assert told(document) == [("driver-too-old", NODE, [f"gpu-operator/{name}: {said}"])]
