"""Exact money: sums, order, rounding, the form in the ledger, node time and the periods of a budget."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from lamplighter.domain.money.money import Money, cost, cost_of, period_of
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.price import Price, Source, best, known_price
from lamplighter.lab.model import Lab
from lamplighter.reasons.fields import from_document, to_document
from lamplighter.values.zones import zone
from tests.builders.leases import HOUR

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
TINY = timedelta(microseconds=1)


def usd(amount: str | int | Fraction) -> Money:
    return Money.of(amount, "USD")


def test_money_adds_subtracts_and_compares_exactly() -> None:
    one, two = usd("0.1"), usd("0.2")

    assert (one + two, two - one, one - two) == (usd("0.3"), usd("0.1"), usd("-0.1"))
    assert [(a < b, a <= b, a > b, a >= b) for a, b in ((one, two), (one, one), (two, one))] == [
        (True, True, False, False),
        (False, True, False, True),
        (False, False, True, True),
    ]
    assert Money.zero("EUR") == Money(Fraction(0), "EUR")


def test_two_currencies_are_never_added_or_compared() -> None:
    for reckon in (Money.__add__, Money.__sub__, Money.__lt__, Money.__le__, Money.__gt__, Money.__ge__):
        with pytest.raises(ValueError, match="USD and EUR cannot be added or compared"):
            reckon(usd(1), Money.of(1, "EUR"))


@pytest.mark.parametrize(
    ("amount", "cents", "shown"),
    [
        ("0", "0.00", "0.0000"),
        ("1/3", "0.33", "0.3333"),
        ("2/3", "0.67", "0.6667"),
        ("0.005", "0.01", "0.0050"),
        ("0.0049", "0.00", "0.0049"),
        # Rounded once: the exact amount is below the half.
        ("0.00499999", "0.00", "0.0050"),
        ("-0.005", "-0.01", "-0.0050"),
        ("-0.004", "0.00", "-0.0040"),
        ("-7/3", "-2.33", "-2.3333"),
        ("123456789.12345", "123456789.12", "123456789.1235"),
    ],
)
def test_an_amount_is_rounded_half_away_from_zero_once(amount: str, cents: str, shown: str) -> None:
    assert f"{usd(amount).rounded(2):f}" == cents
    assert f"{usd(amount).rounded():f}" == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0", "0.00"), ("2.4141", "2.41"), ("0.005", "0.01"), ("0.0049", "0.0049"), ("-0.004", "-0.0040")],
)
def test_people_read_two_places_and_more_of_what_would_be_nothing(amount: str, shown: str) -> None:
    assert str(usd(amount)) == f"{shown} USD"


@pytest.mark.parametrize(
    ("amount", "document"),
    [
        ("1.5", {"amount": "1.5000", "currency": "USD"}),
        ("0.0001", {"amount": "0.0001", "currency": "USD"}),
        ("0.00005", {"amount": "0.0001", "currency": "USD", "exact": "1/20000"}),
        ("1/3", {"amount": "0.3333", "currency": "USD", "exact": "1/3"}),
    ],
)
def test_the_ledger_keeps_an_amount_exactly(amount: str, document: dict[str, object]) -> None:
    assert usd(amount).to_json() == document
    assert Money.from_json(document) == usd(amount)


@pytest.mark.parametrize(
    ("nodes", "length", "amount"),
    [
        (1, HOUR, "1.237"),
        (3, HOUR, "3.711"),
        (2, timedelta(minutes=30), "1.237"),
        (1, timedelta(seconds=1), "1237/3600000"),
        (1, TINY, "1237/3600000000000"),
        (1, timedelta(days=1), "29.688"),
        (0, HOUR, "0"),
    ],
)
def test_nodes_cost_their_seconds_times_the_price(nodes: int, length: timedelta, amount: str) -> None:
    assert cost(nodes, length, Decimal("1.237"), "USD") == usd(amount)
    assert cost_of(nodes * length, Decimal("1.237"), "USD") == usd(amount)


def test_node_time_adds_up_and_comes_back_exactly() -> None:
    ran = NodeTime.at(2 * HOUR, Decimal(1), "USD") + NodeTime.at(HOUR + TINY, Decimal(2), "USD")

    assert ran == NodeTime(3 * HOUR + TINY, usd(4) + usd(Fraction(2, 3_600_000_000)))
    assert ran.seconds == 10_800
    assert ran.to_json()["node_microseconds"] == 10_800_000_001
    assert NodeTime.from_json(ran.to_json()) == ran
    assert NodeTime.nothing("USD") == NodeTime(timedelta(), usd(0))


@pytest.mark.parametrize(
    ("at", "period", "key", "begins", "ends"),
    [
        # Seoul is nine hours ahead: its day begins at 15:00 UTC.
        ("2026-11-20T14:59:59", "day", "2026-11-20", "2026-11-19T15", "2026-11-20T15"),
        ("2026-11-20T15:00:00", "day", "2026-11-21", "2026-11-20T15", "2026-11-21T15"),
        ("2026-11-22T14:59:59", "week", "2026-W47", "2026-11-15T15", "2026-11-22T15"),
        ("2026-11-22T15:00:00", "week", "2026-W48", "2026-11-22T15", "2026-11-29T15"),
        ("2027-01-01T00:00:00", "week", "2026-W53", "2026-12-27T15", "2027-01-03T15"),
        ("2027-01-04T00:00:00", "week", "2027-W01", "2027-01-03T15", "2027-01-10T15"),
        ("2026-11-30T14:59:59", "month", "2026-11", "2026-10-31T15", "2026-11-30T15"),
        ("2026-11-30T15:00:00", "month", "2026-12", "2026-11-30T15", "2026-12-31T15"),
        ("2028-02-10T00:00:00", "month", "2028-02", "2028-01-31T15", "2028-02-29T15"),
    ],
)
def test_a_period_ends_at_midnight_of_the_lab(at: str, period: str, key: str, begins: str, ends: str) -> None:
    found = period_of(datetime.fromisoformat(f"{at}+00:00"), period, zone("Asia/Seoul"))
    edges = (f"{found.begins:%Y-%m-%dT%H}", f"{found.ends:%Y-%m-%dT%H}")
    assert (found.key, *edges) == (key, begins, ends)


def test_no_other_period_is_known() -> None:
    with pytest.raises(ValueError, match="a budget is for a day, a week or a month, not for a year"):
        period_of(NOW, "year", zone("UTC"))


def price(source: Source, age: timedelta | None, per_hour: str = "1.50") -> Price:
    return Price(Decimal(per_hour), "USD", source, None if age is None else NOW - age)


@pytest.mark.parametrize(
    ("age", "due", "said"),
    [
        (None, True, "at an unknown time"),
        (-HOUR, False, "less than an hour ago"),
        (HOUR - TINY, False, "less than an hour ago"),
        (HOUR, False, "1 hour ago"),
        (24 * HOUR - TINY, False, "23 hours ago"),
        (24 * HOUR, True, "24 hours ago"),
        (48 * HOUR - TINY, True, "47 hours ago"),
        (48 * HOUR, True, "2 days ago"),
        (720 * HOUR, True, "30 days ago"),
    ],
)
def test_a_price_has_an_age_and_is_due_after_a_day(age: timedelta | None, said: str, *, due: bool) -> None:
    listed, table = price(Source.PRICE_LIST, age), price(Source.TABLE, age)

    assert listed.is_due(NOW) is due
    assert str(listed.reason(NOW)) == f"1.50 USD an hour, from AWS's price list {said}"
    assert str(table.reason(NOW)) == f"1.50 USD an hour, from the table shipped with Lamplighter, {said}"
    assert str(price(Source.LAB, age).reason(NOW)) == "1.50 USD an hour, as the lab states"


def test_a_price_is_kept_as_written() -> None:
    assert to_document(price(Source.PRICE_LIST, HOUR)) == {
        "per_hour": "1.50",
        "currency": "USD",
        "source": "price-list",
        "at": "2026-11-20T19:00:00Z",
    }
    for kept in (price(Source.PRICE_LIST, HOUR), price(Source.LAB, None)):
        assert from_document(Price, to_document(kept)) == kept


def test_of_two_prices_the_fresher_counts_and_one_with_an_instant_before_one_without() -> None:
    fresh, old, undated = (price(Source.TABLE, age) for age in (HOUR, 2 * HOUR, None))

    assert best(None, old, fresh) == best(None, fresh, old) == fresh
    assert best(None, undated, old) == best(None, old, undated) == old
    assert best(None, undated, None) == undated
    assert best(undated, fresh, fresh) == undated


def test_what_was_listed_in_another_currency_does_not_count() -> None:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"instance_type": "x9.none"}}})
    listed = price(Source.PRICE_LIST, HOUR)
    assert known_price(lab, "gpu", listed) == listed
    assert known_price(lab, "gpu", Price(Decimal(2), "EUR", Source.PRICE_LIST, NOW)) is None
