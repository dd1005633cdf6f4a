"""When a sweep reads a pool from Kubernetes, and what follows from the nodes and pods there."""

import pytest

from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.services import LabFacts
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.pool.pool import SeenGpus
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT
from tests.unit.guard.test_gathering import facts
from tests.unit.lab_on_moto import LabOnMoto


@pytest.mark.parametrize("there", ["instance", "leak", "failsafe", None])
def test_kubernetes_is_asked_where_anything_is_there(lab: LabOnMoto, there: str | None) -> None:
    lab.cluster.add_node("i-1")
    if there == "instance":
        lab.scale(1)
    if there == "leak":
        lab.capacity.ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2")
    if there == "failsafe":
        lab.lease(nodes=1, closes=1)
        lab.guard_services.lease_services.arm("gpu")

    assert facts(lab).kubernetes_nodes == (("node-i-1",) if there else ())


@pytest.mark.parametrize(
    ("annotated", "cordoned", "leased", "unprotected"),
    [
        (False, False, True, ("node-i-1",)),
        (True, False, True, ()),
        (False, True, True, ()),
        (False, False, False, ()),
    ],
)
def test_a_leased_node_that_serves_is_to_be_kept_from_autoscalers(
    lab: LabOnMoto, unprotected: tuple[str, ...], *, annotated: bool, cordoned: bool, leased: bool
) -> None:
    lab.scale(1)
    lab.cluster.add_node("i-1")
    if annotated:
        lab.cluster.nodes[0]["metadata"]["annotations"] = {
            "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"
        }
    lab.cluster.nodes[0]["spec"]["unschedulable"] = cordoned
    if leased:
        lab.lease(nodes=1)

    assert facts(lab).unprotected == unprotected


def work(
    lab: LabOnMoto, resource: str, count: int = 1, *, namespace: str = "class", phase: str = "Running"
) -> None:
    lab.cluster.add_pod("work", "i-1")
    pod = lab.cluster.pods[-1]
    pod["metadata"]["namespace"], pod["status"]["phase"] = namespace, phase
    pod["spec"]["containers"] = [{"resources": {"limits": {resource: str(count)}}}]


@pytest.mark.parametrize(
    ("pods", "in_use", "idle"),
    [
        ([], 0, True),
        ([("nvidia.com/gpu", 2)], 2, False),
        ([("nvidia.com/gpu", 1), ("nvidia.com/gpu", 1)], 2, False),
        ([("nvidia.com/gpu", 9)], 4, False),
        ([("nvidia.com/mig-1g.5gb", 1)], 1, False),
        ([("cpu", 1)], 0, True),
    ],
)
def test_pods_hold_gpus(lab: LabOnMoto, pods: list[tuple[str, int]], in_use: int, *, idle: bool) -> None:
    lab.lease(nodes=1)
    lab.scale(1)
    lab.cluster.add_node("i-1")
    lab.cluster.nodes[0]["status"] = {"allocatable": {"nvidia.com/gpu": "4"}}
    for resource, count in pods:
        work(lab, resource, count)

    assert facts(lab).idle_since == (EIGHT if idle else None)
    state = lab.capacity.ledger.pool("gpu")
    assert (state.seen_gpus, state.idle_since) == (SeenGpus(in_use, 4, EIGHT), EIGHT if idle else None)


def test_a_pool_whose_nodes_have_yet_to_come_is_not_idle(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)

    assert facts(lab).idle_since is None

    lab.scale(1)
    assert facts(lab).idle_since == EIGHT
    lab.scale(0)
    lab.at(5)
    assert facts(lab).idle_since is None


@pytest.mark.parametrize("answers", [True, False])
def test_a_node_that_comes_later_is_idle_since_it_came(lab: LabOnMoto, *, answers: bool) -> None:
    lab.lease(nodes=1)
    lab.scale(1)
    assert facts(lab).idle_since == EIGHT

    lab.at(5)
    lab.scale(0)
    if not answers:
        # With an armed failsafe the sweep reads Kubernetes even without an instance.
        lab.guard_services.lease_services.arm("gpu")
        lab.guard_services.kubernetes_silent = True
    facts(lab)

    lab.guard_services.kubernetes_silent = False
    came = lab.at(10)
    lab.scale(1)
    assert facts(lab).idle_since == came


def test_an_answer_that_nobody_can_read_fails_the_sweep_and_costs_no_other_read(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.scale(1)
    lab.cluster.add_node("i-1")
    work(lab, "nvidia.com/gpu")
    lab.cluster.pods[-1]["spec"]["containers"] = "one"

    assert facts(lab).kubernetes_nodes == ("node-i-1",)
    assert not lab.guard_services.kubernetes_silent
    with pytest.raises(OutsideFailed, match=r"Kubernetes: .*on_node"):
        sweep_all(lab.guard_services)


def test_what_has_finished_holds_nothing_and_our_checks_are_nobody_s_use(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.scale(1)
    lab.cluster.add_node("i-1")
    work(lab, "nvidia.com/gpu", phase="Succeeded")
    assert facts(lab).idle_since == EIGHT
    # A pool without GPUs has no count of GPUs in use.
    assert lab.capacity.ledger.pool("gpu").seen_gpus is None
    lab.cluster.nodes[0]["status"] = {"allocatable": {"nvidia.com/gpu": "4"}}
    work(lab, "nvidia.com/gpu", namespace="lamplighter")
    now = lab.at(1)

    assert facts(lab).idle_since is None
    state = lab.capacity.ledger.pool("gpu")
    assert (state.seen_gpus, state.idle_since) == (SeenGpus(0, 4, now), None)


def test_a_lab_of_which_nothing_was_read_is_judged_by_its_pools_alone(lab: LabOnMoto) -> None:
    found = gather(lab.guard_services, "gpu", LabFacts())

    assert (found.curfew, found.other_claim, found.held_back, found.failsafe_found) == (
        {},
        None,
        frozenset(),
        (),
    )
