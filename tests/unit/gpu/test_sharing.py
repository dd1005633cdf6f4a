"""Shared and sliced GPUs: the offer of a pool, and the labels that a node lacks."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.gpu.sharing import mig_strategy, offer, resources, unmet_offer
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.lab.model import Lab
from lamplighter.reasons.fields import from_odd_document, to_document
from lamplighter.reasons.reason import Reason, reason

NIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)

CONFIG, MIG = "nvidia.com/device-plugin.config", "nvidia.com/mig.config"

SAID = {
    CONFIG: "shared-4",
    "nvidia.com/gpu.replicas": "4",
    "nvidia.com/gpu.sharing-strategy": "time-slicing",
    "nvidia.com/gpu.product": "NVIDIA-A10G-SHARED",
}


def lab(gpu: Mapping[str, object], **more: object) -> Lab:
    pools = {"gpu": {"instance_type": "p4d.24xlarge", "price_per_hour": "30"}}
    return Lab.model_validate({"name": "lab", "gpu": gpu, "pools": pools, **more})


def node(labels: Mapping[str, str], allocatable: Mapping[str, int] | None = None) -> NodeFacts:
    return NodeFacts("a", "i-1", NIGHT, ready=True, labels=labels, allocatable=allocatable or {})


@pytest.mark.parametrize(("gpu", "wanted"), [
    ({}, Offer()),
    ({"share": 1}, Offer()),
    ({"share": 4}, Offer(4, "time-slicing", labels={CONFIG: "shared-4"})),
    ({"sharing": {"strategy": "mps", "replicas": 2, "rename": True}},
     Offer(2, "mps", renamed=True, labels={CONFIG: "mps-2-renamed"})),
    ({"mig": "1g.5gb"}, Offer(mig="all-1g.5gb", slices=7, labels={MIG: "all-1g.5gb"})),
    ({"mig": "balanced"}, Offer(mig="all-balanced", slices=4, labels={MIG: "all-balanced"})),
    ({"mig": "disabled"}, Offer(mig="all-disabled", labels={MIG: "all-disabled"})),
    ({"mig": "6g.99gb"}, Offer(mig="all-6g.99gb", slices=1, labels={MIG: "all-6g.99gb"})),
    ({"share": 3, "mig": "2g.10gb"},
     Offer(3, "time-slicing", mig="all-2g.10gb", slices=3, labels={CONFIG: "shared-3", MIG: "all-2g.10gb"})),
])  # fmt: skip
def test_a_pool_offers_what_the_lab_asks_for(gpu: dict[str, object], wanted: Offer) -> None:
    assert offer(lab(gpu), "gpu", None) == wanted
    assert from_odd_document(Offer, to_document(wanted)) == wanted


def test_a_window_that_shares_labels_the_nodes_of_every_other_one_as_whole() -> None:
    window = {"name": "evening", "days": ["tue"], "start": "20:00", "end": "23:00"}
    one = lab({}, windows=[{**window, "gpu": {"share": 4, "mig": "1g.5gb"}}])
    assert offer(one, "gpu", "evening").labels == {CONFIG: "shared-4", MIG: "all-1g.5gb"}
    assert offer(one, "gpu", None).labels == {CONFIG: "whole", MIG: "all-disabled"}


@pytest.mark.parametrize(("found", "called", "seats"), [
    (Offer(), reason("gpu.offer.whole"), 8),
    (Offer(replicas=2, strategy="mps"), reason("gpu.offer.shared", replicas=2, strategy="mps"), 16),
    (Offer(slices=2, mig="all-3g.20gb"), reason("gpu.offer.sliced", slices=2, mig="all-3g.20gb"), 16),
    (Offer(slices=1, mig="all-7g.40gb"), reason("gpu.offer.whole"), 8),
    (Offer(replicas=3, strategy="time-slicing", slices=2, mig="all-3g.20gb"),
     reason("gpu.offer.sliced-and-shared", sliced=reason("gpu.offer.sliced", slices=2, mig="all-3g.20gb"),
     shared=reason("gpu.offer.shared", replicas=3, strategy="time-slicing")), 48),
])  # fmt: skip
def test_an_offer_is_called_and_counted_by_its_parts(found: Offer, called: Reason, seats: int) -> None:
    assert (found.called, found.seats(8)) == (called, seats)


def test_where_nothing_is_written_gpus_are_whole() -> None:
    assert from_odd_document(Offer, {}) == Offer()
    assert (
        from_odd_document(Offer, {"replicas": 0, "slices": None, "renamed": "yes", "labels": "odd"})
        == Offer()
    )


@pytest.mark.parametrize(("labels", "allocatable", "lacking"), [
    (SAID, {}, []),
    ({**SAID, CONFIG: "whole"}, {},
     [reason("gpu.label-differs", label="nvidia.com/device-plugin.config", value="whole", wanted="shared-4")]),
    ({key: value for key, value in SAID.items() if key != CONFIG}, {},
     [reason("gpu.label-missing", label="nvidia.com/device-plugin.config", wanted="shared-4")]),
    ({CONFIG: "shared-4"}, {}, [reason("gpu.sharing-unknown")]),
    ({CONFIG: "shared-4", "nvidia.com/gpu.replicas": "4"}, {}, [reason("gpu.sharing-unknown")]),
    ({**SAID, "nvidia.com/gpu.replicas": "2"}, {},
     [reason("gpu.shared-otherwise", replicas="2", strategy="time-slicing", wanted_replicas=4,
     wanted_strategy="time-slicing")]),
    ({**SAID, "nvidia.com/gpu.sharing-strategy": "mps"}, {},
     [reason("gpu.shared-otherwise", replicas="4", strategy="mps", wanted_replicas=4, wanted_strategy="time-slicing")]),
    ({**SAID, "nvidia.com/gpu.product": "NVIDIA-A10G"}, {}, [reason("gpu.product-not-shared", product="NVIDIA-A10G")]),
])  # fmt: skip
def test_a_node_that_does_not_share_as_asked_says_what_it_lacks(
    labels: dict[str, str], allocatable: dict[str, int], lacking: list[Reason]
) -> None:
    wanted = Offer(4, "time-slicing", labels={CONFIG: "shared-4"})
    assert unmet_offer(node(labels, allocatable), wanted) == lacking
    labelled_otherwise = [why for why in lacking if why.code in {"gpu.label-differs", "gpu.label-missing"}]
    assert unmet_offer(node(labels, allocatable), wanted, discovery=False) == labelled_otherwise


@pytest.mark.parametrize(
    ("replicas", "lacking"), [(1, []), (2, [reason("gpu.product-not-shared", product="NVIDIA-A10G")])]
)
def test_a_gpu_for_two_says_that_it_is_shared(replicas: int, lacking: list[Reason]) -> None:
    labels = {**SAID, "nvidia.com/gpu.replicas": str(replicas), "nvidia.com/gpu.product": "NVIDIA-A10G"}
    assert unmet_offer(node(labels), Offer(replicas, "time-slicing", labels={CONFIG: "shared-4"})) == lacking


def test_a_renamed_share_is_there_once_it_can_be_allocated_and_its_product_keeps_its_name() -> None:
    wanted = Offer(4, "time-slicing", renamed=True, labels={CONFIG: "shared-4"})
    labels = {**SAID, "nvidia.com/gpu.product": "NVIDIA-A10G"}

    assert unmet_offer(node(labels, {"nvidia.com/gpu.shared": 4}), wanted) == []
    missing = [reason("gpu.no-resource", resource="nvidia.com/gpu.shared")]
    assert unmet_offer(node(labels, {"nvidia.com/gpu.shared": 0, "nvidia.com/gpu": 4}), wanted) == missing
    assert unmet_offer(node(labels), wanted, discovery=False) == missing


def test_a_node_of_whole_gpus_need_not_say_that_they_are_shared() -> None:
    wanted = Offer(labels={CONFIG: "whole"})
    labels = {
        CONFIG: "whole",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/gpu.product": "NVIDIA-A10G",
    }

    assert unmet_offer(node(labels), wanted) == []
    assert unmet_offer(node({}), replace(wanted, labels=None)) == []


@pytest.mark.parametrize(("slices", "state", "lacking"), [
    (7, "success", []),
    (7, "pending", [reason("gpu.not-sliced", label="nvidia.com/mig.config.state", state="pending")]),
    (7, None, [reason("gpu.not-sliced-yet", label="nvidia.com/mig.config.state")]),
    (2, None, [reason("gpu.not-sliced-yet", label="nvidia.com/mig.config.state")]),
    (1, None, []),
    (1, "success", []),
    (1, "failed", [reason("gpu.not-sliced", label="nvidia.com/mig.config.state", state="failed")]),
])  # fmt: skip
def test_slices_are_there_once_the_mig_manager_says_so(
    slices: int, state: str | None, lacking: list[Reason]
) -> None:
    labels = {MIG: "all-odd", **({} if state is None else {"nvidia.com/mig.config.state": state})}
    assert unmet_offer(node(labels), Offer(slices=slices, labels={MIG: "all-odd"})) == lacking


def test_a_state_of_slices_says_nothing_where_none_were_asked_for() -> None:
    labels = {**SAID, "nvidia.com/mig.config.state": "failed"}
    assert unmet_offer(node(labels), Offer(4, "time-slicing", labels={CONFIG: "shared-4"})) == []


@pytest.mark.parametrize(("values", "gpu", "strategy"), [
    ({}, {}, "single"),
    ({"mig": {}}, {}, "single"),
    ({"mig": {"strategy": "mixed"}}, {}, "mixed"),
    ({"mig": {"strategy": "mixed"}}, {"cluster_policy": {"mig": {"strategy": "none"}}}, "none"),
])  # fmt: skip
def test_slices_bear_the_names_of_the_strategy_that_is_set_last(
    values: dict[str, JsonValue], gpu: dict[str, object], strategy: str
) -> None:
    one = lab(gpu, gpu_operator={"values": values})
    assert mig_strategy(one, one.gpu) == strategy


MIXED = {"mig": "1g.10gb", "cluster_policy": {"mig": {"strategy": "mixed"}}}


@pytest.mark.parametrize(
    ("gpu", "names"),
    [
        ({}, ["nvidia.com/gpu"]),
        ({"share": 4}, ["nvidia.com/gpu"]),
        ({"sharing": {"replicas": 4, "rename": True}}, ["nvidia.com/gpu.shared"]),
        ({"mig": "1g.10gb"}, ["nvidia.com/gpu"]),
        (MIXED, ["nvidia.com/mig-1g.10gb"]),
        ({**MIXED, "mig": "1g.10gb.me"}, ["nvidia.com/mig-1g.10gb.me"]),
        (
            {**MIXED, "mig": "balanced"},
            ["nvidia.com/mig-1g.10gb", "nvidia.com/mig-2g.20gb", "nvidia.com/mig-3g.40gb"],
        ),
    ],
)
def test_gpus_are_counted_by_the_resource_that_the_pool_offers(gpu: Any, names: list[str]) -> None:
    pools = {"gpu": {"instance_type": "p5.48xlarge", "max_nodes": 1}}
    sliced = Lab.model_validate({"name": "lab", "gpu": gpu, "pools": pools})
    assert list(resources(sliced, "gpu", None)) == names
