"""GPU settings for people: the notice, the audit trail, the receipt, and the seats in `status`."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.guard import overrides as guard_loans
from lamplighter.domain.audit.trail import of_opening as trail_of_opening
from lamplighter.domain.gpu import offer as gpu_offer
from lamplighter.domain.gpu.operator import OperatorStatus, operator_state
from lamplighter.domain.gpu.overrides import Before, FieldBefore, FieldOwner, Override
from lamplighter.domain.gpu.sharing import offer
from lamplighter.domain.notices.opening import of_opening
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.lab.model import Lab
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT
from tests.unit.cli.shown.test_status import pool_at
from tests.unit.lab_on_moto import LAB, LabOnMoto, lab_on_moto
from tests.unit.notices.drawing import drawn

SHARED = Lab.model_validate({"name": LAB, "gpu": {"share": 4}})
BEFORE = Before(
    (FieldBefore(("spec", "dcgm", "enabled"), there=True, value=False, owner=FieldOwner("helm", "Apply")),)
)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.ledger.put_document(SHARED.to_json(), EIGHT)
        yield made


def applied(**more: object) -> dict[str, object]:
    shall = offer(SHARED, "gpu", None)
    kept = {"nodes": {"a": {"nvidia.com/device-plugin.config": None}}, "cluster_policy": {}}
    return {
        "state": "as-lab",
        "reason": "",
        "offer": to_document(shall),
        "before": kept,
        "during": kept,
        **more,
    }


AWAITED: dict[str, object] = {"nodes": [{"name": "a", "gpus": 4, "ready": True}], "not_ready": []}


def opening(lab: LabOnMoto, **more: object):
    lease = lab.lease(nodes=1)
    results: dict[str, dict[str, object]] = {
        "Admit": {"outcome": "granted", "lease": lease.to_json()},
        "AwaitNodes": {"wanted": 1, "instances": []},
        "ApplyGpuSettings": applied(**more),
        "AwaitGpus": AWAITED,
        "Validate": {"verdict": "passed", "verdicts": []},
    }
    return lease, results, drawn(of_opening("gpu", lease, results))


def test_the_notice_says_how_many_may_work_at_once(lab: LabOnMoto) -> None:
    _, _, said = opening(lab)
    assert said.kind == "open"
    assert said.text.endswith("It has 4 seats: each GPU is shared by 4 (time-slicing).")


def test_what_is_not_as_asked_is_said_and_written_down(lab: LabOnMoto) -> None:
    lease, results, said = opening(lab, state="owned-elsewhere", reason="dcgm.enabled belongs to argocd")
    assert said.kind == "degraded"
    assert "Dcgm.enabled belongs to argocd." in said.text
    first = trail_of_opening(lease, results, EIGHT)[0]
    assert (first.kind, first.what, first.why) == (
        "settings-applied",
        reason("audit.settings.not-as-asked"),
        "dcgm.enabled belongs to argocd",
    )


def test_status_counts_seats_expected_at_first_then_as_the_nodes_showed_them(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=2)
    view = pool_at(1)
    assert str(view.seats) == "expected 8 (shared by 4 pods (time-slicing))"
    both = {"nodes": [{"gpus": 4}, {"gpus": 4}]}
    lab.capacity.ledger.keep_settings(lease, gpu_offer.kept(applied(), both))
    view = pool_at(1)
    assert str(view.seats) == "8 (shared by 4 pods (time-slicing))"


def loan(lab: LabOnMoto, lease: str) -> Override:
    fields: dict[str, JsonValue] = {"spec": {"dcgm": {"enabled": True}}}
    made = Override("cluster-policy", "/policy", fields, BEFORE, {lease: "gpu"}, lab.capacity.now())
    return lab.capacity.ledger.keep_override(made)


def test_a_loan_is_kept_once_joined_and_ended(lab: LabOnMoto) -> None:
    ledger = lab.capacity.ledger
    first = loan(lab, "a")
    assert loan(lab, "b") == first == ledger.override("cluster-policy")
    both = first.held_by("b", "gpu")
    ledger.change_holders(first, both)
    with pytest.raises(Conflict):
        ledger.end_override(first, EIGHT)
    ledger.end_override(both, EIGHT)
    (ended,) = ledger.overrides()
    assert ended == replace(both, ended=EIGHT)
    assert loan(lab, "c").holders == {"c": "gpu"}


def test_the_guard_gives_back_what_no_running_lease_holds(lab: LabOnMoto) -> None:
    watch, started = lab.guard_services, list[str]()
    watch.give_back = started.append
    running = lab.lease(nodes=1)
    loan(lab, running.id)
    leases = {"gpu": [running]}

    assert guard_loans.give_back_forgotten(watch, leases) == []
    long_over = replace(running, closes=lab.capacity.now() - timedelta(minutes=20))
    (found,) = guard_loans.give_back_forgotten(watch, {"gpu": [long_over]})
    assert started == ["gpu"]
    trail = lab.capacity.ledger.audit("gpu", lab.capacity.now() - timedelta(minutes=1))
    assert trail[-1].what == reason("guard.did.give-back", pool="gpu")
    # Of a pool that could not be read nobody knows.
    assert guard_loans.give_back_forgotten(watch, {}) == []
    # Given back, it is looked after until nothing can land any more.
    lab.capacity.ledger.end_override(found, lab.capacity.now())
    assert len(guard_loans.give_back_forgotten(watch, {"gpu": [long_over]})) == 1
    lab.capacity.ledger.end_override(found, lab.capacity.now() - timedelta(minutes=30))
    assert guard_loans.give_back_forgotten(watch, {"gpu": [long_over]}) == []


def pod(name: str, generation: str, *, ready: bool = True, waiting: str = "") -> PodFacts:
    labels = {"app": "gpu-operator", "pod-template-hash": generation}
    return PodFacts("gpu-operator", name, "n", "Running", EIGHT, ready=ready, labels=labels, waiting=waiting)


@pytest.mark.parametrize(("policy", "pods", "operator", "said"), [
    ({"metadata": {}}, [pod("a", "1")], OperatorStatus.WORKS, ""),
    ({}, [], OperatorStatus.ABSENT, "is not installed"),
    ({}, [pod("a", "1")], OperatorStatus.UPGRADING, "its pod is there, and its ClusterPolicy is not"),
    ({"metadata": {"deletionTimestamp": "x"}}, [pod("a", "1")], OperatorStatus.UPGRADING, "is being removed"),
    ({"metadata": {}}, [pod("a", "1"), pod("b", "2")], OperatorStatus.UPGRADING, "pods of two versions run"),
    ({"metadata": {}}, [], OperatorStatus.STOPPED, "is switched off"),
    ({"metadata": {}}, [pod("a", "1", ready=False, waiting="CrashLoopBackOff")], OperatorStatus.STOPPED,
     "does not run (CrashLoopBackOff)"),
])  # fmt: skip
def test_how_the_operator_is_shows_in_its_policy_and_its_pods(
    policy: dict[str, object], pods: list[PodFacts], operator: OperatorStatus, said: str
) -> None:
    found = operator_state(policy, pods)
    assert found.status is operator
    assert said in str(found.reason or "")


def test_of_the_operator_s_pods_those_that_are_finished_do_not_count_and_the_first_that_waits_is_told() -> (
    None
):
    policy: dict[str, object] = {"metadata": {}}
    finished = replace(pod("old", "1"), phase="Succeeded")
    pending, running = (replace(pod(name, "2", ready=False), phase=name) for name in ("Pending", "Running"))

    assert operator_state(policy, [finished, pod("new", "2")]).status is OperatorStatus.WORKS
    assert operator_state(policy, [finished]).reason == reason("gpu.operator.no-pod")
    assert "does not run (Pending)" in str(operator_state(policy, [pending, running]).reason)
    assert "does not run (Running)" in str(operator_state(policy, [running, pending]).reason)
    waiting = replace(running, waiting="ImagePullBackOff")
    assert "does not run (ImagePullBackOff)" in str(operator_state(policy, [pending, waiting]).reason)
