"""The validator and the texts of NVIDIA's pods: its normal time, its own workload, and which text explains a node."""

from typing import Any

from tests.snapshots import NODES, POOL, Document, at_work, event, healthy, pod, policy, waiting, without_gpus
from tests.unit.diagnosis.table import SECOND, given, table

NODE = NODES[0]
VALIDATOR = "nvidia-operator-validator-0"
CALLED = f"gpu-operator/{VALIDATOR}"
PLUGIN = "nvidia-device-plugin-daemonset-0"
OLD = "driver/library version mismatch"
BACK_OFF = ("CrashLoopBackOff", "back-off")
OWNER = "DaemonSet/nvidia-operator-validator"
SETTLES = [("validation", NODE, "11:04:00")]


def validating(now: float, reason: str = "PodInitializing", restarts: int = 0) -> Document:
    stuck = waiting(pod(VALIDATOR, minute=4), reason, "odd", restarts=restarts, init="cuda-validation")
    return given(at_work(now=now), stuck, logs={CALLED: "first\nlast\n"})


def stuck(init: str, said: str = "back-off", document: Document | None = None, **parts: Any) -> Document:
    crashes = waiting(pod(VALIDATOR), "CrashLoopBackOff", said, restarts=7, init=init)
    return given(document or at_work(), crashes, **parts)


def silent(**status: Any) -> Document:
    """A validator of which little is known."""
    found = pod(VALIDATOR, phase="Pending")
    found["status"] |= {"containerStatuses": [], **status}
    return given(at_work(), found)


def own_workload(document: Document, reason: str, message: str, phase: str = "") -> Document:
    """The validator waits for its own workload, which asks for a GPU and waits itself or has this phase."""
    validator = waiting(pod(VALIDATOR, owner=OWNER), "PodInitializing", init="plugin-validation")
    work = pod("nvidia-device-plugin-validator-0", gpus=1, phase="Pending", minute=6, owner=OWNER)
    if phase:
        work["status"] |= {"containerStatuses": [], "phase": phase, "reason": reason, "message": message}
    return given(document, validator, work if phase else waiting(work, reason, message))


RUNS = [{"name": "driver-validation", "state": {"running": {}}}, {"name": "x", "state": {}}]
IN_ORDER = [
    {"name": "driver-validation", "state": {"terminated": {"exitCode": 0}}},
    {"name": "cuda-validation", "state": {"running": {}}},
    {"name": "plugin-validation", "state": {"waiting": {"reason": "PodInitializing"}}},
]
POLICY = policy("notReady", reason="OperandNotReady", message="states not ready: [state-operator-validation]")
SUPPORTS_NOT = (
    "Failed to allocate device vector A (error code forward compatibility was attempted on non supported HW)!"
)
# gpu-operator, cuda-workload-validation.yaml: it sees all GPUs and requests none.
CUDA = pod("nvidia-cuda-validator-x", phase="Failed", minute=18)


