"""A Spot node is paid at EC2's price of each second, and where that is not known, at the price of its grant."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.capacity.spot_prices import DEAREST, LONGEST, MOST_PAGES, SpotPrices
from lamplighter.domain.billing.metering import Grant, NodeLife, meter
from lamplighter.domain.billing.receipt import node_lives, purchase
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money.spot import Rate, Rates, SpotType, rate_at
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, HOUR, MINUTE, lease

CHEAP, DEAR = Decimal("0.4"), Decimal("0.6")
RATES = (Rate(EIGHT - HOUR, CHEAP), Rate(EIGHT + 30 * MINUTE, DEAR))
TERMS = terms(Lab(name="lab"), "gpu")
EVENING = Grant("evening", 1, EIGHT, EIGHT + HOUR, types=("g5.xlarge",))


def node(name: str = "i-1", rates: Rates = RATES, **changes: object) -> NodeLife:
    life = NodeLife(name, EIGHT, EIGHT + HOUR, type="g5.xlarge", zone="a", rates=rates)
    return replace(life, **changes)  # type: ignore[arg-type]


def cost(*nodes: NodeLife, grant: Grant = EVENING) -> Fraction:
    metered = meter(nodes, [grant], EIGHT, EIGHT + 2 * HOUR)
    assert metered.total == sum(((one.ended or EIGHT) - one.started for one in nodes), timedelta())
    return TERMS.paid(metered.of_leases["evening"]).cost.amount


def test_a_price_that_changes_in_the_middle_of_an_hour_counts_from_its_second_on() -> None:
    assert cost(node()) == Fraction(CHEAP) / 2 + Fraction(DEAR) / 2

    second = Rate(EIGHT + timedelta(seconds=1), DEAR)
    assert cost(node(rates=(RATES[0], second))) == (Fraction(CHEAP) + 3599 * Fraction(DEAR)) / 3600


def test_every_node_has_the_price_of_its_own_zone() -> None:
    other = node("i-2", (Rate(EIGHT - HOUR, DEAR),), zone="c")

    assert cost(node(), other, grant=replace(EVENING, nodes=2)) == Fraction(1, 2) + Fraction(DEAR)


def test_a_node_without_a_known_price_costs_what_is_held_for_it() -> None:
    on_demand = Fraction(TERMS.price_per_hour)

    assert cost(node(rates=())) == on_demand
    assert cost(node(rates=RATES[1:])) == on_demand / 2 + Fraction(DEAR) / 2
    assert cost(node(rates=(Rate(EIGHT, Decimal(50)),))) == on_demand, "never more than was held"


def test_a_price_counts_from_its_own_instant() -> None:
    assert rate_at(RATES, RATES[1].since) == RATES[1]
    assert rate_at(RATES, RATES[1].since - timedelta(microseconds=1)) == RATES[0]
    assert rate_at(RATES, RATES[0].since - timedelta(microseconds=1)) is None


def test_the_receipt_names_the_purchase_and_the_prices_of_each_node() -> None:
    evening = lease(closes=60)

    (row,) = node_lives(evening, [node()])

    assert row["spot_prices"] == [
        {"from": "2026-11-20T19:00:00Z", "per_hour": "0.4"},
        {"from": "2026-11-20T20:30:00Z", "per_hour": "0.6"},
    ]
    assert purchase(evening, [node()]) == {
        "buy": "spot", "currency": "USD", "lowest": "0.4", "highest": "0.6", "on_demand_where_unknown": False,
    }  # fmt: skip
    assert purchase(evening, [node(rates=())])["on_demand_where_unknown"] is True


def test_the_account_of_a_type_keeps_each_price_apart() -> None:
    metered = meter([node()], [EVENING], EIGHT, EIGHT + HOUR)

    assert metered.of_leases["evening"] == {
        SpotType("g5.xlarge", CHEAP): 30 * MINUTE,
        SpotType("g5.xlarge", DEAR): 30 * MINUTE,
    }


# --- EC2's answer ---------------------------------------------------------------------------------


def change(price: str, at: datetime = EIGHT, **other: str) -> dict[str, object]:
    return {"InstanceType": "g5.xlarge", "AvailabilityZone": "a", "SpotPrice": price, "Timestamp": at} | other


def answered(*pages: list[dict[str, object]]) -> Rates:
    ec2 = boto3.client("ec2", "ap-northeast-2", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(ec2) as stub:
        for number, page in enumerate(pages, 1):
            token = {"NextToken": f"page{number}"} if number < len(pages) else {}
            stub.add_response("describe_spot_price_history", {"SpotPriceHistory": page, **token})
        return SpotPrices(ec2).of("g5.xlarge", "a", EIGHT, EIGHT + HOUR)


def test_every_page_of_the_history_is_read_and_put_in_order() -> None:
    newest_first = [[change("0.6", EIGHT + 30 * MINUTE)], [], [change("0.400000", EIGHT - HOUR)]]

    assert answered(*newest_first) == RATES


def test_prices_of_other_types_and_zones_count_for_nothing() -> None:
    assert answered([change("9", AvailabilityZone="c"), change("9", InstanceType="g6.xlarge")]) == ()


@pytest.mark.parametrize(
    "price",
    [
        "",
        "-1",
        "NaN",
        "Infinity",
        "1e400",
        "1E-99999",
        " 1 ",
        "1_0",
        "\u0669",
        "0" * (LONGEST + 1),
        str(DEAREST + 1),
        "x",
    ],
)
def test_an_odd_price_is_no_price(price: str) -> None:
    with pytest.raises(OutsideFailed):
        answered([change(price)])


def test_pages_that_never_end_are_no_answer() -> None:
    with pytest.raises(OutsideFailed):
        answered(*([[]] * (MOST_PAGES + 1)))
