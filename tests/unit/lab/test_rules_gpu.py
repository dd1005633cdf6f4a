"""How GPUs may be offered: every refusal is one line that says what is wrong and what would be right."""

import json
from datetime import UTC, datetime

import pytest

from cli.plan.adopt import sharing_values
from cli.plan.check import notes
from cli.plan.check_gpus import overlapping
from lamplighter.domain.gpu import sharing as gpu_sharing
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.planner.simulation import simulate
from lamplighter.errors import BadInput
from lamplighter.reasons.fields import from_odd_document, to_document
from tests.unit.lab.read_labs import lab, problems

WINDOW = "{name: evening, days: daily, start: 20:00, end: 23:00, gpu: %s}"
P5 = "pools: {gpu: {instance_type: p5.48xlarge, max_nodes: 1, price_per_hour: 60}}\n"


@pytest.mark.parametrize(("text", "problem"), [
    ("gpu: {share: 49}", "gpu.share: is 49, write a whole number from 1 to 48"),
    ("gpu: {sharing: {replicas: 1}}", "gpu.sharing.replicas: is 1, write a whole number from 2 to 48"),
    ("gpu: {share: 4, sharing: {replicas: 4}}", "gpu.share: is given beside sharing, keep one of the two"),
    ("gpu: {sharing: {strategy: msp, replicas: 4}}",
     'gpu.sharing.strategy: is "msp", write one of time-slicing, mps; the nearest is mps'),
    ("gpu: {mig: 1g.10gb}", ("gpu.mig: is 1g.10gb, but g5.xlarge of pool gpu has A10G GPUs, which cannot be cut into"
      " slices; leave it out, or take a type of p4d, p4de, p5")),
    ("gpu: {mig: halves}", 'gpu.mig: is "halves", write a MIG profile such as 1g.10gb, balanced or disabled'),
    (P5 + "gpu: {mig: 1g.5gb}", "gpu.mig: is 1g.5gb, no profile of H100 80 GB; the nearest is 1g.10gb"),
    (P5 + "gpu: {mig: balanced}", ("gpu.mig: is balanced, which makes slices of several sizes, but mig.strategy single"
      " wants all alike; write cluster_policy: {mig: {strategy: mixed}}")),
    (P5 + "gpu: {mig: 1g.10gb, sharing: {strategy: mps, replicas: 2}}",
     "gpu.sharing: shares slices by MPS, which works on whole GPUs only; write time-slicing"),
    (P5 + "gpu: {mig: 1g.10gb, share: 2, cluster_policy: {mig: {strategy: mixed}}}",
     "gpu.share: shares slices, whose names under mig.strategy mixed it does not know; write single"),
    (P5 + "gpu: {mig: 1g.10gb, cluster_policy: {mig: {strategy: none}}}",
     "gpu.mig: cuts GPUs into slices, but mig.strategy is none: nobody would be offered one"),
    ("gpu: {cluster_policy: {dcgmExporter: {enable: false}}}", ("gpu.cluster_policy.dcgmExporter.enable: is no field of"
      " the ClusterPolicy that a lab may set, the nearest is dcgmExporter.enabled")),
    ("gpu: {cluster_policy: {dcgmexporter: {}}}", ("gpu.cluster_policy.dcgmexporter: is no field of the ClusterPolicy"
      " that a lab may set, the nearest is dcgmExporter")),
    ('gpu: {cluster_policy: {dcgm: {enabled: "yes"}}}',
     'gpu.cluster_policy.dcgm.enabled: is "yes", write true or false'),
    ("gpu: {cluster_policy: {daemonsets: {rollingUpdate: {maxUnavailable: 2}}}}",
     'gpu.cluster_policy.daemonsets.rollingUpdate.maxUnavailable: is 2, write text: "2"'),
    ("gpu: {cluster_policy: {mig: {strategy: mix}}}",
     'gpu.cluster_policy.mig.strategy: is "mix", write one of none, single, mixed; the nearest is mixed'),
    ("gpu: {cluster_policy: {validator: {plugin: {env: [{value: x}]}}}}",
     "gpu.cluster_policy.validator.plugin.env.0.name: is missing, write it"),
    ("gpu: {share: 4, cluster_policy: {devicePlugin: {config: {name: mine}}}}",
     "gpu.cluster_policy.devicePlugin.config: is where share and sharing are kept; keep one of the two"),
    (f"windows: [{WINDOW % '{cluster_policy: {devicePlugin: {enabled: false}}}'}]",
     ("windows.0.gpu.cluster_policy.devicePlugin.enabled: is false, which would leave the window without GPUs that can"
      " be proven; leave it out (window evening)")),
    (f"windows: [{WINDOW % '{mig: 1g.5gb}'}]", ("windows.0.gpu.mig: is 1g.5gb, but g5.xlarge of pool gpu has A10G GPUs,"
      " which cannot be cut into slices; leave it out, or take a type of p4d, p4de, p5 (window evening)")),
])  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.parametrize("kind", ["g4dn", "g5", "g6", "g6e"])
def test_no_small_gpu_can_be_cut_into_slices(kind: str) -> None:
    (problem,) = problems(
        f"pools: {{gpu: {{instance_type: {kind}.xlarge, price_per_hour: 1}}}}\ngpu: {{mig: 1g.5gb}}"
    )
    assert "cannot be cut into slices" in problem


