"""Who may do what: everybody may look, an owner extends and closes their own leases, a role has bounds."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.people.person import Person, id_in
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted, groups_named, owns
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.lab.channels import Role
from lamplighter.reasons.reason import Reason, in_english
from tests.builders.leases import persons

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
JIN, MINJI = Person("U0JIN", "jin"), Person("U0MINJI", "minji")
ROLES = {
    "instructors": Role(members=["U0JIN", "S0TEACH"], may=["open", "extend", "close", "skip", "pause"]),
    "students": Role(
        members=["S0CLASS"], may=["open", "extend"], pools=["gpu"], max_nodes=1, longest=2 * HOUR
    ),
}


def in_words(person: Person, wants: Wanted, given: Mapping[str, Role]) -> str | None:
    """Why they may not, in words."""
    no = roles.refusal(person, wants, given)
    return in_english(no) if no else None


def lease(owner: str) -> Lease:
    return persons("slack-1", owner=owner, nodes=1, source="slack")


def wanted(word: Word, owner: str | None = None, **more: object) -> Wanted:
    return Wanted(word, "gpu", lease=lease(owner) if owner else None, **more)  # type: ignore[arg-type]


CHANGES = [Word.OPEN, Word.EXTEND, Word.KEEP, Word.CLOSE, Word.SKIP, Word.UNSKIP, Word.PAUSE, Word.RESUME]


@pytest.mark.parametrize("word", CHANGES)
def test_without_roles_nobody_changes_anything(word: Word) -> None:
    assert "no role in this lab" in (in_words(JIN, wanted(word, "evening-class"), {}) or "")


@pytest.mark.parametrize("word", CHANGES)
def test_who_is_in_a_role_that_may_does(word: Word) -> None:
    assert in_words(JIN, wanted(word, "evening-class"), ROLES) is None
    by_group = Person("U0NEW", "new", frozenset({"S0TEACH"}))
    assert in_words(by_group, wanted(word, "evening-class"), ROLES) is None


@pytest.mark.parametrize("word", [Word.EXTEND, Word.KEEP, Word.CLOSE])
def test_an_owner_may_extend_and_close_their_own_without_any_role(word: Word) -> None:
    assert in_words(MINJI, wanted(word, MINJI.written, length=HOUR), ROLES) is None
    assert in_words(MINJI, wanted(word, JIN.written, length=HOUR), ROLES) is not None
    assert in_words(MINJI, wanted(Word.OPEN, MINJI.written), ROLES) is not None


def test_only_groups_that_roles_name_are_asked_about() -> None:
    assert groups_named(ROLES) == {"S0TEACH", "S0CLASS"}


def test_a_lease_belongs_to_the_id_in_its_owner_and_to_no_name() -> None:
    assert owns(MINJI, lease("minji (U0MINJI)"))
    assert owns(MINJI, lease("renamed (U0MINJI)"))
    for owner in ("minji", "U0MINJI", "(U0MINJI) x", "minji (U0MINJIX)", "evening-class"):
        assert not owns(MINJI, lease(owner))
    assert not owns(MINJI, None)


@pytest.mark.parametrize("name", ["x (U0JIN)", "<@U0JIN>", "a\nb", "", "`*_", "n" * 500])
def test_a_name_cannot_pretend_to_be_somebody_else(name: str) -> None:
    written = Person("U0EVIL", name).written
    assert id_in(written) == "U0EVIL"
    assert "U0JIN)" not in written
    assert len(written) < 60


MINE = lease(MINJI.written)


def role(**more: Any) -> Role:
    return Role(**{"members": ["U0MINJI"], "may": ["open", "extend"], **more})


def refusal(wanted: Wanted, person: Person = MINJI, **given: Role) -> Reason | None:
    return roles.refusal(person, wanted, given)


@pytest.mark.parametrize(
    ("bounds", "wanted", "no"),
    [
        ({}, Wanted(Word.OPEN, "gpu", 99, 99 * HOUR), None),
        ({"may": ["close"]}, Wanted(Word.OPEN, "gpu"),
         Reason("slack.role.action", {"role": "r", "action": "open", "allowed": "close"})),
        ({"may": []}, Wanted(Word.OPEN, "gpu"), Reason("slack.role.only-sees", {"role": "r", "action": "open"})),
        ({"pools": ["gpu"]}, Wanted(Word.OPEN, "gpu"), None),
        ({"pools": ["big", "gpu2"]}, Wanted(Word.OPEN, "gpu"),
         Reason("slack.role.pool", {"role": "r", "action": "open", "pools": "big, gpu2", "pool": "gpu"})),
        ({"pools": []}, Wanted(Word.OPEN, "gpu"),
         Reason("slack.role.no-pool", {"role": "r", "action": "open", "pool": "gpu"})),
        ({"pools": ["big"]}, Wanted(Word.OPEN), None),
        ({"max_nodes": 2}, Wanted(Word.OPEN, "gpu", 2), None),
        ({"max_nodes": 2}, Wanted(Word.OPEN, "gpu"), None),
        ({"max_nodes": 2}, Wanted(Word.OPEN, "gpu", 3),
         Reason("slack.role.nodes", {"role": "r", "most": 2, "nodes": 3})),
        ({"longest": HOUR}, Wanted(Word.OPEN, "gpu", 1, HOUR), None),
        ({"longest": HOUR}, Wanted(Word.OPEN, "gpu", 1), None),
        ({"longest": HOUR}, Wanted(Word.OPEN, "gpu", 1, HOUR + MINUTE),
         Reason("slack.role.length", {"role": "r", "longest": HOUR, "length": HOUR + timedelta(minutes=1)})),
    ],
)  # fmt: skip
def test_a_role_lets_somebody_have_what_is_within_its_bounds(
    bounds: dict[str, Any], wanted: Wanted, no: Reason | None
) -> None:
    assert refusal(wanted, r=role(**bounds)) == no


def test_of_several_roles_one_that_allows_it_is_enough_and_else_the_nearest_gives_the_reason() -> None:
    sees, small, short = role(may=[]), role(max_nodes=1), role(longest=HOUR)
    assert refusal(Wanted(Word.OPEN, "gpu", 2, HOUR), sees=sees, small=small, short=short) is None
    assert refusal(Wanted(Word.OPEN, "gpu", 2, 2 * HOUR), sees=sees, small=small, short=short) == Reason(
        "slack.role.length", {"role": "short", "longest": HOUR, "length": 2 * HOUR}
    )


def test_whose_groups_are_not_known_is_told_so_where_groups_count() -> None:
    unknown = replace(MINJI, id="U0NEW", known=False)
    by_group = role(members=["S0CLASS"])

    assert refusal(Wanted(Word.OPEN), unknown, r=by_group) == Reason(
        "slack.role.groups-unknown", {"action": "open"}
    )
    assert refusal(Wanted(Word.OPEN), unknown, r=role()) == Reason("slack.role.none", {"action": "open"})
    assert refusal(Wanted(Word.OPEN), replace(unknown, known=True), r=by_group) == Reason(
        "slack.role.none", {"action": "open"}
    )
    assert refusal(Wanted(Word.OPEN), replace(unknown, id="U0MINJI"), r=role()) is None


@pytest.mark.parametrize(
    ("word", "may", "no"),
    [
        (Word.EXTEND, [], None),
        (Word.EXTEND, ["close"], None),
        (Word.EXTEND, ["open"], "slack.role.length"),
        (Word.EXTEND, ["open", "extend"], "slack.role.length"),
        (Word.KEEP, ["open"], None),
        (Word.CLOSE, ["open"], None),
    ],
)
def test_who_may_open_extends_their_own_within_its_length(word: Word, may: list[str], no: str | None) -> None:
    found = refusal(Wanted(word, "gpu", 1, 2 * HOUR, MINE), r=role(may=may, longest=HOUR))
    assert (found.code if found else None) == no


def test_an_allowance_is_that_of_the_widest_role_that_lets_them() -> None:
    wanted = Wanted(Word.OPEN, "gpu", 1, HOUR)
    small, wide = role(max_nodes=1), role(max_nodes=4, longest=3 * HOUR)

    def allowed(wanted: Wanted = wanted, **given: Role) -> Allowance | None:
        return roles.allowance(MINJI, wanted, given)

    assert allowed(small=small, wide=wide) == allowed(wide=wide, small=small) == Allowance(4, 3 * HOUR)
    assert allowed(small=small, free=role(longest=2 * HOUR), wide=wide) == Allowance(None, 2 * HOUR)
    assert allowed(a=role(max_nodes=4, longest=HOUR), b=role(max_nodes=4), wide=wide) == Allowance(4, None)
    assert allowed(wide=role(members=["U0JIN"])) == Allowance(0, timedelta())
    assert allowed(replace(wanted, nodes=2), small=small) == Allowance(0, timedelta())
    assert allowed(Wanted(Word.CLOSE, "gpu", lease=MINE), wide=wide) is None
    assert allowed(Wanted(Word.EXTEND, "gpu", 1, HOUR, MINE), wide=wide) == Allowance(4, 3 * HOUR)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("minji", "minji (U0MINJI)"),
        ("", "somebody (U0MINJI)"),
        ("  (<*>)  ", "somebody (U0MINJI)"),
        ("a\nb  <c>", "a b c (U0MINJI)"),
        ("x" * 41, f"{'x' * 40} (U0MINJI)"),
        (f"{'x' * 39} y", f"{'x' * 39} (U0MINJI)"),
    ],
)
def test_an_owner_is_written_by_name_and_id(name: str, written: str) -> None:
    assert Person("U0MINJI", name).written == written
