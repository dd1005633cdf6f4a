"""A sweep writes a quiet pool's item while Slack must update, so that the board reads the ledger again."""

from datetime import timedelta
from typing import Any

import boto3

from handlers.leases import STEPS
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.slack.kept import WaitingPlace
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LAB, LEDGER, LabOnMoto

DAY = timedelta(hours=24)
WISH = WaitingPlace("gpu", EIGHT, "U0JUN", "jun (U0JUN)", "C0123456789", 1, None, EIGHT + DAY, "Asia/Seoul")


def states(lab: LabOnMoto, *minutes: float) -> list[Any]:
    """The pool's own item after a sweep at each of these minutes after eight."""
    found = []
    for each in minutes:
        lab.at(each)
        sweep_all(lab.guard_services)
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


def test_sweeps_move_a_pool_whose_window_was_skipped_for_a_quarter_of_an_hour(lab: LabOnMoto) -> None:
    window = {"name": "night", "days": "daily", "start": "22:00", "end": "23:00"}
    lab.capacity.lab = Lab.model_validate({"name": LAB, "time_zone": "UTC", "windows": [window], "slack": {}})
    command = {**lab.command("skip", lease=None), "pool": "*", "window": "night"}
    STEPS["Change"]({"command": command}, lab.guard_services.lease_services)

    first, second, after, later = states(lab, 5, 10, 20, 25)

    assert first != second
    assert second == after == later


def test_a_lab_without_slack_moves_nothing_for_it(lab: LabOnMoto) -> None:
    command = {**lab.command("pause", lease=None), "pool": "*"}
    STEPS["Change"]({"command": command}, lab.guard_services.lease_services)
    before, after = states(lab, 5, 10)
    assert before == after
