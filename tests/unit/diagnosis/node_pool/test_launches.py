"""Refused launches of a NodePool: the code inside decides, the first event has it, and other pools do not count."""

import pytest

from tests.node_pool_snapshots import (
    DENIED,
    NODE_POOL,
    QUOTA,
    SHORTAGE,
    capacity_error,
    claim,
    condition,
    empty,
    node_class,
    node_pool,
    pool_of,
)
from tests.snapshots import Document, at, causes, event, judge, stages, told

HEALTHY: dict[str, list[Document]] = {"findings": [], "in_progress": []}


@pytest.mark.parametrize("auto", [False, True])
def test_a_healthy_pool_has_neither_finding_nor_stage(*, auto: bool) -> None:
    assert judge(pool_of(auto=auto)).to_json() == HEALTHY


@pytest.mark.parametrize(
    ("inner", "cause"),
    [
        (SHORTAGE, "no-capacity"),
        (QUOTA, "vcpu-quota"),
        (
            "UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration",
            "no-capacity",
        ),
        ("InsufficientFreeAddressesInSubnet: not enough free addresses in subnet", "no-addresses"),
        ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", "vcpu-quota"),
    ],
)
def test_the_first_event_names_the_cause_and_the_later_ones_have_it_too(inner: str, cause: str) -> None:
    document = empty()
    document["kubernetes"]["events"] = [
        capacity_error(inner, 15),
        *(capacity_error("", 15 + n / 10, name=f"{NODE_POOL}-aaaa{n}") for n in range(9)),
    ]

    [(found, about, evidence)] = told(document)

    assert (found, about) == (cause, NODE_POOL)
    assert inner in evidence[0]
    assert len(evidence) == 2


def test_a_code_from_just_before_the_order_counts_while_karpenter_does_not_ask_again() -> None:
    document = empty(now=2)
    document["kubernetes"]["events"] = [capacity_error(QUOTA, -1), capacity_error("", 0.5)]
    assert causes(document) == ["vcpu-quota"]
    document["kubernetes"]["events"][0] = capacity_error(QUOTA, -3.5)
    assert causes(document) == ["no-capacity"]


def test_a_quota_that_was_raised_is_history_once_karpenter_names_another_code() -> None:
    document = empty()
    document["kubernetes"]["events"] = [capacity_error(QUOTA, 2), capacity_error(SHORTAGE, 18)]
    assert causes(document) == ["no-capacity"]


def test_two_codes_of_now_are_two_causes() -> None:
    document = empty()
    document["kubernetes"]["events"] = [capacity_error(QUOTA, 17), capacity_error(SHORTAGE, 18)]
    assert causes(document) == ["vcpu-quota", "no-capacity"]


@pytest.mark.parametrize("named", [True, False])
def test_what_happens_to_another_pool_is_none_of_ours(*, named: bool) -> None:
    document = empty(now=2)
    refused = condition("Launched", "Unknown", "Unauthorized", DENIED)
    document["kubernetes"]["nodepools"].append(node_pool("other"))
    document["kubernetes"]["nodeclaims"] = [claim(0, refused, pool="other")]
    document["kubernetes"]["events"] = [
        capacity_error(SHORTAGE, 1, name="other-x7k2p"),
        event("NodeClaim", "other-abc01", "SpotInterrupted", "Spot interruption warning was triggered", 1),
        event(
            "Pod", "else", "FailedScheduling", f"NodeClaim other-x7k2p nominated for this pod failed: {QUOTA}"
        ),
    ]
    if not named:
        document["expected"].pop("nodepool")

    assert stages(document) == ["instance-launch"]
    assert causes(document) == []


def test_the_events_of_a_claim_whose_name_the_api_server_cut_are_the_pool_s() -> None:
    name = f"{'l' * 30}-{'g' * 32}"
    document = empty(now=2)
    document["expected"]["nodepool"] = name
    document["kubernetes"]["nodepools"] = [node_pool(name)]
    document["kubernetes"]["ec2nodeclasses"] = [node_class(name=name)]
    document["kubernetes"]["events"] = [capacity_error(QUOTA, 1, name=f"{name[:58]}x7k2p")]

    assert causes(document) == ["vcpu-quota"]


def test_of_two_node_pools_that_end_alike_the_shorter_name_is_the_pool_s() -> None:
    document = empty()
    document["expected"].pop("nodepool")
    document["kubernetes"]["nodepools"] = [
        node_pool("lab-big-gpu", replicas=1),
        node_pool("lab-gpu", replicas=1),
    ]
    document["kubernetes"]["ec2nodeclasses"] = [node_class(name="lab-gpu")]
    bars = [("lab-big-gpu", 100), ("lab-gpu", 10)]
    document["kubernetes"]["configmaps"] = [
        {"metadata": {"name": name, "namespace": "lamplighter"}, "data": {"notAfter": at(minute)}}
        for name, minute in bars
    ]

    assert [(cause, about) for cause, about, _ in told(document)] == [("launch-barred", "lab-gpu")]


def test_a_shortage_that_is_over_is_history() -> None:
    document = pool_of()
    document["kubernetes"]["events"] = [capacity_error(SHORTAGE, 0.2), capacity_error("", 0.3)]
    assert judge(document).to_json() == HEALTHY


def test_a_denied_launch_is_told_with_the_lock_of_the_failsafe_if_it_is_there() -> None:
    document = empty()
    document["kubernetes"]["nodeclaims"] = [
        claim(0, condition("Launched", "Unknown", "Unauthorized", DENIED))
    ]

    [(cause, about, evidence)] = told(document)
    assert (cause, about, evidence) == ("launch-denied", f"{NODE_POOL}-abc01", [f"Unauthorized: {DENIED}"])

    document["aws"]["controller_policies"] = {"PolicyNames": ["lamplighter-lock-gpu-lab-gpu", "other"]}
    locked = (
        "the failsafe's lock lamplighter-lock-gpu-lab-gpu is on Karpenter's role; the next opening removes it"
    )
    assert told(document)[0][2] == [f"Unauthorized: {DENIED}", locked]
    for others in (
        {"PolicyNames": ["lamplighter-lock-gpu-lab-big"]},
        {"PolicyNames": "odd"},
        [],
        ["lamplighter-lock-gpu"],
    ):
        document["aws"]["controller_policies"] = others
        assert told(document)[0][2] == [f"Unauthorized: {DENIED}"]


def test_a_claim_that_is_launched_is_on_its_way_and_then_boots() -> None:
    document = empty(now=0.5)
    document["kubernetes"]["nodeclaims"] = [claim(0, condition("Launched", "Unknown", "Launched"))]
    assert stages(document) == ["instance-launch"]
    document["kubernetes"]["nodeclaims"] = [
        claim(0, condition("Launched", minute=0.1), condition("Registered", "Unknown", "NodeNotFound"))
    ]
    assert stages(document) == ["node-join"]


def test_replicas_that_nobody_raised_are_said() -> None:
    document = empty()
    document["kubernetes"]["nodepools"] = [node_pool(replicas=0)]
    [(cause, _, [symptom, *_])] = told(document)
    assert cause == "unknown"
    assert f"the desired size of {NODE_POOL} is 0: nobody asked for more" in symptom


def test_the_nodes_of_a_dynamic_pool_come_with_pods() -> None:
    document = empty()
    document["kubernetes"]["nodepools"] = [node_pool(replicas=None)]
    assert judge(document).to_json() == HEALTHY
    document["kubernetes"]["events"] = [capacity_error(SHORTAGE, 15)]
    assert causes(document) == ["no-capacity"]
