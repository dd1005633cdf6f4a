"""A sweep moves a pool in which nothing else does, while somebody waits for it in Slack: the board looks again."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers.guard import sweep_all
from lamplighter.domain.slack.kept import Wish
from lamplighter.lab import Lab
from tests.unit.lab_on_moto import EIGHT, LAB, LEDGER, LabOnMoto, lab_on_moto

DAY = timedelta(hours=24)
WISH = Wish("gpu", EIGHT, "U0JUN", "jun (U0JUN)", "C0123456789", 1, None, EIGHT + DAY, "Asia/Seoul")


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


def states(lab: LabOnMoto, *minutes: float) -> list[Any]:
    """The pool's own item after a sweep at each of these minutes after eight."""
    found = []
    for each in minutes:
        lab.at(each)
        sweep_all(lab.watch)
        key = {"pk": {"S": "POOL#gpu"}, "sk": {"S": "STATE"}}
        item = boto3.client("dynamodb").get_item(TableName=LEDGER, Key=key, ConsistentRead=True).get("Item")
        found.append(item)
    return found


def test_nothing_moves_in_a_quiet_pool_for_which_nobody_waits(lab: LabOnMoto) -> None:
    before, after = states(lab, 5, 10)
    assert before == after


def test_every_sweep_moves_a_pool_for_which_somebody_waits(lab: LabOnMoto) -> None:
    lab.lab = Lab.model_validate({"name": LAB, "slack": {}})
    lab.capacity.ledger.wish(WISH)
    first, second, after_a_day, later = states(lab, 5, 10, 24 * 60, 24 * 60 + 5)
    assert first != second
    assert after_a_day == later
