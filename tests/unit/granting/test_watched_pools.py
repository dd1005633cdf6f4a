"""On a pool that the guard only watches, no lease opens beside nodes of others, and none takes such nodes with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from lamplighter.domain.capacity.evidence import Controller, Instance, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.granting import opening
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.guard_facts import instance
from tests.builders.leases import EIGHT, HOUR, MINUTE, lease, persons, usd
from tests.drawn import sentence
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import asks, held, ledger, opened, planned, schedules, step

OPENED = lease(ordered=EIGHT)
CONSEQUENCE = "the end of a lease would take those nodes too"
AHEAD = persons("ahead", 0, 90, state=LeaseState.ADMITTED)


def seen(running: Sequence[str] = (), leaving: Sequence[str] = (), size: int = 0) -> Seen:
    members = tuple(Member(name, leaving=name in leaving) for name in running)
    instances: tuple[Instance, ...] = tuple(map(instance, running))
    controller = Controller("eks-gpu", 0, 3, size, members)
    return Seen(NODE_GROUP, exists=True, controller=controller, instances=instances)


@pytest.mark.parametrize(
    ("leases", "there", "others"),
    [
        ([], seen(), 0),
        ([], seen(["i-1", "i-2"], size=2), 2),
        ([], seen(size=1), 1),  # ordered, and not there yet
        ([], seen(["i-1"], leaving=["i-1"]), 0),
        ([], replace(seen(size=3), dynamic=True), 0),
        ([], replace(seen(["i-1"], size=3), dynamic=True), 1),
        ([OPENED], seen(["i-1", "i-2"], size=2), 0),
        ([OPENED], seen(["i-1", "i-2", "i-3"], size=3), 1),
        ([replace(OPENED, missing=1)], seen(["i-1", "i-2"], size=2), 1),
        ([replace(OPENED, state=LeaseState.CLOSING)], seen(["i-1", "i-2"], size=2), 0),
        ([replace(OPENED, state=LeaseState.CLOSED)], seen(["i-1"], size=1), 1),
        ([AHEAD], seen(["i-1"], size=1), 1),
        ([lease(opens=30, state=LeaseState.PLANNED)], seen(["i-1"], size=1), 1),
    ],
)
def test_nodes_that_no_lease_opened_are_counted(leases: list[Lease], there: Seen, others: int) -> None:
    refused = opening.beside_others(leases, there, "gpu", EIGHT + MINUTE)
    assert refused == (reason("lease.nodes-of-others", pool="gpu", nodes=others) if others else None)


@pytest.fixture
def watched(lab: LabOnMoto) -> LabOnMoto:
    step(lab, "Change", lab.command("watch", lease=None))
    return lab


@contextmanager
def nobody_knows_what_runs() -> Iterator[None]:
    def unread(_service: str, operation: str, _given: object) -> None:
        if operation == "DescribeInstances":
            raise OutsideFailed("no answer", "ec2:DescribeInstances")

    with aws_calls.heard(unread):
        yield


def ahead(lab: LabOnMoto) -> Lease:
    """A lease for nine o'clock, granted at eight."""
    asked = asks(lab, "ahead", opens=instant.written(EIGHT + HOUR), add=True)
    return Lease.from_json(step(lab, "Admit", asked)["lease"])


def test_no_lease_opens_beside_nodes_of_others(watched: LabOnMoto) -> None:
    watched.scale(2)

    answer = step(watched, "Admit", asks(watched))

    assert (answer["outcome"], sentence(answer["reason"])) == (
        "refused",
        f"pool gpu has 2 nodes that no lease opened, and the guard only watches this pool: {CONSEQUENCE}",
    )
    assert (held(watched), schedules(), ledger(watched).leases("gpu")) == (usd(0), {}, [])


def test_a_lease_opens_after_they_are_gone_and_beside_the_nodes_of_leases(watched: LabOnMoto) -> None:
    watched.scale(1)
    assert step(watched, "Admit", asks(watched, "too-early"))["outcome"] == "refused"
    watched.scale(0)
    first = opened(watched, name="first", nodes=1)
    watched.scale(1)
    ledger(watched).advance("gpu", first.id, LeaseState.OPENING, EIGHT)

    assert step(watched, "Admit", asks(watched, "second", nodes=1, add=True))["outcome"] == "granted"


def test_where_the_guard_enforces_a_lease_opens_beside_any_node(lab: LabOnMoto) -> None:
    lab.scale(2)
    assert step(lab, "Admit", asks(lab))["outcome"] == "granted"


def test_a_window_does_not_open_beside_nodes_of_others(watched: LabOnMoto) -> None:
    window = planned(watched, "evening", 0, 120)
    watched.scale(1)

    assert step(watched, "Admit", open_command(window).to_json())["outcome"] == "refused"
    assert watched.kept(window.id).state is LeaseState.REFUSED


def test_a_lease_granted_ahead_is_refused_at_its_opening(watched: LabOnMoto) -> None:
    watched.scale(1)
    mine = ahead(watched)
    watched.at(60)

    assert step(watched, "Admit", open_command(mine).to_json())["outcome"] == "refused"
    assert (watched.kept(mine.id).state, held(watched), schedules()) == (LeaseState.REFUSED, usd(0), {})


def test_what_runs_is_not_known_so_nothing_opens(watched: LabOnMoto) -> None:
    with nobody_knows_what_runs(), pytest.raises(OutsideFailed):
        step(watched, "Admit", asks(watched))
    assert ledger(watched).leases("gpu") == []
    assert step(watched, "Admit", asks(watched))["outcome"] == "granted"


@pytest.mark.parametrize("minutes", [10, 70])
def test_the_close_of_a_lease_that_never_opened_touches_no_node(watched: LabOnMoto, minutes: int) -> None:
    """Neither before its opening nor after an opening that nothing could decide."""
    mine = ahead(watched)
    watched.scale(2)
    watched.at(minutes)

    with nobody_knows_what_runs():
        answer = step(watched, "RestoreExperiments", watched.command("close", mine.id, because="a mistake"))

    assert (answer["over"], answer["closing"]) == (True, [])
    assert sentence(answer["reason"]) == (
        "alice's lease ends before it opened, and no node was touched: a mistake"
    )
    assert (watched.kept(mine.id).state, held(watched), schedules()) == (LeaseState.REFUSED, usd(0), {})
    assert [entry.lease for entry in watched.entries("refused")] == [mine.id]


def test_the_close_of_a_lease_that_opened_goes_on_as_everywhere(watched: LabOnMoto) -> None:
    mine = ahead(watched)
    watched.at(60)
    assert step(watched, "Admit", open_command(mine).to_json())["outcome"] == "granted"

    # Its nodes may be ordered already, although the ledger does not say so yet.
    step(watched, "RestoreExperiments", watched.command("close", mine.id))

    assert watched.kept(mine.id).state is LeaseState.CLOSING


def test_where_the_guard_enforces_a_lease_that_never_opened_is_closed(lab: LabOnMoto) -> None:
    mine = ahead(lab)
    step(lab, "RestoreExperiments", lab.command("close", mine.id))
    assert lab.kept(mine.id).state is LeaseState.CLOSING
