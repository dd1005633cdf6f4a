"""Who may do what: everybody may look, nobody opens without a role, an owner extends and closes their own leases."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import Person, id_in
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted, groups_named, owns
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.lab.channels import Role
from lamplighter.reasons.reason import in_english

HOUR = timedelta(hours=1)
EIGHT = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
JIN, MINJI = Person("U0JIN", "jin"), Person("U0MINJI", "minji")
ROLES = {
    "instructors": Role(members=["U0JIN", "S0TEACH"], may=["open", "extend", "close", "skip", "pause"]),
    "students": Role(
        members=["S0CLASS"], may=["open", "extend"], pools=["gpu"], max_nodes=1, longest=2 * HOUR
    ),
}
STUDENT = Person("U0KIM", "kim", frozenset({"S0CLASS"}))


def refusal(person: Person, wants: Wanted, given: Mapping[str, Role]) -> str | None:
    """Why they may not, in words."""
    no = roles.refusal(person, wants, given)
    return in_english(no) if no else None


def lease(owner: str) -> Lease:
    return Lease(
        "slack-1", "gpu", 1, owner, "slack", LeaseState.OPEN, EIGHT, EIGHT + HOUR, Money.of(1, "USD")
    )


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


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"nodes": 1, "length": 2 * HOUR}, None),
        ({"nodes": 2, "length": HOUR}, "the role students may have 1 node at once, and this would make 2"),
        ({"nodes": 1, "length": 3 * HOUR}, "the role students may have nodes for 2h, and this would be 3h"),
    ],
)
def test_a_role_bounds_nodes_and_time(more: dict[str, object], says: str | None) -> None:
    assert refusal(STUDENT, wanted(Word.OPEN, None, **more), ROLES) == says


def test_a_role_bounds_the_pools() -> None:
    why = refusal(STUDENT, Wanted(Word.OPEN, "big", 1, HOUR), ROLES)
    assert why == "the role students may open on gpu, not on big"


def test_a_role_may_be_on_no_pool_and_only_see() -> None:
    nowhere = {"guests": Role(members=["U0KIM"], may=["open"], pools=[])}
    only_sees = {"guests": Role(members=["U0KIM"], may=[])}
    assert (
        refusal(STUDENT, wanted(Word.OPEN), nowhere)
        == "the role guests may open on no pool, so not on gpu either"
    )
    assert refusal(STUDENT, wanted(Word.OPEN), only_sees) == "the role guests may only look, not open"


def test_a_role_bounds_what_may_be_done() -> None:
    why = refusal(STUDENT, wanted(Word.CLOSE, "evening-class"), ROLES)
    assert why == "the role students may open, extend, but not close"


def test_an_owner_who_may_open_extends_their_own_within_the_same_time() -> None:
    assert refusal(STUDENT, wanted(Word.EXTEND, STUDENT.written, length=2 * HOUR), ROLES) is None
    assert refusal(STUDENT, wanted(Word.EXTEND, STUDENT.written, length=3 * HOUR), ROLES) is not None


def test_of_several_roles_one_that_allows_is_enough() -> None:
    both = Person("U0JIN", "jin", frozenset({"S0CLASS"}))
    assert refusal(both, wanted(Word.OPEN, nodes=2, length=8 * HOUR), ROLES) is None


def test_where_slack_does_not_answer_groups_give_no_right_and_that_is_said() -> None:
    unknown = Person("U0KIM", "kim", known=False)
    assert "did not say in time" in (refusal(unknown, wanted(Word.OPEN, nodes=1, length=HOUR), ROLES) or "")
    assert refusal(Person("U0JIN", "jin", known=False), wanted(Word.OPEN), ROLES) is None


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
