"""What announces a pool's GPUs: the operator, the device plugin's chart, or what nodes bring; and what fits each."""

import json

import pytest

from cli.plan.adopt import sharing_values
from cli.plan.check import notes
from lamplighter.domain.gpu import device_plugin
from lamplighter.domain.gpu import sharing as gpu_sharing
from lamplighter.lab.model import GpuStack, Lab
from tests.unit.lab.read_labs import lab, problems

CHART = "gpu_operator: {enabled: false}\ndevice_plugin: {enabled: true}\n"
ROCKET = "pools: {gpu: {ami_type: BOTTLEROCKET_x86_64_NVIDIA}}\n"
BOTH = "pools: {gpu: {}, rocket: {ami_type: BOTTLEROCKET_x86_64_NVIDIA}}\n"
BY_GPU = "guard: {idle_by: gpu}"
NO_EXPORTER = (
    "guard.idle_by: is gpu, but no DCGM exporter runs on the nodes of pool gpu; write pods, or install one"
)
WINDOW = "windows: [{name: evening, pool: %s, days: daily, start: 20:00, end: 23:00, gpu: %s}]\n"


@pytest.mark.parametrize(("text", "stack", "discovers"), [
    ("", "operator", True),
    (CHART, "device-plugin", False),
    (CHART.replace("true}", "true, values: {gfd: {enabled: true}}}"), "device-plugin", True),
    (ROCKET, "built-in", False),
    (CHART + BOTH, "device-plugin", False),
    ("gpu_operator: {enabled: false}", "built-in", False),
])  # fmt: skip
def test_what_announces_a_pool_s_gpus(text: str, stack: GpuStack, discovers: bool) -> None:
    found = lab(text)
    assert (found.gpu_stack("gpu"), found.discovers("gpu")) == (stack, discovers)
    if "rocket:" in text:
        assert found.gpu_stack("rocket") == "built-in"


@pytest.mark.parametrize(("text", "problem"), [
    ("device_plugin: {enabled: true}", ("device_plugin.enabled: is true, but the GPU Operator installs a device plugin"
      " too, and a node can have only one; write gpu_operator: {enabled: false}, or leave this out")),
    (CHART + ROCKET,
     "device_plugin.enabled: is true, but the image of every pool has its own device plugin; leave it out"),
    ("dcgm_exporter: {enabled: true}", ("dcgm_exporter.enabled: is true, but the GPU Operator has an exporter of its"
      " own (dcgmExporter in gpu_operator.values); leave this out")),
    ("gpu_operator: {enabled: false}\ndcgm_exporter: {enabled: true}", ("dcgm_exporter.enabled: is true, but it runs"
      " only on pools whose GPUs the device-plugin chart announces; write device_plugin: {enabled: true}, or leave"
      " this out")),
    (CHART + "cluster: {existing: theirs}\npools: {gpu: {existing: gpus}}\ndcgm_exporter: {enabled: true}",
     ("dcgm_exporter.enabled: is true, but nothing is installed in an existing cluster; install the chart there"
      " yourself and leave this out")),
    (CHART + BY_GPU, NO_EXPORTER),
    (ROCKET + BY_GPU, NO_EXPORTER),
    ("gpu_operator: {enabled: false}\n" + BY_GPU, NO_EXPORTER),
    ("gpu_operator: {values: {dcgmExporter: {enabled: false}}}\n" + BY_GPU, NO_EXPORTER),
    ("device_plugin: {version: v0.18.2}", 'device_plugin.version: is "v0.18.2", write a version such as 0.18.2'),
    (CHART + "gpu: {cluster_policy: {dcgm: {enabled: true}}}",
     "gpu.cluster_policy: changes the GPU Operator, but gpu_operator.enabled is false; enable it or leave this out"),
    (CHART + "pools: {gpu: {instance_type: p5.48xlarge, price_per_hour: 60}}\ngpu: {mig: 1g.10gb}",
     "gpu.mig: cuts the GPUs of pool gpu, which only the GPU Operator can; leave it out"),
    (CHART + "gpu: {sharing: {strategy: mps, replicas: 2}}", ("gpu.sharing.strategy: is mps, whose daemon the"
      " device-plugin chart starts only where GPU feature discovery has labelled the node; write time-slicing, or"
      " device_plugin: {values: {gfd: {enabled: true}}}")),
    (CHART.replace("true}", "true, values: {config: {name: mine}}}") + "gpu: {share: 4}",
     "device_plugin.values.config: is set as well as share or sharing, which use it; keep one of the two"),
    (BOTH + WINDOW % ("rocket", "{cluster_policy: {dcgm: {enabled: true}}}"),
     ("windows.0.gpu.cluster_policy: changes the GPU Operator, but the GPUs of pool rocket come from the plugin in its"
      " image, which does not read it; leave it out (window evening)")),
    (BOTH + WINDOW % ("rocket", "{share: 4}"), ("windows.0.gpu.share: shares the GPUs of pool rocket, but"
      " Bottlerocket's own plugin shares only by the node setting settings.kubelet-device-plugins.nvidia, which no"
      " window can change; take an AL2023 image, or leave it out (window evening)")),
    ("gpu_operator: {enabled: false}\ngpu: {share: 4}", ("gpu.share: shares the GPUs of pool gpu, but neither the GPU"
      " Operator nor the device-plugin chart is enabled, and what nodes bring along announces them whole; enable"
      " one, or leave it out")),
    ("cluster: {existing: c, node_monitoring: true}\npools: {gpu: {existing: n, instance_type: g5.xlarge}}",
     ("cluster.node_monitoring: is true, but nothing is installed in an existing cluster; add eks-node-monitoring-agent"
      " there yourself and leave this out: the checks read it where it runs")),
])  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.parametrize("text", [
    CHART,
    CHART + BOTH,
    CHART + "gpu: {share: 4}",
    CHART + WINDOW % ("gpu", "{sharing: {replicas: 4, rename: true}}"),
    CHART + "pools: {gpu: {taints: [{key: team, value: a, effect: NoExecute}]}}",
    BOTH + WINDOW % ("gpu", "{share: 4}"),
    "cluster: {node_monitoring: true}",
    "guard: {idle_by: gpu}",
    CHART + "dcgm_exporter: {enabled: true}\nguard: {idle_by: gpu}",
    "cluster: {existing: c}\npools: {gpu: {existing: n, instance_type: g5.xlarge}}\nguard: {idle_by: gpu}",
])  # fmt: skip
def test_what_fits_is_good(text: str) -> None:
    assert problems(text) == []


