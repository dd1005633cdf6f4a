"""Where the API server that has a NodePool does not answer, the guard still sees in EC2 what costs money."""

from dataclasses import replace
from typing import Any

import pytest
from moto.ec2.models import ec2_backends

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.capacity.kinds import of_lab
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.proof import mark_leaked
from lamplighter.application.guard.services import GuardServices, LabFacts
from lamplighter.application.guard.shown import seen_anyhow
from lamplighter.domain.capacity.evidence import ANY_NUMBER
from lamplighter.domain.guard.breach import GuardAction
from lamplighter.domain.guard.guard import sweep
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import read
from tests.unit.lab_on_moto import LEDGER, REGION, LabOnMoto
from tests.unit.leases.steps import of

KIND = {"kind": "karpenter"}


def services(lab: LabOnMoto, **pool: Any) -> GuardServices:
    """The guard of a lab whose cluster does not answer: EKS has none of its name."""
    away = Lab.model_validate({"name": "away", "cluster": {"karpenter": {}}, "pools": {"gpu": KIND | pool}})
    capacity = CapacityServices(away, Ledger(LEDGER), of_lab(away))
    guard = lab.guard_services
    lease_services = replace(guard.lease_services, capacity=capacity)
    return replace(guard, lease_services=lease_services, connect=_silent)


def _silent() -> Any:
    raise OutsideFailed("the API server does not answer")


def started(lab: LabOnMoto, number: int, name: str = "away-gpu", **more: str) -> list[str]:
    tags = {"karpenter.sh/nodepool": name, "eks:eks-cluster-name": "away", **more}
    ids = [lab.instance(tags) for _ in range(number)]
    for each in ids:
        instance: Any = ec2_backends["123456789012"][REGION].get_instance(each)
        instance.launch_time = "2026-11-20T20:00:00.000Z"
    return ids


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    arn = "arn:aws:states:ap-northeast-2:123456789012:stateMachine:away-failsafe"
    monkeypatch.setenv("FAILSAFE_MACHINE_ARN", arn)


def test_ec2_shows_what_runs_and_the_sweep_says_what_it_could_not_read(lab: LabOnMoto) -> None:
    unread: list[str] = []
    ids = started(lab, 2)

    seen = seen_anyhow(services(lab).capacity, "gpu", unread)

    assert {instance.id for instance in seen.alive} == {*ids}
    assert (seen.exists, seen.controller, seen.maximum) == (False, None, 2)
    assert "eks:DescribeCluster on away" in unread[0]


def test_without_the_maximum_of_an_adopted_pool_its_leases_count_whole(lab: LabOnMoto) -> None:
    adopted = services(lab, existing="theirs")
    assert seen_anyhow(adopted.capacity, "gpu", []).maximum == ANY_NUMBER


def test_a_lease_keeps_its_nodes_and_the_others_are_ended_in_ec2(lab: LabOnMoto, machine: None) -> None:
    ids = started(lab, 3)
    lab.lease(nodes=2)
    lab.at(10)
    guard = services(lab)

    facts = gather(guard, "gpu", LabFacts())
    ended = [breach for breach in sweep(facts) if breach.action is GuardAction.TERMINATE]

    assert len(ended) == 1
    assert len(ended[0].instances) == 1
    assert ended[0].instances[0] in ids
    assert guard.unread


def test_when_a_node_ran_is_kept_although_a_lease_cannot_be_read(lab: LabOnMoto, machine: None) -> None:
    """EC2 forgets its end after an hour, and nothing else remembers it."""
    ids = started(lab, 1, **{"karpenter.sh/nodeclaim": "away-gpu-12345"})
    lease = lab.lease()
    of(lease.id, state={"S": "strange"})
    guard = services(lab)

    with pytest.raises(OutsideFailed, match="strange"):
        gather(guard, "gpu", LabFacts())

    assert [life.instance for life in Ledger(LEDGER).lives("gpu")] == ids


def test_a_close_without_kubernetes_marks_the_pool_as_leaked(lab: LabOnMoto) -> None:
    started(lab, 1)
    run = {"command": lab.command("close")}

    marked = mark_leaked(run, services(lab))

    assert marked["leaked"] is True
    assert "EC2 still has i-" in str(read(marked["reason"]))
