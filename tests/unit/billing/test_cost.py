"""What `cost` shows: the period, its owners and windows, the forecast, and the costs beside the pools."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cli.deployment import Deployment
from cli.understand import cost_tables
from cli.understand.cost import document
from lamplighter.application.views.account import LabAccount
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.billing.statement import windows
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, MINUTE, usd
from tests.unit.billing.test_charges import started
from tests.unit.cli.shown.test_status import Stopped
from tests.unit.lab_on_moto import LAB, LEDGER, LabOnMoto

SEOUL = ZoneInfo("Asia/Seoul")
# Friday 20 November 20:00 UTC is Saturday morning in Seoul; the month there ends on the 30th at 15:00 UTC.
WEEKLY = {"name": "evening", "days": "sat", "start": "20:00", "end": "22:00", "nodes": 1, "owner": "class"}


def account(lab: LabOnMoto, minutes: int = 0, **more: Any) -> LabAccount:
    guard = {"budget": {"amount": "6", "owners": {"class": "4"}}}
    pools = {"gpu": {"price_per_hour": "1"}}
    document = Lab.model_validate({"name": LAB, "guard": guard, "pools": pools, "windows": [WEEKLY], **more})
    lab.capacity.ledger.put_document(document.to_json(), EIGHT)
    at: datetime = lab.at(minutes)
    deployed = Deployment(LAB, {"LedgerTable": LEDGER}, Stopped(at))
    return LabAccount(deployed.capacity, at)


def test_the_forecast_is_what_is_used_and_the_windows_that_still_open(lab: LabOnMoto) -> None:
    told = account(lab)

    # Saturdays until the end of November in Seoul: the 21st and the 28th.
    assert [lease.date for lease in told.ahead.leases] == ["2026-11-21", "2026-11-28"]
    assert told.budget.forecast == usd(4)
    assert [(row.name, row.planned, row.limit) for row in told.budget.owners] == [("class", usd(4), usd(4))]


def test_a_window_whose_money_is_gone_is_named_and_not_counted(lab: LabOnMoto) -> None:
    ledger = lab.capacity.ledger
    spent = Charge("gpu", EIGHT, NodeTime(180 * MINUTE, usd(3)))
    ledger.charge(spent, [], pool=ledger.pool("gpu"), budget=ledger.budget("2026-11", "USD"), why=None)

    told = account(lab)

    assert [lease.date for lease in told.ahead.leases] == ["2026-11-21"]
    [(refused, why)] = told.ahead.refused
    assert (refused.id, why.lack) == ("evening-2026-11-28", "over-budget")
    assert (told.budget.spent, told.budget.unleased, told.budget.forecast) == (usd(3), usd(3), usd(5))


def test_what_runs_is_shown_as_it_runs(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=0, closes=60)
    started(lab, 2, 0)
    told = account(lab, 30)

    [(lease, ran)] = told.running
    assert (lease.id, ran.cost) == ("cli-1", usd("0.5"))
    assert told.uncounted.cost == usd("0.5")
    assert told.today.cost == usd(1)


def test_what_is_not_under_the_guard_is_listed_with_prices_and_their_date(lab: LabOnMoto) -> None:
    told = json.loads(json.dumps(document(account(lab), SEOUL)))

    named = {item["what"]: item["price"] for item in told["not_guarded"]["items"]}
    assert named["NAT gateway"] == "0.059"
    assert {"EKS control plane", "load balancers", "volumes of pool gpu"} <= set(named)
    assert told["not_guarded"]["prices_of"] == "2026-11-20"
    assert told["prices"] == [
        {"pool": "gpu", "per_hour": "1", "currency": "USD", "source": "lab", "at": None}
    ]


def test_a_region_without_known_prices_says_so(lab: LabOnMoto, capsys: pytest.CaptureFixture[str]) -> None:
    told = account(lab, region="ca-central-1")

    cost_tables.show(told, SEOUL)

    said = capsys.readouterr().out
    assert "not known here" in said
    assert "A node of pool gpu: 1 USD an hour, as the lab states." in said


def test_a_period_reads_as_a_line_that_names_what_no_lease_paid_for(lab: LabOnMoto) -> None:
    ledger = lab.capacity.ledger
    spent = Charge("gpu", EIGHT, NodeTime(60 * MINUTE, usd(1)))
    ledger.charge(spent, [], pool=ledger.pool("gpu"), budget=ledger.budget("2026-11", "USD"), why=None)
    told = account(lab)

    assert cost_tables.summary(told.budget, SEOUL) == (
        "2026-11: 6.00 USD budget, 1.00 USD spent (1.00 USD of it past or without a lease), "
        "0.00 USD held, 5.00 USD left until Tue 1 Dec 00:00 KST"
    )


def test_by_window_what_closed_what_is_held_and_what_is_to_come(lab: LabOnMoto) -> None:
    one = lab.lease(nodes=1, opens=0, closes=60)
    told = account(lab)
    granted = replace(one, period="2026-11", hold=usd(1))

    kept = lab.capacity.ledger.budget("2026-11", "USD")
    rows = {row.name: (row.held, row.planned) for row in windows([granted], told.ahead, kept)}

    assert rows == {"(by people)": (usd(1), usd(0)), "evening": (usd(0), usd(4))}
