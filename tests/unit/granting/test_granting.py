"""How a grant comes about: when it waits, when it is left to a schedule, and what stands in the ledger of it."""

from typing import Any

import boto3
import pytest

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.progress import Noted, Stage
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.errors import TryLater
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT, MINUTE, SECOND
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LEDGER, LabOnMoto
from tests.unit.leases.steps import asks, ledger, opened, schedules, step


def ahead(lab: LabOnMoto, name: str = "open-1", seconds: float = 0, **more: object) -> dict[str, Any]:
    """What Admit says to who asks for a lease that opens so many seconds after eight."""
    opens = instant.written(EIGHT + seconds * SECOND)
    return step(lab, "Admit", asks(lab, name, opens=opens, **more))


def forget(lease: str) -> None:
    boto3.client("dynamodb").delete_item(
        TableName=LEDGER, Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": f"LEASE#{lease}"}}
    )


def failsafe_in_the_air(lab: LabOnMoto) -> None:
    """Of a lease that ended at eight: its first shot comes at ten past, in half a minute."""
    lab.lease(nodes=1, opens=-60, closes=0, name="over")
    lab.guard_services.lease_services.arm("gpu")
    lab.at(9.5)


@pytest.mark.parametrize("seconds", [1, 119, 120])
def test_an_opening_within_two_minutes_is_waited_for(lab: LabOnMoto, seconds: int) -> None:
    with pytest.raises(TryLater, match=f"the lease opens in {seconds} s"):
        ahead(lab, seconds=seconds)


@pytest.mark.parametrize(("seconds", "later"), [(-1, False), (0, False), (121, True)])
def test_a_later_opening_is_left_to_its_schedule(lab: LabOnMoto, seconds: int, *, later: bool) -> None:
    answer = ahead(lab, seconds=seconds)

    lease = Lease.from_json(answer["lease"])
    assert (answer["outcome"], answer["later"]) == ("granted", later)
    assert (f"open-{lease.id}" in schedules()) is later
    assert lease.run == (open_command(lease).id if later else "open-1")
    armed = {} if later else {Stage.ARMED: Noted(0, 1, EIGHT, EIGHT)}
    assert ledger(lab).progress("gpu", lease.id) == armed


def test_an_opening_that_came_near_while_it_was_decided_is_waited_for_as_well(lab: LabOnMoto) -> None:
    """It has no schedule then: gone on with, its run would find a lease not in force and order nothing."""
    assert lab.guard_services.lease_services.ledger.leases("gpu") == []
    with (
        aws_calls.heard(lambda *_: lab.at(1 / 60)),
        pytest.raises(TryLater, match="the lease opens in 120 s"),
    ):
        ahead(lab, seconds=121)
    [mine] = ledger(lab).leases("gpu")
    lab.at(121 / 60)

    answer = ahead(lab, seconds=121)

    assert (mine.run, f"open-{mine.id}" in schedules()) == ("open-1", False)
    assert (answer["outcome"], answer["later"], answer["lease"]["id"]) == ("granted", False, mine.id)


@pytest.mark.parametrize(("seconds", "outcome"), [(7199, "granted"), (7200, "refused")])
def test_a_repeated_command_has_its_lease_until_that_ends(lab: LabOnMoto, seconds: int, outcome: str) -> None:
    opened(lab)
    lab.at(seconds / 60)
    assert step(lab, "Admit", asks(lab))["outcome"] == outcome


def test_a_command_whose_lease_is_gone_opens_nothing_more(lab: LabOnMoto) -> None:
    forget(opened(lab).id)

    assert step(lab, "Admit", asks(lab)) == {
        "outcome": "refused",
        "reason": {"code": "lease.replayed.gone", "values": {"at": {"at": "2026-11-20T20:00:00Z"}}},
        "lease": None,
        "earliest": None,
        "later": False,
    }


def test_who_finds_the_pool_open_is_told_which_lease_it_is_and_that_is_no_refusal(lab: LabOnMoto) -> None:
    mine = opened(lab, nodes=1)

    assert step(lab, "Admit", asks(lab, "open-2", nodes=1))["lease"]["id"] == mine.id
    [said] = [
        entry for entry in ledger(lab).audit("gpu", EIGHT) if str(entry.what).startswith("asked to open")
    ]
    assert (said.kind, said.what, said.lease) == (
        "answered",
        reason("audit.open-already", pool="gpu"),
        mine.id,
    )
    assert ledger(lab).progress("gpu", mine.id) == {Stage.ARMED: Noted(1, 1, EIGHT, EIGHT)}


def test_a_lease_for_later_is_granted_while_the_failsafe_of_another_fires(lab: LabOnMoto) -> None:
    failsafe_in_the_air(lab)
    assert ahead(lab, seconds=3600)["later"] is True


def test_a_lease_that_was_granted_ahead_opens_after_the_failsafe_of_another_has_fired(lab: LabOnMoto) -> None:
    mine = Lease.from_json(ahead(lab, seconds=570)["lease"])
    failsafe_in_the_air(lab)

    with pytest.raises(TryLater, match="nothing opens before that"):
        step(lab, "Admit", open_command(mine).to_json())
    lab.at(16)
    answer = step(lab, "Admit", {**open_command(mine).to_json(), "id": "late"})
    assert (answer["outcome"], answer["lease"]["run"]) == ("granted", "late")


def test_a_refusal_leaves_the_failsafe_alone(lab: LabOnMoto) -> None:
    failsafe_in_the_air(lab)
    forget("over")
    assert step(lab, "Admit", asks(lab, expires="2026-11-20T20:00:00Z"))["outcome"] == "refused"
    assert ledger(lab).pool("gpu").failsafe_at == EIGHT + 10 * MINUTE


def test_a_failsafe_that_was_moved_for_a_lease_is_moved_back_where_it_is_not_granted(lab: LabOnMoto) -> None:
    paused: list[str] = []

    def meanwhile(_service: str, operation: str, _given: object) -> None:
        if operation == "TransactWriteItems" and not paused:
            paused.append(operation)
            ledger(lab).pause(Pause("bob", EIGHT), "*", Decision("p", "paused", "exams", EIGHT), [])

    with aws_calls.heard(meanwhile):
        answer = step(lab, "Admit", asks(lab))

    assert answer["outcome"] == "refused"
    assert (schedules(), ledger(lab).pool("gpu").failsafe_at) == ({}, None)
