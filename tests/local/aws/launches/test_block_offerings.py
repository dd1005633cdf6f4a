"""`lamplighter blocks` against the embedded EC2: what is offered for a pool or a window, and one purchase, ever."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from botocore.client import BaseClient
from botocore.exceptions import ReadTimeoutError
from moto.ec2.exceptions import EC2ClientError
from typer.testing import CliRunner, Result

from cli.blocks import blocks, purchase
from cli.endings import ending
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.errors import OutsideFailed, Refused
from local.aws.ec2.capacity.block_sales import Offering
from local.aws.ec2.capacity.reservations import CapacityReservation

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
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Offer = Callable[..., Offering]


@pytest.fixture
def end(aws: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> datetime:
    """The end of the blocks of a day some days ahead, 20:30 in Seoul. The lab's exam is at 10:00 of that day."""
    for name, value in aws.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LAMPLIGHTER_NAMES", str(tmp_path / "names.json"))
    monkeypatch.chdir(tmp_path)
    at = aws.clock.now().replace(hour=11, minute=30, second=0, microsecond=0) + 5 * DAY
    Path("lab.yaml").write_text(LAB.replace("DATE", f"{at:%Y-%m-%d}"), "utf-8")
    return at


@pytest.fixture
def sales(aws: Any) -> Any:
    return aws.embedded.moto_additions.block_sales


@pytest.fixture
def reservations(aws: Any) -> Any:
    return aws.embedded.moto_additions.reservations


@pytest.fixture
def offer(sales: Any, end: datetime) -> Offer:
    """Has AWS sell a block: of the day before the exam's end, for the whole pool, unless said otherwise."""

    def sell(name: str, **more: Any) -> Offering:
        kind = {"instance_type": "p5.48xlarge", "zone": "ap-northeast-2a", "count": 2, "fee": "2400.00"}
        offering = Offering(name, **{**kind, "begins": end - DAY, "ends": end, **more})
        sales.offerings.append(offering)
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


@pytest.fixture
def shown(sales: Any) -> Callable[..., list[str]]:
    """The names of the offerings that the verb shows."""
    return lambda *words: [sales._quotes[each["id"]].name for each in document(*words)["offerings"]]


def id_of(name: str, sales: Any) -> str:
    """The id with which an offering is shown now."""
    return next(each["id"] for each in document()["offerings"] if sales._quotes[each["id"]].name == name)


def test_what_is_offered_for_a_pool_has_its_price_by_the_hour_too(
    offer: Offer, end: datetime, shown: Callable[..., list[str]]
) -> None:
    offer("dear", fee="2880.00")
    offer("cheap", zone="ap-northeast-2c")

    first = document()["offerings"][0]

    assert first.pop("id").startswith("cb-")
    assert first == {
        "instance_type": "p5.48xlarge",
        "zone": "ap-northeast-2c",
        "nodes": 2,
        "from": f"{end - DAY:%Y-%m-%dT11:30:00Z}",
        "until": f"{end:%Y-%m-%dT11:30:00Z}",
        "price": "2400.00",
        "price_per_node_hour": "50.00",
        "currency": "USD",
    }
    assert shown() == ["cheap", "dear"]
    assert "2880.00 USD" in asked("--pool", "big").stdout


def test_what_no_node_of_the_pool_can_be_of_is_left_out(
    offer: Offer, end: datetime, shown: Callable[..., list[str]]
) -> None:
    offer("other-zone", zone="ap-northeast-2d")
    offer("other-type", instance_type="p5e.48xlarge")
    offer("one-node", count=1)
    offer("two-parts", segments=2)
    offer("too-far", begins=end + 9 * 7 * DAY, ends=end + (9 * 7 + 1) * DAY)

    assert asked("--json").exit_code == 1
    assert "of 24 hours now" in asked().stdout
    offer("longest", ends=end + 26 * 7 * DAY - DAY)
    assert shown("--hours", str(26 * 7 * 24)) == ["longest"]


def test_a_window_is_held_from_its_opening_until_45_minutes_before_the_end(
    offer: Offer, end: datetime, shown: Callable[..., list[str]]
) -> None:
    """The exam is from 10:00 to 16:00 in Seoul. The block of that day ends at 20:30, another by 16:44 for this test."""
    closes = end - timedelta(hours=4, minutes=30)
    offer("ends-within", ends=closes + timedelta(minutes=44))
    offer("begins-late", begins=closes - 6 * HOUR + timedelta(minutes=1), ends=end + 6 * HOUR)
    assert asked("--window", "exam").exit_code == 1
    offer("two-days", begins=end - 2 * DAY)
    assert shown("--window", "exam") == ["two-days"]

    offer("just-so", begins=closes - 6 * HOUR, ends=closes + 15 * HOUR)
    offer("a-little-shorter", begins=end - DAY + HOUR)
    assert sorted(shown("--window", "exam")) == ["a-little-shorter", "just-so"]