@pytest.mark.parametrize("text", [
    "gpu: {share: 4}",
    "gpu: {sharing: {strategy: mps, replicas: 48, rename: true}}",
    P5 + "gpu: {mig: all-1g.10gb, share: 4}",
    P5 + "gpu: {mig: balanced, cluster_policy: {mig: {strategy: mixed}}}",
    f"gpu: {{share: 8}}\nwindows: [{WINDOW % '{share: 1}'}]",
    "gpu: {cluster_policy: {dcgmExporter: {serviceMonitor: {enabled: true, interval: 30s}}}}",
    "gpu: {cluster_policy: {daemonsets: {tolerations: [{operator: Exists}]}, cdi: {enabled: true}}}",
    "pools: {gpu: {instance_type: x9.xlarge, price_per_hour: 1}}\ngpu: {mig: 1g.5gb}",
])  # fmt: skip
def test_what_can_be_is_good(text: str) -> None:
    assert problems(text) == []


def test_a_window_s_word_stands_over_the_lab_s() -> None:
    found = lab(
        f"gpu: {{share: 8, cluster_policy: {{dcgm: {{enabled: true}}}}}}\nwindows: [{WINDOW % '{share: 4}'}]"
    )
    assert found.gpu_for("evening").replicas == 4
    assert found.gpu_for("evening").cluster_policy == {"dcgm": {"enabled": True}}
    assert found.gpu_for(None).replicas == found.gpu_for("gone").replicas == 8


def test_a_sharing_in_full_stands_over_a_short_form() -> None:
    found = lab(f"gpu: {{share: 8}}\nwindows: [{WINDOW % '{sharing: {strategy: mps, replicas: 2}}'}]")
    shared = found.gpu_for("evening").shared
    assert shared is not None
    assert (shared.strategy, shared.replicas) == ("mps", 2)


def test_the_checks_of_a_window_stand_over_the_lab_s() -> None:
    found = lab(
        "checks: {ladder: standard, on_failure: close}\n"
        "windows: [{name: evening, days: daily, start: 20:00, end: 23:00, checks: {ladder: deep}}]"
    )
    assert (found.checks_for("evening").ladder, found.checks_for("evening").on_failure) == ("deep", "close")
    assert found.checks_for(None).ladder == "standard"


def test_nothing_of_the_chart_changes_where_nothing_is_shared() -> None:
    plain = lab("")
    assert gpu_sharing.chart_values(plain) == plain.gpu_operator.values
    assert gpu_sharing.offer(plain, "gpu", None).labels is None


def test_seats_are_gpus_by_slices_by_shares() -> None:
    found = lab(P5 + "gpu: {mig: 1g.10gb, share: 4}")
    offer = gpu_sharing.offer(found, "gpu", None)
    assert offer.seats(8) == 8 * 7 * 4
    assert offer.labels == {
        "nvidia.com/device-plugin.config": "shared-4",
        "nvidia.com/mig.config": "all-1g.10gb",
    }
    assert from_odd_document(Offer, to_document(offer)) == offer


def test_windows_that_are_open_together_and_differ_are_told() -> None:
    found = lab(
        "windows:\n"
        "- {name: late, days: mon, start: 11:00, end: 13:00, nodes: 1, gpu: {share: 2}}\n"
        "- {name: early, days: mon, start: 10:00, end: 12:00, nodes: 1, gpu: {share: 4}}\n"
        "- {name: after, days: mon, start: 13:00, end: 14:00, gpu: {share: 8}}\n"
    )
    year = simulate(found, datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))
    assert list(overlapping(found, year.windows)) == [
        (
            "windows early and late are open together and offer the GPUs of pool gpu differently (shared by 4"
            " pods (time-slicing), shared by 2 pods (time-slicing)); what early, which opens first, asks for stays,"
            " and late says so when it opens"
        )
    ]


def test_an_adopted_cluster_s_chart_is_told_what_it_needs() -> None:
    found = lab(
        "cluster: {existing: c}\npools: {gpu: {existing: n, instance_type: g5.xlarge}}\ngpu: {share: 4}"
    )
    assert "lamplighter adopt --gpu-values" in next(notes(found))
    values = json.loads(sharing_values(found))
    assert values["devicePlugin"]["config"]["default"] == "shared-4"
    with pytest.raises(BadInput, match="shares no GPU"):
        sharing_values(lab(""))