def test_the_chart_shares_by_a_map_of_its_own_and_nodes_pick_from_it() -> None:
    found = lab(CHART + BOTH + WINDOW % ("gpu", "{share: 4}"))
    config = device_plugin.chart_values(found)["config"]

    assert isinstance(config, dict)
    assert isinstance(config["map"], dict)
    assert (list(config["map"]), config["default"]) == (["whole", "shared-4"], "whole")
    offers = gpu_sharing.offer(found, "gpu", "evening"), gpu_sharing.offer(found, "rocket", None)
    assert [offer.labels for offer in offers] == [{"nvidia.com/device-plugin.config": "shared-4"}, None]


def test_somebody_else_s_chart_is_told_in_its_own_words() -> None:
    theirs = (
        "cluster: {existing: c}\npools: {gpu: {existing: n, instance_type: g5.xlarge}}\ngpu: {share: 4}\n"
    )
    assert json.loads(sharing_values(lab(theirs + CHART)))["config"]["default"] == "shared-4"


def test_a_pool_whose_gpus_nothing_announces_is_told() -> None:
    bare = "gpu_operator: {enabled: false}\n"
    assert list(notes(lab(bare))) == [
        (
            "nothing that this lab installs announces the GPUs of pool gpu: enable gpu_operator or device_plugin,"
            " or install a device plugin yourself"
        )
    ]
    for fine in ("", CHART, bare + ROCKET):
        assert list(notes(lab(fine))) == []


def test_what_a_lab_says_of_its_own_stands() -> None:
    mine = "{affinity: {}, resources: {limits: {memory: 64Mi}}}"
    values = device_plugin.chart_values(lab(CHART.replace("true}", f"true, values: {mine}}}")))
    assert values["affinity"] == {}
    assert values["resources"] == {"limits": {"memory": "64Mi"}}


def test_a_lab_without_the_exporter_is_kept_in_the_words_of_the_release_before() -> None:
    assert "dcgm_exporter" not in json.loads(lab("").to_json())
    kept = lab(CHART + "dcgm_exporter: {enabled: true}")
    assert json.loads(kept.to_json())["dcgm_exporter"]["enabled"] is True
    assert Lab.from_json(kept.to_json()) == kept
    assert Lab.from_json(lab("").to_json()) == lab("")
