"""`lamplighter blocks` against the embedded EC2: what is offered for a pool or a window, and one purchase, ever."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from botocore.client import BaseClient
from botocore.exceptions import ReadTimeoutError
from typer.testing import CliRunner, Result

from cli.blocks import blocks
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.errors import OutsideFailed, Refused
from local.aws.ec2.reservations import CapacityReservation, Offering

LAB = """
name: gpu-lab
region: ap-northeast-2
time_zone: Asia/Seoul
guard:
  budget: {amount: "9000"}
pools:
  big:
    instance_type: p5.48xlarge
    max_nodes: 2
    price_per_hour: "60.00"
windows:
  - {name: exam, pool: big, dates: [DATE], start: "10:00", end: "16:00"}
"""
HOUR = timedelta(hours=1)
Offer = Callable[..., Offering]


@pytest.fixture
def noon(aws: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> datetime:
    """Noon in Seoul, three days ahead of the cloud's clock. The lab of the folder has an exam two days later."""
    for name, value in aws.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    soon = aws.clock.now().replace(hour=3, minute=0, second=0, microsecond=0) + timedelta(days=3)
    Path("lab.yaml").write_text(LAB.replace("DATE", f"{soon + timedelta(days=2):%Y-%m-%d}"), "utf-8")
    return soon


@pytest.fixture
def reservations(aws: Any) -> Any:
    return aws.embedded.moto_additions.reservations


@pytest.fixture
def offer(reservations: Any, noon: datetime) -> Offer:
    """Has AWS sell a block: of 24 hours from noon for the whole pool unless said otherwise."""

    def sell(name: str, **more: Any) -> Offering:
        usual = {"instance_type": "p5.48xlarge", "zone": "ap-northeast-2a", "count": 2, "begins": noon}
        offering = Offering(f"cbr-{name}", **{**usual, "hours": 24, "fee": "2400.00", **more})
        reservations.offerings.append(offering)
        return offering

    return sell


def asked(*words: str) -> Result:
    app = typer.Typer()
    app.command()(blocks.command)
    return CliRunner().invoke(app, words)


def document(*words: str) -> Any:
    answer = asked(*words, "--json")
    assert answer.exception is None, answer.output
    return json.loads(answer.stdout)


def ids(*words: str) -> list[str]:
    return [each["id"] for each in document(*words)["offerings"]]


def test_what_is_offered_for_a_pool_has_its_price_by_the_hour_too(offer: Offer, noon: datetime) -> None:
    offer("dear", fee="2880.00")
    offer("cheap", zone="ap-northeast-2c")

    assert document()["offerings"][0] == {
        "id": "cbr-cheap",
        "instance_type": "p5.48xlarge",
        "zone": "ap-northeast-2c",
        "nodes": 2,
        "from": f"{noon:%Y-%m-%dT03:00:00Z}",
        "until": f"{noon + timedelta(days=1):%Y-%m-%dT03:00:00Z}",
        "price": "2400.00",
        "price_per_node_hour": "50.00",
        "currency": "USD",
    }
    assert ids() == ["cbr-cheap", "cbr-dear"]
    assert "2880.00 USD" in asked("--pool", "big").stdout


def test_what_no_node_of_the_pool_can_be_of_is_left_out(offer: Offer, noon: datetime) -> None:
    offer("other-zone", zone="ap-northeast-2d")
    offer("other-type", instance_type="p5e.48xlarge")
    offer("one-node", count=1)
    offer("two-parts", segments=2)
    offer("too-far", begins=noon + timedelta(weeks=9))

    assert asked("--json").exit_code == 1
    offer("other-length", hours=48)
    assert ids("--hours", "48") == ["cbr-other-length"]


def test_a_window_is_held_from_its_opening_until_45_minutes_before_the_end(
    offer: Offer, noon: datetime
) -> None:
    """The exam is from 10:00 to 16:00 in Seoul, so a block from one noon to the next does not hold it."""
    exam = noon + timedelta(days=2) - 2 * HOUR
    offer("from-noon", begins=exam + 2 * HOUR)
    offer("till-noon", begins=exam - 22 * HOUR)
    assert asked("--window", "exam").exit_code == 1
    offer("two-days", begins=exam - 22 * HOUR, hours=48)
    assert ids("--window", "exam") == ["cbr-two-days"]

    ends = exam + 6 * HOUR + timedelta(minutes=45)
    offer("late-enough", begins=ends - 24 * HOUR)
    offer("too-early", begins=ends - 24 * HOUR - timedelta(minutes=1))
    assert ids("--window", "exam") == ["cbr-late-enough"]


@pytest.mark.parametrize(("words", "said"), [
    (["--window", "exams"], "did you mean exam?"),
    (["--pool", "small"], "small"),
    (["--hours", "36"], "write a multiple of 24"),
    (["--yes"], "give both"),
    (["--window", "exam", "--pool", "other"], "window exam opens pool big"),
])  # fmt: skip
@pytest.mark.usefixtures("noon")
def test_what_aws_or_the_lab_does_not_have_is_one_line(words: list[str], said: str) -> None:
    assert said in str(asked(*words).exception)


def bought(reservations: Any) -> list[CapacityReservation]:
    return list(reservations._known.values())