@pytest.mark.parametrize(("words", "said"), [
    (["--window", "exams"], "did you mean exam?"),
    (["--pool", "small"], "small"),
    (["--hours", "36"], "write a multiple of 24"),
    (["--yes"], "give both"),
    (["--window", "exam", "--pool", "other"], "window exam opens pool big"),
])  # fmt: skip
@pytest.mark.usefixtures("end")
def test_what_aws_or_the_lab_does_not_have_is_one_line(words: list[str], said: str) -> None:
    assert said in str(asked(*words).exception)


def bought(reservations: Any) -> list[CapacityReservation]:
    return list(reservations._known.values())


def test_a_block_is_bought_after_a_yes_and_the_lab_s_lines_are_written(
    offer: Offer, reservations: Any, sales: Any, aws: Any, end: datetime
) -> None:
    offer("exam", zone="ap-northeast-2c", begins=end - 2 * DAY, ends=end - DAY)
    aws.hold()
    id_ = id_of("exam", sales)

    refused = asked("--buy", id_)
    assert isinstance(refused.exception, Refused)
    assert "2400.00 USD" in refused.stdout
    assert bought(reservations) == []

    answer = asked("--buy", id_, "--yes")

    (made,) = bought(reservations)
    assert answer.exit_code == 0, answer.output
    assert f"    reservation: {made.id}\n" in answer.stdout
    assert "    zone_index: 2\n" in answer.stdout
    assert "take its price_per_hour out" in answer.stdout
    read = Reservations(boto3.client("ec2"))
    (known,) = read.tagged({"lamplighter:lab": "gpu-lab", "lamplighter:pool": "big"})
    assert (known.id, known.state, known.count) == (made.id, "payment-pending", 2)
    assert read.tagged({"lamplighter:lab": "gpu-lab", "lamplighter:pool": "small"}) == []
    aws.clock.sleep(120)
    (known,) = read.tagged({"lamplighter:lab": "gpu-lab"})
    assert known.state == "scheduled"


def test_a_part_of_the_pool_may_be_bought_for_a_window(offer: Offer) -> None:
    text = Path("lab.yaml").read_text("utf-8")
    Path("lab.yaml").write_text(text.replace("pool: big,", "pool: big, nodes: 1,"), "utf-8")
    offer("one", count=1)
    (one,) = document("--window", "exam")["offerings"]

    assert "    max_nodes: 1\n" in asked("--window", "exam", "--buy", one["id"], "--yes").stdout


def test_a_pool_that_has_a_block_for_these_hours_gets_no_second_one(
    offer: Offer, reservations: Any, sales: Any, end: datetime
) -> None:
    offer("first")
    offer("meets", begins=end - HOUR, ends=end + DAY - HOUR)
    offer("later", begins=end, ends=end + DAY)
    first = document("--buy", id_of("first", sales), "--yes")["reservation"]

    for again in ("first", "meets"):
        refused = asked("--buy", id_of(again, sales), "--yes").exception
        assert isinstance(refused, Refused)
        assert f"pool big has block {first}" in str(refused)
    assert len(bought(reservations)) == 1
    document("--buy", id_of("later", sales), "--yes")
    assert len(bought(reservations)) == 2


def test_a_block_that_the_lab_names_is_its_own_without_any_tag(
    offer: Offer, reservations: Any, sales: Any, end: datetime
) -> None:
    offer("exam")
    named = "cr-0123456789abcdef0"
    lines = f"buy: reserved\n    reservation: {named}\n    reservation_type: capacity-block"
    text = Path("lab.yaml").read_text("utf-8").replace('price_per_hour: "60.00"', lines)
    Path("lab.yaml").write_text(text, "utf-8")
    kind = ("capacity-block", "p5.48xlarge", "ap-northeast-2a", 2)
    reservations.add(CapacityReservation(named, *kind, end - DAY, end))

    assert f"has block {named}" in str(asked("--buy", id_of("exam", sales), "--yes").exception)
    assert len(bought(reservations)) == 1


@pytest.mark.parametrize(("key", "said"), [
    ("kind: auto-mode", "a pool of kind auto-mode has no nodes of a block"),
    ("zones: [0]", "write instance_type and zone_index in place of the lists"),
])  # fmt: skip
@pytest.mark.usefixtures("end")
def test_a_pool_that_cannot_have_nodes_of_a_block_is_told_before_anything_is_bought(
    key: str, said: str
) -> None:
    text = Path("lab.yaml").read_text("utf-8")
    if "auto-mode" in key:
        text += "cluster: {auto_mode: {enabled: true}}\ngpu_operator: {enabled: false}\n"
    Path("lab.yaml").write_text(text.replace("max_nodes: 2", f"max_nodes: 2\n    {key}"), "utf-8")

    assert said in str(asked("--buy", "cb-0123456789abcdef0", "--yes").exception)


