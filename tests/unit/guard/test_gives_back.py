"""When the guard has GPU Operator settings given back: once no running lease needs them, and for how long after."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.application.guard.overrides import give_back_forgotten
from lamplighter.application.guard.services import GuardServices
from lamplighter.domain.gpu.overrides import Before, FieldBefore, Override
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.reason import Said, reason
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.lab_on_moto import LabOnMoto

SECOND = 1 / 60
BEFORE = Before((FieldBefore(("spec", "dcgm", "enabled"), there=True, value=False),))


def loan(lab: LabOnMoto, what: str = "cluster-policy", **holders: str) -> Override:
    return lab.capacity.ledger.keep_override(Override(what, "/policy", {"spec": {}}, BEFORE, holders, EIGHT))


def given_back(lab: LabOnMoto, minutes: float, *leases: Lease) -> list[str]:
    """The pools whose settings a sweep has given back so many minutes after eight."""
    lab.at(minutes)
    pools: list[str] = []
    guard_services: GuardServices = replace(lab.guard_services, give_back=pools.append)
    give_back_forgotten(guard_services, {"gpu": leases, "other": ()})
    return pools


def forgotten(lab: LabOnMoto) -> list[Said]:
    found = lab.capacity.ledger.audit("gpu", EIGHT - timedelta(days=1))
    return [entry.why for entry in found if entry.kind == "breach"]


@pytest.mark.parametrize(("minutes", "told"), [(8 - SECOND, False), (8, True)])
@pytest.mark.parametrize("known", [True, False])
def test_settings_eight_minutes_too_long(lab: LabOnMoto, minutes: float, *, told: bool, known: bool) -> None:
    over = lab.lease(nodes=1, opens=-60, closes=0)
    loan(lab, **{"cli-1" if known else "gone": "gpu"})

    assert given_back(lab, minutes, over) == ["gpu"]
    name = "cli-1" if known else "gone"
    why = reason("guard.settings-left", leases=(name,), fields=("dcgm.enabled",))
    assert forgotten(lab) == ([why] if told else [])


def test_settings_count_as_forgotten_from_the_last_end_of_who_held_them(lab: LabOnMoto) -> None:
    first, last = (
        lab.lease(nodes=1, opens=-60, closes=-20, name="first"),
        lab.lease(nodes=1, opens=-60, closes=0, name="last"),
    )
    never = replace(last, id="never", state=LeaseState.REFUSED, closes=EIGHT + 60 * MINUTE)
    loan(lab, first="gpu", last="gpu", never="gpu")

    assert given_back(lab, 8 - SECOND, first, last, never) == ["gpu"]
    assert forgotten(lab) == []
    given_back(lab, 8, first, last, never)
    assert len(forgotten(lab)) == 1


def test_settings_stay_while_one_who_holds_them_runs(lab: LabOnMoto) -> None:
    over = lab.lease(nodes=1, opens=-60, closes=-20, name="over")
    runs = lab.lease(nodes=1, opens=-60, closes=60, name="runs")
    loan(lab, over="gpu", runs="gpu")
    loan(lab, "another", over="gpu")

    assert given_back(lab, 0, over, runs) == ["gpu"]
    assert given_back(lab, 60, over, runs) == ["gpu", "gpu"]


def test_of_a_pool_that_was_not_read_nobody_knows_whether_its_lease_runs(lab: LabOnMoto) -> None:
    loan(lab, gone="gpu", far="unread")
    assert given_back(lab, 60) == []


@pytest.mark.parametrize(("minutes", "pools"), [(12 - SECOND, ["gpu"]), (12, [])])
def test_settings_are_looked_at_for_twelve_minutes(lab: LabOnMoto, minutes: float, pools: list[str]) -> None:
    over = lab.lease(nodes=1, opens=-60, closes=-20)
    lab.capacity.ledger.end_override(loan(lab, **{"cli-1": "gpu"}), EIGHT)
    assert given_back(lab, minutes, over) == pools
    assert forgotten(lab) == []
