"""`status` shows a pool's target, its leases, and windows that are open without a lease."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import boto3
import pytest

from cli.deployment import AwsClock, Deployment
from cli.understand import status
from cli.understand.cost_tables import summary
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LAB, LEDGER, LabOnMoto, lab_on_moto


class Stopped(AwsClock):
    """The endpoint's clock at an instant."""

    def __init__(self, at: datetime) -> None:
        super().__init__(boto3.client("cloudformation"))
        self._at = at

    def last(self) -> datetime:
        return self._at


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        window = {"name": "evening", "days": "daily", "start": "20:00", "end": "23:00", "time_zone": "UTC"}
        document = Lab.model_validate({"name": LAB, "windows": [window]}).to_json()
        made.capacity.ledger.put_document(document, EIGHT)
        yield made


def deployed(minutes: int) -> Deployment:
    return Deployment(LAB, {"LedgerTable": LEDGER}, Stopped(EIGHT + timedelta(minutes=minutes)))


def pool_at(minutes: int) -> PoolView:
    (view,) = status.views_of(deployed(minutes), None)
    return view


def test_a_window_that_is_open_by_the_calendar_and_has_no_lease_is_said(lab: LabOnMoto) -> None:
    view = pool_at(30)
    assert view.target.nodes == 0
    (unmet,) = view.unmet
    assert unmet.window.lease == "evening-2026-11-20"
    assert str(unmet.reason).endswith("; it has no lease yet: the planner has not planned it")


def test_outside_windows_a_lease_is_all_there_is_to_say(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-120, closes=-30)

    view = pool_at(-60)

    assert view.target.nodes == 1
    assert [lease.id for lease in view.leases] == ["cli-1"]
    assert view.until == EIGHT - timedelta(minutes=30)
    assert view.unmet == ()


def test_the_budget_stands_in_a_line(lab: LabOnMoto) -> None:
    found = Deployment(LAB, {"LedgerTable": LEDGER}, Stopped(EIGHT))
    assert summary(ViewReading(found.ledger, found.lab, EIGHT).spending, found.zone) == (
        "2026-11: 120.00 USD budget, 0.00 USD spent, 0.00 USD held, 120.00 USD left until Tue 1 Dec 00:00 KST"
    )
