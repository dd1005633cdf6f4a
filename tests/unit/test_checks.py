"""The check pods: on exactly one node, as nobody in particular, the same however often asked; and what drain asks."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lamplighter.domain import checks
from lamplighter.domain.drain import emptying
from lamplighter.domain.gpus import GpuType, gpu_type
from lamplighter.domain.nodes import NodeFacts, PodFacts, Taint

NOW = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
NODE = NodeFacts(
    name="ip-192-168-12-10.ap-northeast-2.compute.internal",
    instance="i-1",
    created=NOW,
    ready=True,
    taints=(Taint("nvidia.com/gpu", "true", "NoSchedule"),),
    allocatable={"nvidia.com/gpu": 4},
)


def known(name: str) -> GpuType:
    found = gpu_type(name)
    assert found is not None
    return found


def manifest(check: checks.Check, node: NodeFacts = NODE, kind: str = "g5.12xlarge") -> Any:
    return checks.pod(check, "evening-2026-11-20", node, known(kind), "2026-11-20T11:00:00Z")


def test_a_check_is_pinned_to_its_node_and_tolerates_its_taints() -> None:
    spec = manifest(checks.NVIDIA_SMI)["spec"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE.name]}]}]
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] == checks.RUN_SECONDS


def test_a_check_runs_unprivileged_and_without_a_token() -> None:
    spec = manifest(checks.VECTOR_ADD)["spec"]
    security = spec["containers"][0]["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert spec["automountServiceAccountToken"] is False


def test_nvidia_smi_takes_every_gpu_of_the_node_and_vector_add_one() -> None:
    def asked(check: checks.Check, node: NodeFacts = NODE) -> object:
        return manifest(check, node)["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]

    assert (asked(checks.NVIDIA_SMI), asked(checks.VECTOR_ADD)) == ("4", "1")
    shared = replace(NODE, labels={"nvidia.com/gpu.replicas": "4"})
    assert asked(checks.NVIDIA_SMI, shared) == "1"


def test_a_check_has_the_same_short_name_for_every_try() -> None:
    names = {
        checks.pod_name(check, lease, node) for check in checks.POD_CHECKS for lease in "ab" for node in "cd"
    }
    assert len(names) == len(checks.POD_CHECKS) * 4
    assert checks.pod_name(checks.VECTOR_ADD, "a", "c") in names
    assert all(len(name) < 64 for name in names)


def test_draining_leaves_daemons_mirrors_and_what_is_finished() -> None:
    work = PodFacts("lab", "work", "gpu-1", "Running", NOW)
    ending = replace(work, name="ending", leaving=True)
    left = [replace(work, daemon=True), replace(work, mirror=True), replace(work, phase="Succeeded")]
    found = emptying([work, ending, *left])
    assert (found.evict, found.ending, found.empty) == ((work,), (ending,), False)
    assert emptying(left).empty
