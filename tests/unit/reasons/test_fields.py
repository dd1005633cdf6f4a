"""A dataclass is kept as a document by the types of its fields, and read back the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

import pytest

from lamplighter.domain.money.money import Money
from lamplighter.reasons.fields import KEY, SHOWN, Form, from_document, from_odd_document, to_document
from lamplighter.reasons.reason import Said, reason

AT = datetime(2026, 11, 20, 20, tzinfo=UTC)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    number: int


@dataclass(frozen=True)
class Record:
    name: str
    colour: Colour
    at: datetime
    day: date
    length: timedelta
    price: Decimal
    cost: Money
    inner: Inner
    why: Said
    needed: str | None
    flag: bool = False
    words: Said | None = None
    names: tuple[str, ...] = ()
    pairs: tuple[tuple[datetime, int], ...] = ()
    document: Mapping[str, object] | None = None


RECORD = Record(
    name="a", colour=Colour.RED, at=AT, day=AT.date(), length=timedelta(minutes=90),
    price=Decimal("1.50"), cost=Money.of(2, "USD"), inner=Inner(3),
    why=reason("lease.of-owner", owner="alice"), needed=None,
)  # fmt: skip
FULL = Record(
    **{
        **vars(RECORD), "needed": "yes", "flag": True, "words": "because", "names": ("x", "y"),
        "pairs": ((AT, 1),), "document": {"a": [1]},
    }
)  # fmt: skip


@pytest.mark.parametrize("record", [RECORD, FULL])
def test_a_record_is_read_back_as_it_was(record: Record) -> None:
    assert from_document(Record, to_document(record)) == record


def test_the_document_has_a_key_for_each_field_and_null_for_nothing() -> None:
    assert to_document(RECORD) == {
        "name": "a",
        "colour": "red",
        "at": "2026-11-20T20:00:00Z",
        "day": "2026-11-20",
        "length": 5400,
        "price": "1.50",
        "cost": {"amount": "2.0000", "currency": "USD"},
        "inner": {"number": 3},
        "why": {"code": "lease.of-owner", "values": {"owner": "alice"}},
        "needed": None,
        "flag": False,
        "words": None,
        "names": None,
        "pairs": None,
        "document": None,
    }


def test_fields_that_are_left_out_have_their_default_and_unknown_keys_are_ignored() -> None:
    kept = {name: value for name, value in to_document(RECORD).items() if value is not None}
    assert from_document(Record, kept | {"later": 1}) == RECORD


def test_a_field_that_is_missing_or_of_another_type_is_an_error() -> None:
    with pytest.raises(KeyError, match="number"):
        from_document(Inner, {})
    with pytest.raises(ValueError, match="three"):
        from_document(Inner, {"number": "three"})
    with pytest.raises(TypeError, match="4 is no Inner"):
        from_document(Record, to_document(RECORD) | {"inner": 4})


def test_instants_are_written_as_the_caller_asks() -> None:
    assert to_document(RECORD, Form(write_instant=lambda at: f"{at:%H:%M}"))["at"] == "20:00"


@dataclass(frozen=True)
class Renamed:
    name: str
    length: timedelta | None = field(default=None, metadata={KEY: "seconds"})
    names: tuple[str, ...] = ()
    more: Mapping[str, object] = field(default_factory=dict)
    why: Said = ""

    @property
    def first(self) -> str:
        return self.names[0]


def test_a_field_may_have_another_key_in_the_document() -> None:
    kept = to_document(Renamed("a", timedelta(minutes=1)))
    assert (kept["seconds"], "length" in kept) == (60, False)
    assert from_document(Renamed, kept | {"more": {}}) == Renamed("a", timedelta(minutes=1))


def test_what_is_shown_has_reasons_in_english_and_lists() -> None:
    shown = to_document(Renamed("a", why=reason("lease.of-owner", owner="alice")), SHOWN)
    assert (shown["why"], shown["names"]) == (str(reason("lease.of-owner", owner="alice")), [])


def test_a_document_of_some_fields_and_properties_has_only_these() -> None:
    assert to_document(Renamed("a", names=("x", "y")), names=("first", "name")) == {"first": "x", "name": "a"}


@pytest.mark.parametrize(
    "odd", [{"seconds": "soon"}, {"names": "x"}, {"names": None}, {"more": [1]}, {"more": ""}]
)
def test_an_odd_value_is_read_as_the_default(odd: dict[str, object]) -> None:
    assert from_odd_document(Renamed, {"name": "a", **odd}) == Renamed("a")


def test_nothing_of_a_field_that_may_be_none_is_a_value() -> None:
    assert from_odd_document(Renamed, {"name": "a", "seconds": 0}) == Renamed("a", timedelta())


def test_a_field_without_a_default_must_be_readable_in_an_odd_document_too() -> None:
    with pytest.raises(KeyError, match="name"):
        from_odd_document(Renamed, "odd")
    with pytest.raises(ValueError, match="three"):
        from_odd_document(Inner, {"number": "three"})
