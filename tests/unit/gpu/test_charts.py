"""The charts' values for shared GPUs, and the part of an offer that the ledger keeps."""

import pytest
from pydantic import JsonValue

from lamplighter.domain.gpu import dcgm_exporter, device_plugin, efa_plugin
from lamplighter.domain.gpu import sharing as gpu_sharing
from lamplighter.domain.gpu.offer import Offer, in_receipt, kept
from lamplighter.domain.pool.nodes import NodeFacts, NodeTaint, PodFacts
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import reason
from tests.unit.gpu.test_sharing import NIGHT, lab, node


def test_the_plugin_is_told_every_sharing_by_its_key() -> None:
    window = {"name": "evening", "days": ["tue"], "start": "20:00", "end": "23:00"}
    mps = {"sharing": {"strategy": "mps", "replicas": 2, "rename": True}}
    one = lab({"share": 4}, windows=[{**window, "gpu": mps}])
    loose = lab({"sharing": {"replicas": 3, "refuse_more_than_one": False}})

    def config(strategy: str, rename: str, refuses: str, replicas: int) -> str:
        return (
            f"version: v1\nsharing:\n  {strategy}:\n    renameByDefault: {rename}\n"
            f"    failRequestsGreaterThanOne: {refuses}\n    resources:\n"
            f"      - name: nvidia.com/gpu\n        replicas: {replicas}\n"
        )

    assert gpu_sharing.plugin_config(one) == {
        "create": True,
        "name": "lamplighter-gpu-sharing",
        "default": "shared-4",
        "data": {
            "whole": "version: v1\n",
            "shared-4": config("timeSlicing", "false", "true", 4),
            "mps-2-renamed": config("mps", "true", "true", 2),
        },
    }
    assert gpu_sharing.config_map(loose)["shared-3-any"] == config("timeSlicing", "false", "false", 3)
    assert gpu_sharing.config_map(lab({})) == {}
    assert gpu_sharing.default_key(lab({})) == "whole"


def test_the_chart_of_the_operator_hears_of_sharing_where_the_lab_shares() -> None:
    policy = {"cluster_policy": {"dcgm": {"enabled": True}}}
    values = {"gpu_operator": {"values": {"driver": {"enabled": False}}}}

    plain = gpu_sharing.chart_values(lab(policy, **values))
    assert (plain["driver"], plain["dcgm"]) == ({"enabled": False}, {"enabled": True})
    assert plain["devicePlugin"] == {"enabled": True}
    shared = gpu_sharing.chart_values(lab({**policy, "share": 4}, **values))
    config: JsonValue = gpu_sharing.plugin_config(lab({"share": 4}))
    assert shared == {**plain, "devicePlugin": {"enabled": True, "config": config}}


def test_a_window_without_settings_of_its_own_changes_nothing() -> None:
    windows = [{"name": "evening", "days": ["tue"], "start": "20:00", "end": "23:00"}]
    assert gpu_sharing.sharings(lab({}, windows=windows)) == []
    assert not gpu_sharing.slices(lab({}, windows=windows))
    assert gpu_sharing.slices(lab({"mig": "1g.5gb"}, windows=windows))


def test_the_chart_of_the_plugin_tolerates_what_keeps_pods_away_and_runs_on_its_pools_alone() -> None:
    taints = [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
        {"key": "lab", "value": "true", "effect": "NoExecute"},
        {"key": "soft", "value": "true", "effect": "PreferNoSchedule"},
    ]
    given = {"key": "nvidia.com/gpu", "operator": "Exists"}
    one = lab(
        {},
        gpu_operator={"enabled": False},
        device_plugin={"enabled": True, "values": {"tolerations": [given], "nfd": {"worker": {}}}},
        pools={"gpu": {"instance_type": "g5.xlarge", "taints": taints}},
    )
    lab_taint = {"key": "lab", "operator": "Exists", "effect": "NoExecute"}
    gpu_taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    system = {"key": "CriticalAddonsOnly", "operator": "Exists"}
    group = {"key": "eks.amazonaws.com/nodegroup", "operator": "In", "values": ["lab-ng-gpu"]}

    found = device_plugin.chart_values(one)

    assert device_plugin.pools(one) == ["gpu"]
    assert found["tolerations"] == [given, lab_taint]
    assert found["nfd"] == {"worker": {"tolerations": [system, gpu_taint, lab_taint]}}
    assert found["affinity"] == {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [group]}]
            }
        }
    }
    assert "config" not in found


