"""The pod that the open message gives away can be applied as it stands, and lands where the pool's GPUs are."""

from typing import Any

import pytest
from ruamel.yaml import YAML

from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.gpu.sharing import offer
from lamplighter.domain.slack.asked.using import pod_snippet, resource
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse

SLICED = "gpu: {mig: all-1g.5gb}\npools: {gpu: {instance_type: p4d.24xlarge, price_per_hour: '32'}}"


def pod(text: str) -> tuple[Lab, dict[str, Any]]:
    """The snippet of pool gpu, read as kubectl reads it."""
    lab = parse(f"name: gpu-lab\n{text}", "lab")
    assert isinstance(lab, Lab), lab
    found = YAML(typ="safe").load(pod_snippet(lab, "gpu", offer(lab, "gpu", None)))
    assert (found["apiVersion"], found["kind"]) == ("v1", "Pod")
    spec: dict[str, Any] = found["spec"]
    return lab, spec


def limits(spec: dict[str, Any]) -> object:
    [container] = spec["containers"]
    return container["resources"]["limits"]


def test_it_tolerates_the_pools_taint_asks_for_one_gpu_and_goes_to_the_pool() -> None:
    _, spec = pod("")
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["nodeSelector"] == {"eks.amazonaws.com/nodegroup": "gpu-lab-ng-gpu"}
    assert limits(spec) == {"nvidia.com/gpu": 1}
    assert spec["restartPolicy"] == "Never"


def test_every_taint_of_the_pool_is_tolerated() -> None:
    lab, spec = pod(
        "pools: {gpu: {taints: [{key: nvidia.com/gpu, value: 'true', effect: NoSchedule},"
        " {key: class, value: cuda, effect: NoExecute}]}}\n"
        "gpu_operator: {values: {daemonsets: {tolerations: [{operator: Exists}]},"
        " node-feature-discovery: {worker: {tolerations: [{operator: Exists}]}}}}"
    )

    tolerated = {(each["key"], each["effect"]) for each in spec["tolerations"]}
    assert tolerated == {(taint.key, taint.effect) for taint in lab.pools["gpu"].taints}


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("gpu: {sharing: {strategy: time-slicing, replicas: 4}}", "nvidia.com/gpu"),
        ("gpu: {sharing: {strategy: time-slicing, replicas: 4, rename: true}}", "nvidia.com/gpu.shared"),
        (SLICED, "nvidia.com/gpu"),
        (f"{SLICED}\ngpu_operator: {{values: {{mig: {{strategy: mixed}}}}}}", "nvidia.com/mig-1g.5gb"),
    ],
)
def test_a_share_or_a_slice_is_asked_for_by_the_name_it_is_offered_under(text: str, resource: str) -> None:
    _, spec = pod(text)
    assert limits(spec) == {resource: 1}


def test_the_pod_is_this_line_for_line() -> None:
    lab = parse("name: gpu-lab", "lab")
    assert isinstance(lab, Lab)

    assert pod_snippet(lab, "gpu", Offer()).splitlines() == [
        "apiVersion: v1",
        "kind: Pod",
        "metadata: {name: my-gpu-pod}",
        "spec:",
        "  restartPolicy: Never",
        "  nodeSelector: {eks.amazonaws.com/nodegroup: gpu-lab-ng-gpu}",
        "  tolerations:",
        "    - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}",
        "  containers:",
        "    - name: main",
        "      image: nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
        "      command: [nvidia-smi]",
        '      resources: {limits: {"nvidia.com/gpu": 1}}',
    ]


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (Offer(mig="all-1g.5gb", slices=2), "nvidia.com/mig-1g.5gb"),
        # A GPU in one slice, and one whose slices nobody names, are asked for whole.
        (Offer(mig="all-7g.40gb", slices=1), "nvidia.com/gpu"),
        (Offer(slices=7), "nvidia.com/gpu"),
        (Offer(mig="all-1g.5gb", slices=7, renamed=True), "nvidia.com/mig-1g.5gb.shared"),
    ],
)
def test_where_slices_have_names_a_slice_is_asked_for_by_its_own(made: Offer, name: str) -> None:
    lab, _ = pod(f"{SLICED}\ngpu_operator: {{values: {{mig: {{strategy: mixed}}}}}}")
    assert resource(lab, made) == name
