"""The check pods: on exactly one node, without privileges, the same for every try; and the questions of drain."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.billing.receipt import receipt
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks import manifests as checks_manifests
from lamplighter.domain.checks.manifests import CheckOrigin
from lamplighter.domain.gpu.instance_types import GpuType, gpu_type
from lamplighter.domain.notices.opening import of_opening
from lamplighter.domain.pool.drain import emptying
from lamplighter.domain.pool.nodes import NodeFacts, NodeTaint, PodFacts
from tests.builders.leases import persons
from tests.unit.notices.drawing import drawn

NOW = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
NODE = NodeFacts(
    name="ip-192-168-12-10.ap-northeast-2.compute.internal",
    instance="i-1",
    created=NOW,
    ready=True,
    taints=(NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),),
    allocatable={"nvidia.com/gpu": 4},
)


def known(name: str) -> GpuType:
    found = gpu_type(name)
    assert found is not None
    return found


ERRAND = CheckOrigin("evening-2026-11-20", "gpu", "2026-11-20T11:00:00Z")
OTHER = replace(NODE, name="ip-192-168-12-11.ap-northeast-2.compute.internal", instance="i-2")


def manifest(check: checks.Check, node: NodeFacts = NODE, kind: str = "g5.12xlarge") -> Any:
    return checks_manifests.pod(check, ERRAND, "seat-1", node, known(kind))


def nodes_of(spec: Any) -> list[str]:
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    fields = [term["matchFields"] for term in required["nodeSelectorTerms"]]
    # The API server takes one name a term.
    assert all(len(one) == 1 and len(one[0]["values"]) == 1 for one in fields)
    return [one[0]["values"][0] for one in fields]


def test_a_check_is_pinned_to_its_node_and_tolerates_exactly_its_taints() -> None:
    cordoned = replace(
        NODE, taints=(*NODE.taints, NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule"))
    )
    spec = manifest(checks.NVIDIA_SMI, cordoned)["spec"]
    assert nodes_of(spec) == [NODE.name]
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    ]
    assert spec["restartPolicy"] == "Never"


@pytest.mark.parametrize("check", [*checks.LADDERS["deep"], checks.DCGM_4])
def test_a_check_runs_unprivileged_and_without_a_token(check: checks.Check) -> None:
    spec = manifest(check)["spec"]
    security = spec["containers"][0]["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["allowPrivilegeEscalation"] is False
    assert "privileged" not in security
    assert spec["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert all(set(volume) == {"name", "emptyDir"} for volume in spec.get("volumes", []))


@pytest.mark.parametrize("name", ["cuda_sample", "dcgm", "pytorch"])
def test_images_come_from_registries_that_do_not_throttle(name: str) -> None:
    assert checks_manifests.image_of(name).startswith(("nvcr.io/", "public.ecr.aws/"))


def test_nvidia_smi_takes_every_gpu_of_the_node_and_vector_add_one() -> None:
    def asked(check: checks.Check, node: NodeFacts = NODE) -> object:
        return manifest(check, node)["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]

    assert (asked(checks.NVIDIA_SMI), asked(checks.VECTOR_ADD)) == ("4", "1")
    shared = replace(NODE, labels={"nvidia.com/gpu.replicas": "4"})
    assert asked(checks.NVIDIA_SMI, shared) == "1"
    sliced = replace(NODE, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"})
    assert asked(checks.NVIDIA_SMI, sliced) == "1"


def test_of_mig_slices_with_names_of_their_own_a_check_takes_one() -> None:
    sliced = replace(NODE, allocatable={"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 28})
    limits = manifest(checks.NVIDIA_SMI, sliced)["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/mig-1g.5gb"] == "1"


def test_what_is_not_judged_is_said_and_how_long_each_check_took_is_kept() -> None:
    row: dict[str, object] = {
        "check": "dcgm-1",
        "node": "a",
        "verdict": "passed",
        "reason": "r",
        "measurements": {},
    }
    row |= {"seconds": 31.0, "pull_seconds": 12.3}
    results: dict[str, dict[str, object]] = {
        "Admit": {"outcome": "granted"},
        "AwaitGpus": {"nodes": [{"name": "a", "gpus": 1, "ready": True}], "not_ready": []},
        "Validate": {
            "verdict": "passed",
            "verdicts": [row],
            "not_judged": [{"check": "all_reduce", "why": "it takes two nodes, and only one node is ready"}],
        },
    }
    said = drawn(of_opening("gpu", persons(nodes=1), results))
    assert said.kind == "open"
    assert said.text.endswith("Not judged: all_reduce (it takes two nodes, and only one node is ready).")
    assert receipt(persons(nodes=1), [row], {})["verdicts"] == [row]


def test_two_ranks_meet_by_name_on_two_nodes_without_mpi() -> None:
    job: Any = checks_manifests.job(
        checks.ALL_REDUCE, ERRAND, "all-reduce-1", [NODE, OTHER], known("g5.12xlarge")
    )
    service: Any = checks_manifests.service(checks.ALL_REDUCE, ERRAND, "all-reduce-1")
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 2, 2)
    assert spec["backoffLimit"] == 0
    ranks = spec["template"]
    assert nodes_of(ranks["spec"]) == [NODE.name, OTHER.name]
    (apart,) = ranks["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert apart["labelSelector"]["matchLabels"].items() <= ranks["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= ranks["metadata"]["labels"].items()
    assert service["spec"]["clusterIP"] == "None"
    assert ranks["spec"]["subdomain"] == service["metadata"]["name"]
    container = ranks["spec"]["containers"][0]
    assert "--master-addr all-reduce-1-0.all-reduce-1 --master-port 29500" in container["command"][2]
    environment = {each["name"]: each["value"] for each in container["env"]}
    assert environment["NCCL_SOCKET_IFNAME"] == "eth0"
    # The kubelet would put variables in.
    assert "$(" not in environment["COLLECTIVE"]
    compile(environment["COLLECTIVE"], "collective.py", "exec")


def test_all_gpus_of_one_node_meet_in_one_pod() -> None:
    spec = manifest(checks.ALL_REDUCE_NODE)["spec"]
    (container,) = spec["containers"]
    assert container["command"][2].endswith(
        "exec torchrun --nnodes 1 --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 29500"
        " /tmp/collective.py all_reduce 1048576 1073741824"
    )
    assert container["resources"]["limits"] == {"memory": "20Gi", "nvidia.com/gpu": "4"}
    assert container["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 -- of the container
    assert "COLLECTIVE" in {each["name"] for each in container["env"]}


def test_an_image_is_fetched_without_a_gpu() -> None:
    container: Any = checks_manifests.fetch("dcgm", ERRAND, "fetch-1", NODE)
    (container,) = container["spec"]["containers"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in container["env"]


def test_draining_leaves_daemons_mirrors_and_what_is_finished() -> None:
    work = PodFacts("lab", "work", "gpu-1", "Running", NOW)
    ending = replace(work, name="ending", leaving=True)
    left = [replace(work, daemon=True), replace(work, mirror=True), replace(work, phase="Succeeded")]
    found = emptying([work, ending, *left])
    assert (found.evict, found.ending, found.empty) == ((work,), (ending,), False)
    assert emptying(left).empty
    assert not emptying([work]).empty
    assert not emptying([ending]).empty