test_a_validator = table(
    ("may take five minutes", validating(9), SETTLES),
    ("and not a second more", validating(9 + SECOND),
     [("validator-stuck", NODE, f"{CALLED}: container cuda-validation: PodInitializing odd, 0 restarts", "last")]),
    ("may crash twice", validating(9, "CrashLoopBackOff", 2), SETTLES),
    ("and not three times", validating(9, "CrashLoopBackOff", 3),
     [("validator-stuck", NODE, f"{CALLED}: container cuda-validation: odd, 3 restarts", "last")]),
    ("of which little is known", silent(), [("validator-stuck", NODE, f"{CALLED} is Pending")]),
    ("of which a container runs on", silent(initContainerStatuses=RUNS),
     [("validator-stuck", NODE, f"{CALLED}: container driver-validation: runs and does not end, 0 restarts")]),
    ("names the step that runs on, not those that wait for it", silent(initContainerStatuses=IN_ORDER),
     [("validator-stuck", NODE, f"{CALLED}: container cuda-validation: runs and does not end, 0 restarts")]),
    ("and says nothing of its own workload, which waits as well", given(silent(initContainerStatuses=IN_ORDER),
     waiting(pod("nvidia-cuda-validator-x", minute=6), "PodInitializing")), ["validator-stuck"]),
    ("whose image cannot be pulled is not stuck", given(at_work(), waiting(pod(VALIDATOR), "ErrImagePull", "gone")),
     [("image-pull-failed", CALLED, f"{CALLED} main: ErrImagePull gone")]),
    ("that is stuck explains the policy", stuck("plugin-validation", document=healthy(), clusterpolicies=[POLICY]),
     [("validator-stuck", NODE, f"{CALLED}: container plugin-validation: back-off, 7 restarts")]),
    ("that keeps the plugin waiting is the cause",
     given(stuck("driver-validation", document=without_gpus()), waiting(pod(PLUGIN), "PodInitializing",
     init="toolkit-validation")),
     [("validator-stuck", NODE, f"{CALLED}: container driver-validation: back-off, 7 restarts")]),
    ("is explained by what it prints", given(at_work(), waiting(pod(VALIDATOR), *BACK_OFF, restarts=5),
     logs={CALLED: OLD, "lab/train-0": OLD}), [("driver-mismatch", NODE, f"{CALLED}: {OLD}")]),
    ("and by what its last container printed", stuck("driver-validation", "", healthy(), logs_previous={
     f"{CALLED}/driver-validation": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."}),
     ["driver-broken"]),
    ("is quoted from before its restart", given(at_work(), waiting(pod(VALIDATOR), *BACK_OFF, restarts=5),
     logs_previous={CALLED: "first\nlast\n"}),
     [("validator-stuck", NODE, f"{CALLED}: container main: back-off, 5 restarts", "last")]),
    ("waits for its own workload, which says why", own_workload(healthy(1), "CreateContainerError",
     "unresolvable CDI devices nvidia.com/gpu=x"), [("cdi-unresolvable", NODE)]),
    ("waits for one that is refused", own_workload(healthy(1), "UnexpectedAdmissionError",
     "Allocate failed due to requested number of devices unavailable. Requested: 1, Available: 0", "Failed"),
     ["admission-refused"]),
    ("waits for one that was refused before the order", given(own_workload(healthy(1), "UnexpectedAdmissionError",
     "Requested: 1, Available: 0", "Failed"), expected={"since": "2026-11-20T11:07:00Z"}), ["admission-refused"]),
    ("waits for one that is refused, though one works on another node", own_workload(given(healthy(),
     pod("nvidia-operator-validator-1", number=1, minute=9, owner=OWNER)),
     "UnexpectedAdmissionError", "Requested: 1, Available: 0", "Failed"), ["admission-refused"]),
    ("whose own workload finds the driver too old", stuck("cuda-validation", logs={
     "gpu-operator/nvidia-cuda-validator-x": SUPPORTS_NOT}, more={"pods": [CUDA]}),
     [("driver-too-old", NODE, f"gpu-operator/nvidia-cuda-validator-x: {SUPPORTS_NOT}")]),
)  # fmt: skip


def plugin_crashes(log: str = "", *, ready: bool = True) -> Document:
    return given(at_work(), waiting(pod(PLUGIN), *BACK_OFF, restarts=1), logs={f"gpu-operator/{PLUGIN}": log},
                 node={"status conditions 0 status": str(ready)})  # fmt: skip


def only_its_own() -> Document:
    cdi = waiting(pod("train-0", "lab", gpus=1), "CreateContainerError", "unresolvable CDI devices")
    names = ("nvidia-dcgm-0", "gpu-feature-discovery-0")
    return given(at_work(cdi), waiting(pod(VALIDATOR), *BACK_OFF, restarts=5),
                 waiting(pod("nvidia-dcgm-0"), *BACK_OFF, restarts=5),
                 logs={f"gpu-operator/{name}": OLD for name in names})  # fmt: skip


def image(ami: str, system: str = "Amazon Linux", *, driver: bool = False) -> Document:
    return given(at_work(), gone="train-0", group={"amiType": ami},
     clusterpolicies=[policy(driver={"enabled": driver})],
                 node={"status nodeInfo osImage": system, "status allocatable nvidia.com/gpu": "0"})  # fmt: skip


def classless(name: str, *messages: str) -> Document:
    events = [event("DaemonSet", name, "FailedCreate", message, n) for n, message in enumerate(messages, 5)]
    return given(without_gpus(), events=events)


SHORT = ("gpu-count-short", NODE, f"{NODE} offers 0 of its 1 GPUs")
MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"
NO_CLASS = 'RuntimeClass "nvidia" not found'
LOADED = "nvml error: driver not loaded"
STANDARD = "AL2023_x86_64_STANDARD"
BOTTLEROCKET = "Bottlerocket OS 1.50 (aws-k8s-1.35)"
DISCOVERY = "gpu-operator/gpu-feature-discovery-0"


test_a_node_is_explained_by = table(
    ("a plugin that crashes while its node offers all", plugin_crashes(),
     [("device-plugin-missing", NODE, f"gpu-operator/{PLUGIN}: container main: back-off")]),
    ("not on a node that is not Ready", plugin_crashes(ready=False), ["node-not-ready"]),
    ("a plugin that crashes and says why", plugin_crashes(OLD), [("driver-mismatch", NODE,
     f"gpu-operator/{PLUGIN}: {OLD}")]),
    ("for a validator only its own workload", only_its_own(),
     [("driver-mismatch", "gpu-operator/nvidia-dcgm-0"), ("cdi-unresolvable", "lab/train-0"), ("validator-stuck",
     NODE)]),
    ("of what several pods say the most fundamental", given(without_gpus(), pod("nvidia-dcgm-0"), logs={
     CALLED: "unsatisfied condition: cuda", DISCOVERY: LOADED, "gpu-operator/nvidia-dcgm-0": LOADED}),
     [("driver-broken", NODE, f"{DISCOVERY}: {LOADED}", f"gpu-operator/nvidia-dcgm-0: {LOADED}")]),
    ("a missing library, of a plain image", given(at_work(), group={"amiType": STANDARD}, node={
     "status allocatable nvidia.com/gpu": "0"}, logs={DISCOVERY: "could not load NVML library"}),
     [("wrong-ami", POOL, f"{DISCOVERY}: could not load NVML library", f"amiType is {STANDARD}")]),
    *((f"nothing of the image {ami or 'of no type'}, {system}, driver: {driver}", image(ami, system, driver=driver),
     [SHORT])
      for ami, system, driver in (
        ("AL2023_x86_64_NVIDIA", "Amazon Linux", False), ("AL2_x86_64_GPU", "Amazon Linux", False),
        ("CUSTOM", "Amazon Linux", False), (STANDARD, "Amazon Linux", True), ("", "Amazon Linux", False))),
    *((f"the image: {words}", image(ami, system), [("wrong-ami", POOL, words, MISSING)]) for ami, system, words in (
        (STANDARD, "Amazon Linux", f"amiType is {STANDARD}"), ("", BOTTLEROCKET, f"osImage is {BOTTLEROCKET}"),
        ("", "Windows Server 2022", "osImage is Windows Server 2022"))),
    ("a RuntimeClass that is missing by the last word of a DaemonSet", classless("nvidia-dcgm", "odd", NO_CLASS),
     [("runtime-missing", NODE, f"DaemonSet nvidia-dcgm: {NO_CLASS}")]),
    ("also where its pods were never made", given(classless("nvidia-device-plugin-daemonset",
     f'Error creating: pods "x" is forbidden: pod rejected: {NO_CLASS}'),
     gone="nvidia-device nvidia-operator gpu-feature"),
     ["runtime-missing"]),
    ("not by an earlier one", classless("nvidia-dcgm", NO_CLASS, "odd"), ["gpu-count-short"]),
    ("not by one of another DaemonSet", classless("web", NO_CLASS), ["gpu-count-short"]),
    ("a runtime that is not configured by an event of its pod", given(without_gpus(), pod(PLUGIN, phase="Pending"),
     more={
     "events": [event("Pod", PLUGIN, "FailedCreatePodSandBox",
     'Failed to create pod sandbox: rpc error: code = Unknown '
     'desc = failed to get sandbox runtime: no runtime for "nvidia" is configured')]}), ["runtime-missing"]),
)  # fmt: skip
