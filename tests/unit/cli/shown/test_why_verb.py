"""`why` uses one clock, and answers an instant that is out of range in one line."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from cli import deployment
from cli.deployment import Deployment
from lamplighter.domain.audit.entry import Entry
from lamplighter.lab.model import Lab
from lamplighter.values.instant import clock_time
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        seoul = Lab.model_validate({"name": "lab", "time_zone": "Asia/Seoul"})
        made.capacity.ledger.put_document(seoul.to_json(), EIGHT)
        found = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT + timedelta(minutes=30)))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        yield made


def asked(*words: str) -> CompletedProcess[str]:
    return lamplighter("why", *words)


def test_all_of_the_answer_is_by_the_labs_own_clock(world: LabOnMoto) -> None:
    world.lease(nodes=1, closes=120)
    world.capacity.ledger.append_audit(
        Entry(EIGHT, "gpu", "failsafe-armed", "leases", f"armed it for {clock_time(EIGHT)}", "it must be")
    )

    said, document = asked().stdout, json.loads(asked("--json").stdout)

    assert "armed it for Sat 21 Nov 05:00 KST" in said
    assert "UTC" not in said
    assert document["trail"][-1]["what"] == "armed it for Sat 21 Nov 05:00 KST"


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        ("2026-11-20T20:31:00Z", "is in the future"),
        ("9999-12-31T23:59:59Z", "is in the future"),
        ("0001-01-01T00:00:00Z", "before the first lab existed"),
        ("0001-01-01T00:00:00+09:00", "is no instant"),
    ],
)
def test_an_instant_that_nobody_can_tell_about_is_bad_input(world: LabOnMoto, at: str, wrong: str) -> None:
    found = asked("--at", at)
    assert (found.returncode, len(found.stderr.splitlines())) == (2, 1)
    assert found.stderr.startswith("--at: ")
    assert wrong in found.stderr
