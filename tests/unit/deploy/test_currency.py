"""A deploy that changes the currency of the budget, and the answers that go to CloudFormation alone."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.application.deploy.currency import refuse_another
from lamplighter.application.deploy.response import is_of_cloudformation
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.errors import Refused
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto

MONTH = {"Period": "month", "TimeZone": "Asia/Seoul"}
DOLLARS, EUROS = {"Currency": "USD", **MONTH}, {"Currency": "EUR", **MONTH}
BUCKET = "cloudformation-custom-resource-response"


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        monkeypatch.setenv("LEDGER_TABLE", LEDGER)
        yield made


def test_a_currency_is_changed_only_where_nothing_of_the_period_is_in_another(lab: LabOnMoto) -> None:
    refuse_another(["gpu"], EUROS, DOLLARS)
    lab.lease()
    with pytest.raises(
        Refused, match=r"guard.budget.currency: is EUR, and alice's lease .* is paid for in USD"
    ):
        refuse_another(["gpu"], EUROS, DOLLARS)
    refuse_another(["gpu"], DOLLARS)


def test_what_was_spent_in_the_period_keeps_its_currency(lab: LabOnMoto) -> None:
    ledger = lab.capacity.ledger
    ledger.charge(
        Charge("gpu", EIGHT, NodeTime(timedelta(hours=2), Money.of(3, "USD"))),
        [],
        pool=ledger.pool("gpu"),
        budget=ledger.budget("2026-11", "USD"),
        why=None,
    )
    with pytest.raises(
        Refused, match=r"3.00 USD of the month 2026-11 is held or spent; deploy the change after"
    ):
        refuse_another(["gpu"], EUROS)


@pytest.mark.parametrize(("region", "url", "its_own"), [
    ("ap-northeast-2", f"https://{BUCKET}-apnortheast2.s3.ap-northeast-2.amazonaws.com/arn%3Aaws?X=1", True),
    ("us-east-1", f"https://{BUCKET}-useast1.s3.amazonaws.com/x", True),
    ("us-east-2", f"https://{BUCKET}-useast2.s3-us-east-2.amazonaws.com/x", True),
    ("cn-north-1", f"https://{BUCKET}-cnnorth1.s3.cn-north-1.amazonaws.com.cn/x", True),
    ("us-east-1", f"http://{BUCKET}-useast1.s3.amazonaws.com/x", False),
    ("us-east-1", f"https://{BUCKET}-useast1.s3.amazonaws.com:8443/x", False),
    ("us-east-1", f"https://{BUCKET}-useast1.s3.amazonaws.com.evil.example/x", False),
    ("us-east-1", f"https://{BUCKET}-evil1.s3.amazonaws.com/x", False),
    ("us-east-1", f"https://{BUCKET}-useast2.s3.us-east-2.amazonaws.com/x", False),
    ("us-east-1", f"https://evil.example/{BUCKET}-useast1.s3.amazonaws.com", False),
    ("us-east-1", f"https://me@{BUCKET}-useast1.s3.amazonaws.com/x", False),
    ("us-east-1", "https://my-bucket.s3.amazonaws.com/x", False),
    ("us-east-1", "file:///etc/passwd", False),
])  # fmt: skip
def test_answers_go_to_cloudformation_alone(
    region: str, url: str, its_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL_CLOUDFORMATION", raising=False)
    monkeypatch.setenv("AWS_REGION", region)
    assert is_of_cloudformation(url) is its_own
