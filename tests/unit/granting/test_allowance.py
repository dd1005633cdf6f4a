"""What a role allows holds as the lab decides: what was given meanwhile counts as well."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting import extension, grant
from lamplighter.domain.leases.allowance import MOST_AHEAD_ON_A_POOL, Allowance
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms, terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.lab.channels import Role
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, persons
from tests.drawn import drawn

TEACHER, STUDENT = "tom (UTOM)", "ali (UALI)"
MONEY = BudgetPeriod("2026-11", Money.zero("USD"), Money.zero("USD"))


def pool_terms(**guard: Any) -> Terms:
    lab = {"name": "lab", "guard": guard, "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 5}}}
    return terms(Lab.model_validate(lab), "gpu")


def lease(name: str, nodes: int, owner: str = STUDENT, by: str = TEACHER, hours: int = 1) -> Lease:
    given = {"nodes": nodes, "owner": owner, "by": by, "source": "slack", "hold": Money.zero("USD")}
    return persons(name, **given, opens=0, closes=60 * hours)


def command(verb: Verb = Verb.OPEN, allowance: Allowance | None = None, **more: Any) -> Command:
    given = Command("1", verb, "gpu", STUDENT, TEACHER, "slack", EIGHT, EIGHT + HOUR, lasting=HOUR, add=True)
    return replace(given, allowance=allowance, **more)


def opened(given: Command, *leases: Lease, **guard: Any) -> grant.GrantDecision:
    return drawn(
        grant.decide(given, pool_terms(**guard), leases, {"2026-11": MONEY}, now=EIGHT, generation=0)
    )


def extended(given: Command, *leases: Lease) -> extension.Extension:
    return drawn(extension.decide(given, pool_terms(), leases, MONEY, now=EIGHT, generation=0))


@pytest.mark.parametrize(
    ("others", "outcome"),
    [
        ([], "granted"),
        ([lease("friend", 1, owner="bea (UBEA)")], "granted"),
        # Whom the same person let in a moment ago, under the name that they had then.
        ([lease("friend", 2, owner="bea (UBEA)", by="thomas (UTOM)")], "refused"),
        ([lease("theirs", 2, owner=TEACHER, by=TEACHER)], "refused"),
        ([lease("asker", 2, by=STUDENT)], "refused"),
        ([lease("nobody's of theirs", 2, owner="bea (UBEA)", by="bea (UBEA)")], "granted"),
        ([replace(lease("nobody's", 2, owner="bea (UBEA)"), by=None)], "granted"),
        ([replace(lease("no more", 2), state=LeaseState.CLOSED)], "granted"),
        ([replace(lease("later", 2), opens=EIGHT + HOUR, closes=EIGHT + 2 * HOUR)], "granted"),
        ([replace(lease("before", 2), opens=EIGHT - HOUR, closes=EIGHT)], "granted"),
    ],
)
def test_what_was_granted_meanwhile_counts(others: list[Lease], outcome: str) -> None:
    answer = opened(command(allowance=Allowance(nodes=2)), *others)
    assert answer.outcome == outcome
    if outcome == "refused":
        assert answer.reason == "tom (UTOM) may have 2 nodes at once on pool gpu, and it would be 3"


def test_what_comes_one_after_the_other_is_not_at_once() -> None:
    first, second = lease("first", 1), lease("second", 1)
    second = replace(second, opens=EIGHT + HOUR, closes=EIGHT + 2 * HOUR)

    assert opened(command(allowance=Allowance(nodes=2), lasting=2 * HOUR), first, second).outcome == "granted"
    second = replace(second, opens=EIGHT + HOUR - timedelta(minutes=1))
    assert opened(command(allowance=Allowance(nodes=2), lasting=2 * HOUR), first, second).outcome == "refused"


def test_a_role_bounds_nodes_and_without_one_the_pool_does() -> None:
    assert opened(command(nodes=3), lease("friend", 2)).outcome == "granted"
    assert opened(command(nodes=3, allowance=Allowance()), lease("friend", 2)).outcome == "granted"
    assert opened(command(allowance=Allowance(nodes=0))).reason == (
        "tom (UTOM) may have 0 nodes at once on pool gpu, and it would be 1"
    )


def test_two_extensions_at_once_are_no_longer_than_the_role_allows() -> None:
    given = command(Verb.EXTEND, Allowance(length=2 * HOUR), lease="mine")
    first = extended(given, lease("mine", 1))
    assert first.outcome == "extended"
    assert first.after is not None

    second = extended(given, first.after)
    assert (second.outcome, second.after) == ("refused", None)
    assert second.reason == "it would last 3h, and tom (UTOM) may have nodes for 2h"


def test_who_has_more_than_they_may_open_goes_on_with_that_and_nothing_beside_it() -> None:
    given = command(Verb.EXTEND, Allowance(nodes=1), lease="mine")
    assert extended(given, lease("mine", 2)).outcome == "extended"
    assert extended(given, lease("mine", 2), lease("friend", 1, hours=3)).outcome == "refused"


def test_a_command_carries_it_and_one_without_a_role_carries_none() -> None:
    for allowance in (None, Allowance(), Allowance(2), Allowance(2, 3 * HOUR), Allowance(0, timedelta())):
        given = command(allowance=allowance)
        assert Command.from_json(given.to_json()) == given


def test_the_widest_role_that_lets_them_have_it_counts() -> None:
    tom = Person("UTOM")
    held = {
        "helpers": Role(members=["UTOM"], may=["open"], max_nodes=1),
        "teachers": Role(members=["UTOM"], may=["open"], max_nodes=3, longest=HOUR),
        "others": Role(members=["UBEA"], may=["open"]),
    }

    def allowed(nodes: int, hours: int = 1) -> Allowance | None:
        return roles.allowance(tom, Wanted(Word.OPEN, "gpu", nodes, hours * HOUR), held)

    assert allowed(1) == allowed(2) == Allowance(3, HOUR)
    assert allowed(1, hours=2) == Allowance(1)
    assert allowed(2, hours=2) == Allowance(0, timedelta())


def test_an_owner_who_extends_their_own_needs_no_role() -> None:
    ali = Person("UALI")
    assert roles.allowance(ali, Wanted(Word.EXTEND, "gpu", lease=lease("mine", 1)), {}) is None


def ahead(number: int, **more: Any) -> list[Lease]:
    """Leases of one second that open one after the other, from nine o'clock on."""
    made = [lease(f"ahead-{n}", 1) for n in range(number)]
    opens = [EIGHT + HOUR + n * 2 * SECOND for n in range(number)]
    given: dict[str, Any] = {"owner": "alice", "by": "alice", "state": LeaseState.ADMITTED} | more
    return [
        replace(each, **{"opens": at, "closes": at + SECOND} | given)
        for each, at in zip(made, opens, strict=True)
    ]