def test_a_block_is_bought_after_a_yes_and_the_lab_s_lines_are_written(
    offer: Offer, reservations: Any, aws: Any
) -> None:
    offer("exam", zone="ap-northeast-2c")
    aws.hold()

    refused = asked("--buy", "cbr-exam")
    assert isinstance(refused.exception, Refused)
    assert "2400.00 USD" in refused.stdout
    assert bought(reservations) == []

    answer = asked("--buy", "cbr-exam", "--yes")

    (made,) = bought(reservations)
    assert answer.exit_code == 0, answer.output
    assert f"    reservation: {made.id}\n" in answer.stdout
    assert "    zone_index: 2\n" in answer.stdout
    assert "take its price_per_hour out" in answer.stdout
    (read,) = Reservations(boto3.client("ec2")).tagged(
        {"lamplighter:lab": "gpu-lab", "lamplighter:pool": "big"}
    )
    assert (read.id, read.state) == (made.id, "payment-pending")
    aws.clock.sleep(120)
    assert Reservations(boto3.client("ec2")).read(made.id).state == "scheduled"  # type: ignore[union-attr]


def test_a_pool_that_has_a_block_for_these_hours_gets_no_second_one(
    offer: Offer, reservations: Any, noon: datetime
) -> None:
    offer("first")
    offer("meets", begins=noon + 23 * HOUR)
    offer("later", begins=noon + 24 * HOUR)
    first = document("--buy", "cbr-first", "--yes")["reservation"]

    for again in ("cbr-first", "cbr-meets"):
        refused = asked("--buy", again, "--yes").exception
        assert isinstance(refused, Refused)
        assert f"pool big has block {first}" in str(refused)
    assert len(bought(reservations)) == 1
    document("--buy", "cbr-later", "--yes")
    assert len(bought(reservations)) == 2


def test_a_block_that_the_lab_names_is_its_own_without_any_tag(
    offer: Offer, reservations: Any, noon: datetime
) -> None:
    offer("exam")
    id_ = "cr-0123456789abcdef0"
    bought_by_hand = 'price_per_hour: "60.00"', f"buy: reserved\n    reservation: {id_}"
    text = Path("lab.yaml").read_text("utf-8").replace(*bought_by_hand)
    Path("lab.yaml").write_text(
        f"{text}".replace(id_, f"{id_}\n    reservation_type: capacity-block"), "utf-8"
    )
    reservations.add(
        CapacityReservation(
            id_, "capacity-block", "p5.48xlarge", "ap-northeast-2a", 2, noon - HOUR, noon + 23 * HOUR
        )
    )

    assert f"has block {id_}" in str(asked("--buy", "cbr-exam", "--yes").exception)
    assert len(bought(reservations)) == 1


@pytest.mark.parametrize(("key", "said"), [
    ("kind: auto-mode", "only a pool of kind node-group"),
    ("zones: [0, 1]", "write instance_type and zone_index in place of the lists"),
])  # fmt: skip
@pytest.mark.usefixtures("noon")
def test_a_pool_that_cannot_have_nodes_of_a_block_is_told_before_anything_is_bought(
    key: str, said: str
) -> None:
    text = Path("lab.yaml").read_text("utf-8")
    if "auto-mode" in key:
        text += "cluster: {auto_mode: {enabled: true}}\ngpu_operator: {enabled: false}\n"
    Path("lab.yaml").write_text(text.replace("max_nodes: 2", f"max_nodes: 2\n    {key}"), "utf-8")

    assert said in str(asked("--buy", "cbr-exam", "--yes").exception)


def test_a_block_that_is_no_longer_offered_is_not_bought(offer: Offer, reservations: Any) -> None:
    offer("exam")

    refused = asked("--buy", "cbr-gone", "--yes").exception

    assert isinstance(refused, Refused)
    assert "AWS does not offer cbr-gone now" in str(refused)
    assert bought(reservations) == []


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of EC2's clients, by name. A purchase reaches AWS, and its answer is lost."""
    made: list[str] = []
    whole = BaseClient._make_api_call  # type: ignore[attr-defined]

    def call(client: Any, name: str, given: Any) -> Any:
        made.append(name)
        answer = whole(client, name, given)
        if name == "PurchaseCapacityBlock":
            raise ReadTimeoutError(endpoint_url="https://ec2")
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    return made


def test_a_purchase_whose_answer_is_lost_is_looked_for_and_never_repeated(
    offer: Offer, reservations: Any, calls: list[str]
) -> None:
    offer("exam")

    answer = document("--buy", "cbr-exam", "--yes")

    (made,) = bought(reservations)
    assert answer["reservation"] == made.id
    assert calls.count("PurchaseCapacityBlock") == 1


def test_a_purchase_that_aws_does_not_show_yet_may_have_been_made(
    offer: Offer, reservations: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer("exam")
    monkeypatch.setattr(reservations, "documents", lambda *_: [])

    failed = asked("--buy", "cbr-exam", "--yes").exception

    assert isinstance(failed, OutsideFailed)
    assert "may have sold it all the same" in str(failed)
    assert "Values=cbr-exam" in str(failed)
    assert calls.count("PurchaseCapacityBlock") == 1
    assert len(bought(reservations)) == 1


def test_the_range_that_is_asked_for_holds_every_block_that_helps(offer: Offer, noon: datetime) -> None:
    """By the hour: AWS is asked for no less than what holds the exam."""
    exam = noon + timedelta(days=2) - 2 * HOUR
    for hour in range(-30, 8):
        offer(f"{hour:03}", begins=exam + hour * HOUR)

    assert ids("--window", "exam") == [f"cbr-{hour:03}" for hour in range(-17, 1)]
