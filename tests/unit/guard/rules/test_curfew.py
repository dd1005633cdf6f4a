"""What a sweep does about the curfew: on where the guard enforces, off where it watches, reported when missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from lamplighter.application.guard.sweep import sweep_all
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason
from tests.unit.lab_on_moto import LAB, ROLE, LabOnMoto, lab_on_moto

RAILS = ("curfew-gpu-eks", "curfew-gpu-group")


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.lab = Lab.model_validate({"name": LAB, "guard": {"curfew": "04:00"}})
        yield made


def put(name: str, state: str) -> None:
    """A schedule of the curfew as the template creates it."""
    boto3.client("scheduler").create_schedule(
        GroupName=LAB,
        Name=name,
        State=state,  # type: ignore[arg-type]
        ScheduleExpression="cron(0 4 * * ? *)",
        ScheduleExpressionTimezone="Asia/Seoul",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig",
            "RoleArn": ROLE,
            "Input": "{}",
        },
    )


def rail(name: str) -> dict[str, Any]:
    found: dict[str, Any] = dict(boto3.client("scheduler").get_schedule(GroupName=LAB, Name=name))
    return found


def said(lab: LabOnMoto) -> list[tuple[Said, Said]]:
    return [(entry.what, entry.why) for entry in lab.entries("breach")]


def test_a_curfew_that_was_switched_off_is_switched_on_and_stays_what_it_was(lab: LabOnMoto) -> None:
    for name in RAILS:
        put(name, "DISABLED")
    before = rail(RAILS[0])

    sweep_all(lab.guard_services)

    after = rail(RAILS[0])
    assert {rail(name)["State"] for name in RAILS} == {"ENABLED"}
    for key in ("ScheduleExpression", "ScheduleExpressionTimezone", "Target", "FlexibleTimeWindow"):
        assert after[key] == before[key]
    ((what, why),) = said(lab)
    assert what == reason("guard.did.switch-curfew", pool="gpu")
    assert why == reason("guard.curfew.off", pool="gpu", names=RAILS)
    assert sweep_all(lab.guard_services) == {"breaches": []}


def test_a_pool_that_is_only_watched_has_no_curfew_that_fires(lab: LabOnMoto) -> None:
    for name in RAILS:
        put(name, "ENABLED")
    lab.capacity.lab = Lab.model_validate({"name": LAB, "guard": {"curfew": "04:00", "mode": "watch"}})

    sweep_all(lab.guard_services)

    assert {rail(name)["State"] for name in RAILS} == {"DISABLED"}