LATER: dict[str, Any] = {"opens": EIGHT + 3 * HOUR}
FULL = 40


@pytest.mark.parametrize(
    ("theirs", "asked", "outcome"),
    [
        (ahead(FULL - 1, owner=STUDENT), LATER, "granted"),
        (ahead(FULL, owner=STUDENT), LATER, "refused"),
        (ahead(FULL, by="thomas (UTOM)"), LATER, "refused"),
        (ahead(FULL - 1, owner=STUDENT) + ahead(FULL - 1, by=TEACHER), LATER, "granted"),
        (ahead(FULL), LATER, "granted"),
        # What opens now is bounded by the nodes of the pool.
        (ahead(FULL, owner=STUDENT), {}, "granted"),
        (ahead(FULL, owner=STUDENT, state=LeaseState.CLOSED), LATER, "granted"),
        (ahead(FULL, owner=STUDENT, opens=EIGHT, closes=EIGHT + HOUR, nodes=0), LATER, "granted"),
        # The lab's calendar is not of people, whatever owner it names.
        (ahead(FULL, owner=STUDENT, window="lesson"), LATER, "granted"),
    ],
)
def test_a_person_may_have_so_many_leases_granted_ahead(
    theirs: list[Lease], asked: dict[str, Any], outcome: str
) -> None:
    assert opened(command(**asked), *theirs).outcome == outcome


def test_a_window_is_granted_whatever_people_have_ahead() -> None:
    soon: dict[str, Any] = {"window": "lesson", "source": "window", "opens": EIGHT + MINUTE}
    window = replace(lease("lesson-1", 1), state=LeaseState.PLANNED, **soon)
    given = command(lease=window.id, **soon)

    assert opened(given, window, *ahead(MOST_AHEAD_ON_A_POOL)).outcome == "granted"


def test_the_refusal_says_how_many_there_are_and_when_the_next_opens() -> None:
    rest = "the next opens at 21:00 on 2026-11-20 (Etc/UTC), and one that is not needed can be closed now"
    assert opened(command(**LATER), *ahead(FULL, owner=STUDENT)).reason == (
        "ali (UALI) has 40 leases on pool gpu that are granted and not open yet, which is the most for one "
        f"person: {rest}"
    )

    others = [replace(each, owner=f"s{n}", by=f"s{n}") for n, each in enumerate(ahead(MOST_AHEAD_ON_A_POOL))]
    assert opened(command(**LATER), *others[1:]).outcome == "granted"
    assert opened(command(**LATER), *others).reason == (
        f"pool gpu has 200 leases of people that are granted and not open yet, which is the most: {rest}"
    )


@pytest.mark.parametrize(
    ("most", "theirs", "outcome"),
    [
        ({"leases": 2}, 1, "granted"),
        ({"leases": 2}, 2, "refused"),
        ({"hours": 3}, 2, "granted"),
        ({"hours": 3}, 3, "refused"),
        ({"leases": 200}, 41, "granted"),
    ],
)
def test_the_lab_says_how_many_leases_or_hours_a_person_may_have_ahead(
    most: dict[str, int], theirs: int, outcome: str
) -> None:
    hours = [replace(each, closes=each.opens + HOUR) for each in ahead(theirs, owner=STUDENT, by=STUDENT)]
    assert opened(command(**LATER), *hours, most_ahead=most).outcome == outcome
    # What opens now is not ahead, and what others have is not theirs.
    assert opened(command(), *ahead(5, owner="bea"), most_ahead=most).outcome == "granted"


def test_the_refusal_says_how_many_hours_it_would_be() -> None:
    hours = [replace(each, closes=each.opens + HOUR) for each in ahead(3, owner=STUDENT, by=STUDENT)]
    assert opened(command(**LATER), *hours, most_ahead={"hours": 3}).reason == (
        "with this one, ali (UALI) would have leases of 4h in all on pool gpu that are granted and not open yet, and "
        "the most for one person is 3h (guard.most_ahead): a lease that is not needed can be closed now"
    )