def test_the_chart_of_the_exporter_runs_where_the_plugin_s_does_and_tolerates_the_same() -> None:
    taints = [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
        {"key": "lab", "value": "true", "effect": "NoExecute"},
    ]
    pools = {"gpu": {"taints": taints}, "rocket": {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"}}
    stack = {"gpu_operator": {"enabled": False}, "device_plugin": {"enabled": True}, "pools": pools}

    found = dcgm_exporter.chart_values(lab({}, dcgm_exporter={"enabled": True}, **stack))

    gpu_taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    lab_taint = {"key": "lab", "operator": "Exists", "effect": "NoExecute"}
    assert found["tolerations"] == [gpu_taint, lab_taint]
    assert "lab-ng-gpu" in str(found["affinity"])
    assert "rocket" not in str(found["affinity"])
    assert found["serviceMonitor"] == {"enabled": False}
    mine = {"enabled": True, "values": {"affinity": {}}}
    assert dcgm_exporter.chart_values(lab({}, dcgm_exporter=mine, **stack))["affinity"] == {}


def test_seats_are_counted_from_what_the_nodes_show_and_kept_for_people() -> None:
    applied: dict[str, object] = {
        "offer": to_document(Offer(4, "time-slicing")),
        "state": "as-lab",
        "reason": "",
        "before": {"nodes": {}},
        "during": "odd",
    }
    awaited: dict[str, object] = {"nodes": [{"gpus": 4}, {"gpus": None}, {}, "odd", {"gpus": 3}]}

    assert kept(applied, awaited) == {
        "asked": document(reason("gpu.offer.shared", replicas=4, strategy="time-slicing")),
        "offer": to_document(Offer(4, "time-slicing")),
        "state": "as-lab",
        "reason": None,
        "before": {"nodes": {}},
        "during": {},
        "seats": 7,
    }
    assert kept(applied, {})["seats"] == 0


@pytest.mark.parametrize(("given_back", "after"), [
    ({"state": "given-back", "after": {"a": 1}}, {"a": 1}),
    ({"state": "gone", "after": {"a": 1}}, None),
    ({"state": "nothing-borrowed"}, {"b": 2}),
    ({"state": "held"}, {"d": 4}),
    ({}, {"d": 4}),
])  # fmt: skip
def test_a_receipt_says_what_stood_there_after_the_lease(
    given_back: dict[str, object], after: object
) -> None:
    settings: dict[str, object] = {
        "asked": "whole",
        "state": "as-lab",
        "reason": None,
        "seats": 1,
        "before": {"cluster_policy": {"b": 2}},
        "during": {"cluster_policy": {"d": 4}},
    }

    assert in_receipt(settings, given_back) == {**settings, "after": {"cluster_policy": after}}
    assert in_receipt({}, given_back) is None


def test_a_node_counts_every_unit_that_can_be_allocated_and_knows_its_slices() -> None:
    slices = node({}, {"nvidia.com/mig-1g.5gb": 2, "nvidia.com/gpu": 1})
    assert (slices.gpus, slices.sliced) == (3, True)
    assert not node({}, {"nvidia.com/mig-1g.5gb": 0, "nvidia.com/gpu": 1}).sliced
    assert node({"nvidia.com/gpu.product": "NVIDIA-A100-MIG-1g.5gb"}).sliced


@pytest.mark.parametrize(
    ("value", "text"), [("", "nvidia.com/gpu:NoSchedule"), ("true", "nvidia.com/gpu=true:NoSchedule")]
)
def test_a_taint_is_written_as_kubectl_writes_it(value: str, text: str) -> None:
    assert str(NodeTaint("nvidia.com/gpu", value, "NoSchedule")) == text


@pytest.mark.parametrize(("phase", "finished"), [
    ("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True), ("Unknown", False),
])  # fmt: skip
def test_a_pod_is_finished_once_it_succeeded_or_failed(phase: str, *, finished: bool) -> None:
    pod = PodFacts("lab", "train", "a", phase, NIGHT)
    assert pod.finished is finished
    flags = (pod.ready, pod.daemon, pod.mirror, pod.leaving, pod.accelerated)
    assert (flags, pod.gpus) == ((False,) * 5, 0)


def test_a_node_of_which_nothing_is_said_is_neither_ready_nor_cordoned_nor_watched() -> None:
    bare = NodeFacts("a", "i-1", NIGHT)
    assert (bare.ready, bare.cordoned, bare.protected, bare.monitored) == (False,) * 4


def test_nodes_of_auto_mode_get_no_efa_plugin_from_the_chart() -> None:
    """AWS's chart leaves them out, since their image has it (aws/eks-charts, pull request 1359)."""
    auto = {"kind": "auto-mode", "instance_type": "g6e.8xlarge", "efa": True}
    group = {"instance_type": "p4d.24xlarge", "efa": True}
    both = Lab.model_validate({"name": "gpu-lab", "pools": {"auto": auto, "group": group}})
    assert efa_plugin.chart_values(both)["supportedInstanceLabels"] == {"values": ["p4d.24xlarge"]}
    assert efa_plugin.pools(Lab.model_validate({"name": "gpu-lab", "pools": {"auto": auto}})) == []