def test_a_block_that_is_no_longer_offered_is_not_bought(offer: Offer, reservations: Any, sales: Any) -> None:
    offer("exam")
    id_ = id_of("exam", sales)
    sales.offerings.clear()

    for named, said in (("cb-0123456789abcdef0", "does not offer"), (id_, "IdExpired")):
        refused = asked("--buy", named, "--yes").exception
        assert isinstance(refused, Refused)
        assert "nothing was bought" in str(refused)
        assert said in str(refused)
    assert bought(reservations) == []


def test_an_offering_that_was_shown_for_something_else_is_not_bought(
    offer: Offer, reservations: Any, sales: Any, end: datetime
) -> None:
    offer("later", begins=end, ends=end + DAY)

    refused = asked("--window", "exam", "--buy", id_of("later", sales), "--yes").exception

    assert isinstance(refused, Refused)
    assert "is not what is looked for" in str(refused)
    assert bought(reservations) == []


def test_a_block_that_somebody_buys_while_the_question_stands_is_not_bought_twice(
    offer: Offer, reservations: Any, sales: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer("exam")
    mine, theirs = id_of("exam", sales), id_of("exam", sales)

    def think(*_: object, **__: object) -> None:
        assert asked("--buy", theirs, "--yes").exit_code == 0

    monkeypatch.setattr(purchase, "agree", think)

    assert isinstance(asked("--buy", mine).exception, Refused)
    assert len(bought(reservations)) == 1


@pytest.mark.parametrize(
    ("state", "sold"), [("payment-failed", 2), ("unavailable", 1), ("a-state-of-tomorrow", 1)]
)
def test_only_a_block_that_is_surely_over_makes_room_for_another(
    offer: Offer, reservations: Any, sales: Any, state: str, sold: int
) -> None:
    offer("exam")
    asked("--buy", id_of("exam", sales), "--yes")
    bought(reservations)[0].state = state

    asked("--buy", id_of("exam", sales), "--yes")

    assert len(bought(reservations)) == sold


def test_gpus_that_are_to_be_ready_by_the_start_need_a_block_that_begins_before(
    offer: Offer, end: datetime, shown: Callable[..., list[str]]
) -> None:
    """A warm-up is measured anew before each window, and is never longer than half an hour."""
    text = Path("lab.yaml").read_text("utf-8")
    other = '  - {name: course, pool: big, calendar: "https://127.0.0.1:9/course.ics"}\n'
    Path("lab.yaml").write_text(text.replace("name: exam,", "name: exam, ready: by,") + other, "utf-8")
    opens = end - timedelta(hours=10, minutes=30)
    offer("too-late", begins=opens - timedelta(minutes=29), ends=opens + 23 * HOUR)
    offer("in-time", begins=opens - timedelta(minutes=30), ends=opens + 23 * HOUR)

    assert shown("--window", "exam") == ["in-time"]


@pytest.mark.parametrize(("key", "value"), [
    ("UpfrontFee", "1e30"), ("UpfrontFee", "NaN"), ("UpfrontFee", "2,400"), ("UpfrontFee", "-1"),
    ("EndDate", datetime(9999, 12, 31, tzinfo=UTC)), ("InstanceCount", 0), ("CapacityBlockOfferingId", ""),
])  # fmt: skip
@pytest.mark.usefixtures("end")
def test_an_odd_offering_is_no_answer(
    offer: Offer, monkeypatch: pytest.MonkeyPatch, key: str, value: Any
) -> None:
    whole = Offering.document
    monkeypatch.setattr(Offering, "document", lambda self, id_: {**whole(self, id_), key: value})
    offer("odd")

    assert isinstance(asked().exception, OutsideFailed)


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
    offer: Offer, reservations: Any, sales: Any, calls: list[str]
) -> None:
    offer("exam")

    answer = document("--buy", id_of("exam", sales), "--yes")

    (made,) = bought(reservations)
    assert answer["reservation"] == made.id
    assert calls.count("PurchaseCapacityBlock") == 1


def test_a_purchase_that_aws_does_not_show_yet_may_have_been_made(
    offer: Offer, reservations: Any, sales: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer("exam")
    id_ = id_of("exam", sales)
    monkeypatch.setattr(reservations, "documents", lambda _: [])

    failed = asked("--buy", id_, "--yes").exception

    assert isinstance(failed, OutsideFailed)
    assert "may have sold it all the same" in str(failed)
    assert f"lamplighter:offering={id_}" in str(failed)
    assert calls.count("PurchaseCapacityBlock") == 1
    assert len(bought(reservations)) == 1


def test_a_purchase_that_aws_refuses_is_told_in_aws_s_words(
    offer: Offer, reservations: Any, sales: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer("exam")
    id_ = id_of("exam", sales)

    def deny(*_: object) -> None:
        raise EC2ClientError("UnauthorizedOperation", "You are not authorized to perform this operation.")

    monkeypatch.setattr(sales, "sell", deny)

    failed = asked("--buy", id_, "--yes").exception

    assert isinstance(failed, OutsideFailed)
    assert "may have sold" not in str(failed)
    assert ending(failed)[0].startswith("AWS denied ec2:PurchaseCapacityBlock")
    assert bought(reservations) == []
