"""The price of a node: from the lab file, AWS's price list with its age, or the shipped table; else a refusal."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.price_list import PriceList
from lamplighter.application.capacity.prices import known, refresh
from lamplighter.application.leases.granting import admitted
from lamplighter.domain.commands.command import Command
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.price import Price, Source, known_price
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto

FILTERS = {
    "regionCode": "ap-northeast-2",
    "instanceType": "g5.xlarge",
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
ASKED = {
    "ServiceCode": "AmazonEC2",
    "Filters": [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in FILTERS.items()],
    "FormatVersion": "aws_v1",
    "MaxResults": 100,
}


def product(*prices: str, unit: str = "Hrs") -> str:
    """A product as GetProducts writes it, as text."""
    dimensions = {f"d{n}": {"unit": unit, "pricePerUnit": {"USD": price}} for n, price in enumerate(prices)}
    return json.dumps({"product": {}, "terms": {"OnDemand": {"t": {"priceDimensions": dimensions}}}})


FEE = {
    "ServiceCode": "AmazonEKS",
    "Filters": [
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "ap-northeast-2"},
        {"Type": "CONTAINS", "Field": "usagetype", "Value": "EKS-Auto:g5.xlarge-management-hours"},
    ],
    "FormatVersion": "aws_v1",
    "MaxResults": 100,
}


def answering(*products: str, asked: Mapping[str, object] = ASKED) -> PriceList:
    client = boto3.client(
        "pricing", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    stub = Stubber(client)
    stub.add_response("get_products", {"FormatVersion": "aws_v1", "PriceList": list(products)}, asked)
    stub.activate()
    return PriceList(client)


@dataclass
class Listed:
    """A price list that says this, and counts how often it is asked."""

    price: Decimal | Exception | None
    asked: list[tuple[str, str]] = field(default_factory=list)
    fee: Decimal | None = None

    def on_demand(self, region: str, instance_type: str) -> Decimal | None:
        self.asked.append((region, instance_type))
        if isinstance(self.price, Exception):
            raise self.price
        return self.price

    def auto_mode_fee(self, region: str, instance_type: str) -> Decimal | None:
        self.asked.append((region, f"fee of {instance_type}"))
        return self.fee


def test_the_nodes_of_a_capacity_block_are_prepaid_whatever_the_lists_say() -> None:
    block = {"buy": "reserved", "reservation": "cr-0123456789abcdef0", "reservation_type": "capacity-block"}
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"instance_type": "p5.48xlarge", **block}}})

    price = known_price(lab, "gpu", None)

    assert price is not None
    assert (price.per_hour, price.source) == (Decimal(0), Source.PREPAID)
    assert str(price.reason(EIGHT)).startswith("prepaid")


def test_the_price_list_is_asked_for_an_ordinary_linux_instance() -> None:
    assert answering(product("1.2370000000")).on_demand("ap-northeast-2", "g5.xlarge") == Decimal("1.237")


def test_the_dearest_of_several_counts_and_nothing_is_free() -> None:
    prices = answering(product("0.0000000000", "1.1"), product("1.3"), product("9", unit="Quantity"))
    assert prices.on_demand("ap-northeast-2", "g5.xlarge") == Decimal("1.3")


@pytest.mark.parametrize("unit", ["Hrs", "Hours"])
def test_the_price_list_is_asked_for_the_fee_of_auto_mode(unit: str) -> None:
    answer = answering(product("0.0964900000", unit=unit), asked=FEE)
    assert answer.auto_mode_fee("ap-northeast-2", "g5.xlarge") == Decimal("0.09649")


def test_a_list_without_the_type_has_no_price() -> None:
    assert answering().on_demand("ap-northeast-2", "g5.xlarge") is None


@pytest.mark.parametrize("answer", ["no json", "[]", '{"product": {}}', product("dear")])
def test_an_answer_in_another_form_is_the_outside_failing(answer: str) -> None:
    with pytest.raises(OutsideFailed, match="in an unknown form"):
        answering(answer).on_demand("ap-northeast-2", "g5.xlarge")


def test_a_price_is_asked_for_once_a_day_and_kept_with_its_instant(lab: LabOnMoto) -> None:
    listed: Any = Listed(Decimal("1.5"))
    ledger, plan = lab.capacity.ledger, lab.capacity.lab
    for hours in (0, 1, 23, 24, 25):
        refresh(plan, "gpu", ledger, listed, EIGHT + timedelta(hours=hours))

    assert listed.asked == [("ap-northeast-2", "g5.xlarge")] * 2
    at = EIGHT + timedelta(hours=24)
    assert ledger.price("ap-northeast-2", "g5.xlarge") == Price(Decimal("1.5"), "USD", Source.PRICE_LIST, at)
    assert lab.guard_services.lease_services.terms("gpu").price_per_hour == Decimal("1.5")
    [said] = [entry for entry in ledger.audit("gpu", EIGHT) if entry.kind == "priced"]
    assert str(said.what) == "a node of pool gpu costs 1.5 USD an hour, 1.237 USD before"


def test_without_an_answer_the_last_price_stays_however_old(lab: LabOnMoto) -> None:
    ledger, plan = lab.capacity.ledger, lab.capacity.lab
    answered = refresh(plan, "gpu", ledger, _as_list(Listed(Decimal("1.5"))), EIGHT)
    later = EIGHT + timedelta(days=40)
    silent = refresh(plan, "gpu", ledger, _as_list(Listed(OutsideFailed("no answer"))), later)

    price = known(plan, "gpu", ledger)

    assert (answered, silent) == (True, False)
    assert price is not None
    assert str(price.reason(later)) == "1.5 USD an hour, from AWS's price list 40 days ago"


def test_a_stated_price_and_another_currency_ask_nobody(lab: LabOnMoto) -> None:
    listed = Listed(Decimal(1))
    stated = Lab.model_validate({"name": "x", "pools": {"gpu": {"price_per_hour": "2"}}})
    euros = Lab.model_validate({"name": "x", "guard": {"budget": {"currency": "EUR"}}})
    for each in (stated, euros):
        refresh(each, "gpu", lab.capacity.ledger, _as_list(listed), EIGHT)

    assert listed.asked == []
    assert known(euros, "gpu", lab.capacity.ledger) is None


AUTO_MODE = Lab.model_validate(
    {"name": "lab", "cluster": {"auto_mode": {}}, "pools": {"gpu": {"kind": "auto-mode"}, "groups": {}}}
)


def test_a_node_of_auto_mode_has_a_price_of_its_own_with_the_fee(lab: LabOnMoto) -> None:
    ledger = lab.capacity.ledger
    listed = Listed(Decimal("1.5"), fee=Decimal("0.1"))

    for pool in AUTO_MODE.pools:
        assert refresh(AUTO_MODE, pool, ledger, _as_list(listed), EIGHT)

    assert [each for _, each in listed.asked] == ["g5.xlarge", "fee of g5.xlarge", "g5.xlarge"]
    prices = {pool: known(AUTO_MODE, pool, ledger) for pool in AUTO_MODE.pools}
    assert {pool: price.per_hour for pool, price in prices.items() if price} == {
        "gpu": Decimal("1.6"),
        "groups": Decimal("1.5"),
    }
    [said] = [entry for entry in ledger.audit("gpu", EIGHT) if entry.kind == "priced"]
    assert str(said.what) == "a node of pool gpu costs 1.6 USD an hour, 1.33349 USD before"
    assert "with the fee of EKS Auto Mode" in str(said.why)


def test_a_price_without_its_fee_is_none(lab: LabOnMoto) -> None:
    refresh(AUTO_MODE, "gpu", lab.capacity.ledger, _as_list(Listed(Decimal("1.5"))), EIGHT)
    price = known(AUTO_MODE, "gpu", lab.capacity.ledger)
    assert price is not None
    assert (price.per_hour, price.source) == (Decimal("1.33349"), Source.TABLE)


def _as_list(listed: Listed) -> Any:
    return listed


def test_a_price_that_nobody_knows_refuses_admission_until_the_lab_states_one(lab: LabOnMoto) -> None:
    lease_services = lab.guard_services.lease_services
    euros = {"name": "lab", "guard": {"budget": {"amount": "50", "currency": "EUR"}}}
    command = Command.from_json(lab.command(lease=None, for_seconds=3600))
    unknown = replace(
        lease_services, capacity=replace(lease_services.capacity, lab=Lab.model_validate(euros))
    )
    stated = Lab.model_validate({**euros, "pools": {"gpu": {"price_per_hour": "1.10"}}})
    known_ = replace(lease_services, capacity=replace(lease_services.capacity, lab=stated))

    refused = admitted(command, unknown)
    granted = admitted(replace(command, id="open-2"), known_)

    assert refused["outcome"] == "refused"
    assert str(refused["reason"]).startswith("pools.gpu.price_per_hour: no price of g5.xlarge is known")
    assert granted["outcome"] == "granted"
    assert lab.capacity.ledger.budget("2026-11", "EUR").held == Money.of("1.10", "EUR")
