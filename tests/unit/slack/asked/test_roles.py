"""Who may do what: everybody may look, nobody opens without a role, an owner extends and closes their own leases."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.people.person import Person, id_in
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted, groups_named, owns
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.lab.channels import Role
from lamplighter.reasons.reason import in_english
from tests.builders.leases import persons

HOUR = timedelta(hours=1)
JIN, MINJI = Person("U0JIN", "jin"), Person("U0MINJI", "minji")
ROLES = {
    "instructors": Role(members=["U0JIN", "S0TEACH"], may=["open", "extend", "close", "skip", "pause"]),
    "students": Role(
        members=["S0CLASS"], may=["open", "extend"], pools=["gpu"], max_nodes=1, longest=2 * HOUR
    ),
}


def refusal(person: Person, wants: Wanted, given: Mapping[str, Role]) -> str | None:
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
    assert "no role in this lab" in (refusal(JIN, wanted(word, "evening-class"), {}) or "")


@pytest.mark.parametrize("word", CHANGES)
def test_who_is_in_a_role_that_may_does(word: Word) -> None:
    assert refusal(JIN, wanted(word, "evening-class"), ROLES) is None
    by_group = Person("U0NEW", "new", frozenset({"S0TEACH"}))
    assert refusal(by_group, wanted(word, "evening-class"), ROLES) is None


@pytest.mark.parametrize("word", [Word.EXTEND, Word.KEEP, Word.CLOSE])
def test_an_owner_may_extend_and_close_their_own_without_any_role(word: Word) -> None:
    assert refusal(MINJI, wanted(word, MINJI.written, length=HOUR), ROLES) is None
    assert refusal(MINJI, wanted(word, JIN.written, length=HOUR), ROLES) is not None
    assert refusal(MINJI, wanted(Word.OPEN, MINJI.written), ROLES) is not None


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
