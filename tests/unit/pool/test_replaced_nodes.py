"""A node whose GPUs failed is replaced once for a lease, and the desired size stays."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from lamplighter.application.capacity.steps import replace
from lamplighter.domain.audit.entry import Entry
from lamplighter.errors import TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Said, reason
from tests.builders.leases import EIGHT
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.lease(nodes=2)
        made.scale(2)
        yield made


def run(lab: LabOnMoto, *emptied: str, because: str | None = None) -> dict[str, object]:
    nodes = [{"name": f"node-{each}", "instance": each} for each in emptied]
    validated: dict[str, Any] = {} if because is None else {"because": because}
    return {"command": lab.command(), "results": {"Empty": {"nodes": nodes}, "Validate": validated}}


def told(lab: LabOnMoto) -> list[Entry]:
    return [each for each in lab.capacity.ledger.audit("gpu", EIGHT) if each.kind == "replaced"]


@pytest.mark.parametrize(
    ("because", "why"), [("a row failed", "a row failed"), (None, reason("capacity.gpus-failed"))]
)
def test_what_was_emptied_goes_once_for_another(lab: LabOnMoto, because: str | None, why: Said) -> None:
    first, second = lab.members

    done = replace(run(lab, first, because=because), lab.capacity)
    again = replace(run(lab, second), lab.capacity)

    assert done == again == {"over": False, "replaced": [first], "at": "2026-11-20T20:00:00Z"}
    assert first not in lab.members
    assert second in lab.members
    assert len(lab.members) == 2
    [entry] = told(lab)
    assert (entry.what, entry.why, entry.who, entry.lease, entry.nodes) == (
        reason("capacity.replaces", nodes=(first,), lease=reason("lease.of-owner", owner="alice")),
        why,
        "nodegroups",
        "cli-1",
        1,
    )


def test_where_nothing_was_emptied_or_no_group_is_there_nothing_goes(lab: LabOnMoto) -> None:
    before = lab.members
    assert replace(run(lab), lab.capacity)["replaced"] == []
    assert (lab.members, told(lab)) == (before, [])
    boto3.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=lab.group, ForceDelete=True)

    assert replace(run(lab, before[0]), lab.capacity)["replaced"] == [before[0]]


def test_a_lease_that_is_over_replaces_nothing(lab: LabOnMoto) -> None:
    lab.at(120)

    assert replace(run(lab, lab.members[0]), lab.capacity) == {
        "over": True,
        "reason": document(
            reason(
                "capacity.lease-not-in-force",
                lease=reason("lease.of-owner", owner="alice"),
                pool="gpu",
                opens=EIGHT,
                closes=EIGHT + timedelta(hours=2),
            )
        ),
        "replaced": [],
        "at": None,
    }


def test_a_writer_whose_minute_is_over_takes_no_node(lab: LabOnMoto) -> None:
    before = lab.members

    def slow(_service: str, operation: str, _given: object) -> None:
        if operation == "DescribeInstances":
            lab.at(1)

    with aws_calls.heard(slow), pytest.raises(TryLater, match="may no longer write to pool gpu"):
        replace(run(lab, before[0]), lab.capacity)
    assert lab.members == before
