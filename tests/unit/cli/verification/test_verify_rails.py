"""In which labs `lamplighter verify` does not play the step `rails`, and on which pool it plays it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cli.deployment import Deployment
from cli.verification import course
from cli.verification.account import Account
from cli.verification.steps.rails import STEP
from lamplighter.domain.money.money import Money
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, REGION, LabOnMoto, lab_on_moto

OURS = {"karpenter": {"version": "1.14.3"}}
THEIRS = {"existing": "theirs", "karpenter": {"existing": True}}
NODE_POOL = {"kind": "karpenter"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


def account(made: LabOnMoto, cluster: Mapping[str, object], **pools: Mapping[str, object]) -> Account:
    lab = Lab.model_validate({"name": "lab", "cluster": cluster, "pools": pools})
    made.capacity.ledger.put_document(lab.to_json(), EIGHT)
    deployed = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
    return Account("123456789012", REGION, lambda: EIGHT, deployed).on(STEP.kind)


def why_not(account: Account) -> str | None:
    return course.unfit(account, STEP, Money.of(50, "USD"))


def test_a_lab_without_karpenter_has_no_rails_to_play(made: LabOnMoto) -> None:
    assert why_not(account(made, {}, gpu={})) == "the lab has no pool of kind karpenter"


def test_without_karpenters_role_there_is_no_lock(made: LabOnMoto) -> None:
    why = why_not(account(made, THEIRS, gpu=NODE_POOL))
    assert why == "the lab does not know Karpenter's role, so its failsafe puts no lock on it"


def test_the_cheapest_pool_of_karpenter_is_played(made: LabOnMoto) -> None:
    dear = NODE_POOL | {"instance_type": "g5.12xlarge"}
    idle = account(made, OURS, group={}, dear=dear, gpu=NODE_POOL)
    assert why_not(idle) is None
    assert idle.pool == "gpu"
