"""The function `pages` and the verbs `receipt` and `page`: what moved is drawn, once, and can be opened."""

import json
import urllib.parse
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.understand import page, receipt
from lamplighter import clock
from lamplighter.adapters.aws.page_store import LAB as LAB_PAGE
from lamplighter.adapters.aws.page_store import PageStore, receipt_key
from lamplighter.application.pages.drawing import PageServices, draw
from lamplighter.domain.audit.entry import Entry
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from tests import page_views
from tests.builders.leases import EIGHT
from tests.unit.cli.shown.test_status import Stopped
from tests.unit.lab_on_moto import LAB, LEDGER, REGION, LabOnMoto, lab_on_moto

BUCKET = "lab-pages"
CLOSED = EIGHT + timedelta(hours=1)
KEY = "receipts/gpu/evening-2026-11-20.html"
RECEIPT = page_views.receipt_document(
    lease="evening-2026-11-20", opened=instant.written(EIGHT), closed=instant.written(CLOSED), nodes=1,
    cost={"amount": "1.2370", "currency": "USD"}, overrun=None, node_lives=[],
)  # fmt: skip


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        document = Lab.model_validate({"name": LAB, "pools": {"gpu": {"price_per_hour": "1"}}})
        made.capacity.ledger.put_document(document.to_json(), EIGHT)
        boto3.client("s3", region_name=REGION).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "ap-northeast-2"}
        )
        monkeypatch.setattr(clock, "now", lambda: CLOSED)
        yield made


def page_services(lab: LabOnMoto) -> PageServices:
    ledger = lab.capacity.ledger
    return PageServices(Lab.from_json(ledger.document() or ""), ledger, PageStore(BUCKET))


def keep(lab: LabOnMoto, **changed: object) -> None:
    document = {**RECEIPT, **changed}
    lab.capacity.ledger.put_receipt("gpu", CLOSED, str(document["lease"]), document)


def moved(*keys: tuple[str, str]) -> dict[str, Any]:
    """An event of the ledger's stream."""
    records = [{"dynamodb": {"Keys": {"pk": {"S": pk}, "sk": {"S": sk}}}} for pk, sk in keys]
    return {"Records": records}


CLOSE = moved(("POOL#gpu", "RECEIPT#2026-11-20T21:00:00.000Z#evening-2026-11-20"))


def test_a_receipt_that_came_is_drawn_and_the_lab_with_it(lab: LabOnMoto) -> None:
    keep(lab)

    assert draw(CLOSE, page_services(lab)) == [KEY, LAB_PAGE]

    kept = boto3.client("s3", region_name=REGION).get_object(Bucket=BUCKET, Key=KEY)
    assert kept["ContentType"] == "text/html; charset=utf-8"
    assert kept["CacheControl"] == "private, no-cache"
    assert "1.24 USD" in kept["Body"].read().decode()


def test_the_same_event_again_writes_nothing(lab: LabOnMoto) -> None:
    keep(lab)
    draw(CLOSE, page_services(lab))
    assert draw(CLOSE, page_services(lab)) == []


def test_time_that_passes_is_no_change(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    draw({}, page_services(lab))
    monkeypatch.setattr(clock, "now", lambda: CLOSED + timedelta(minutes=40))
    assert draw(moved(("LAB", "COMMAND#1")), page_services(lab)) == []


def test_what_is_added_to_the_trail_of_a_receipt_is_drawn_too(lab: LabOnMoto) -> None:
    keep(lab)
    draw(CLOSE, page_services(lab))
    came = Entry(
        CLOSED, "gpu", "receipt", "leases", "came to 1.24 USD", "settled", lease="evening-2026-11-20"
    )
    lab.capacity.ledger.append_audit(came)

    assert draw(moved(("POOL#gpu", "AUDIT#2026-11-20T21:00:00.000Z#1")), page_services(lab)) == [KEY]


def test_what_moved_elsewhere_draws_no_receipt(lab: LabOnMoto) -> None:
    keep(lab)
    assert draw(moved(("PROGRESS#gpu", "evening"), ("POOL#gone", "RECEIPT#x")), page_services(lab)) == [
        LAB_PAGE
    ]


def test_what_ran_without_a_lease_has_its_own_page() -> None:
    unleased = {"lease": None, "pool": "gpu", "closed": "2026-11-20T21:00:00Z"}
    assert receipt_key(unleased) == "receipts/gpu/unleased-2026-11-20T21:00:00Z.html"


def test_a_link_opens_one_page_for_an_hour_at_most(lab: LabOnMoto) -> None:
    link = urllib.parse.urlsplit(PageStore(BUCKET).link(KEY, timedelta(days=7)))
    asked = urllib.parse.parse_qs(link.query)
    assert link.path.endswith(KEY)
    assert int(asked.get("X-Amz-Expires", ["3600"])[0]) <= 3600


@pytest.fixture
def deployed(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> LabOnMoto:
    at: datetime = CLOSED
    monkeypatch.setattr(deployment, "find", lambda _: Deployment(LAB, {"LedgerTable": LEDGER}, Stopped(at)))
    return lab


def test_the_newest_receipt_is_told(deployed: LabOnMoto, capsys: pytest.CaptureFixture[str]) -> None:
    keep(deployed)
    receipt.command()
    told = capsys.readouterr().out

    assert "evening-2026-11-20: pool gpu, 1 node for evening-class" in told
    assert "1.24 USD" in told
    assert "nvidia-smi" in told


def test_a_receipt_is_a_page_and_a_document(
    deployed: LabOnMoto, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(deployed)
    receipt.command("evening-2026-11-20", tmp_path / "receipt.html", as_json=True)
    assert json.loads(capsys.readouterr().out)["cost"] == {"amount": "1.2370", "currency": "USD"}
    assert (tmp_path / "receipt.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_receipt_that_is_not_there_is_bad_input(deployed: LabOnMoto, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no receipt yet"):
        receipt.command()
    keep(deployed)
    with pytest.raises(
        BadInput, match="there is no receipt of 'night'; the last ones are evening-2026-11-20"
    ):
        receipt.command("night")
    with pytest.raises(BadInput, match="cannot be written, name a file in a folder that exists"):
        receipt.command(html=tmp_path / "no" / "where.html")


def test_the_labs_page_is_written(
    deployed: LabOnMoto, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page.command(tmp_path / "lab.html", as_json=True)
    assert json.loads(capsys.readouterr().out)["page"] == str(tmp_path / "lab.html")
    assert "All closed" in (tmp_path / "lab.html").read_text("utf-8")
