"""A scenario that fails says how to read its failure, and keeps the state of its cloud; one that passes keeps nothing.

The scenarios that are broken here run in a session of their own, in this process, which has the cloud of this file.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.scenarios import failed_scenario
from tests.scenarios.failed_scenario import CHOICES, GUIDE, NEWEST, TITLE
from tests.scenarios.lab_day import LabDay

Played = Callable[[str], str]
BROKEN = "def test_the_pool_has_two_nodes():\n    assert 1 == 2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where failures are kept, for one test."""
    folder = ROOT / ".build" / tmp_path.name
    monkeypatch.setattr(failed_scenario, "FOLDER", folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Played:
    """Plays a scenario with seed 7, and gives the output."""
    for name in CHOICES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAMPLIGHTER_SEED", "7")

    def play(scenario: str) -> str:
        file = tmp_path / "test_broken.py"
        file.write_text(scenario, "utf-8")
        options = ["-q", "-c", "/dev/null", "--rootdir", str(tmp_path), "-p", failed_scenario.__name__]
        for plugin in ("cacheprovider", "xdist", "timeout"):
            options += ["-p", f"no:{plugin}"]
        pytest.main([*options, str(file)])
        return capfd.readouterr().out

    return play


def test_a_failed_scenario_prints_how_to_read_it_and_keeps_its_state(
    lab: LabDay, played: Played, folder: Path
) -> None:
    lease = lab.open(1, "30m")
    lab.until("its workflow runs", lambda _: bool(lab.running()), timedelta(minutes=5))
    running = lab.running()

    said = played(BROKEN).partition(TITLE)[2]

    [kept] = folder.iterdir()
    assert f"state     {kept.relative_to(ROOT)}" in said
    assert re.search(r"instant   2026-12-\d\dT\d\d:\d\d:\d\d", said)
    assert re.search(r"logs      .*/logs: [1-9]\d* functions", said)
    assert re.search(r"timeline  of pool gpu.*\n(  .*\n)*  \d\d \d\d:\d\d:\d\d lease-granted", said)
    assert re.search(rf"ledger    \d+ items.*\n(  .*\n)*  .*{lease.id}", said)
    assert "seed      7\n" in said
    assert (
        "again     LAMPLIGHTER_SEED=7 .venv/bin/pytest test_broken.py::test_the_pool_has_two_nodes\n" in said
    )
    assert f"guide     {GUIDE}\n" in said

    unknown = {file.name for file in kept.rglob("*.*") if file.read_text("utf-8").startswith("not known: ")}
    assert unknown == {"nodepools.json", "nodeclaims.json"}, "this lab has no Karpenter"
    assert lease.id in (kept / "ledger.json").read_text("utf-8")
    assert lease.id in (kept / "logs" / f"{lab.lab.name}-leases.log").read_text("utf-8")
    assert "gpu" in (kept / "status.txt").read_text("utf-8")
    runs = json.loads((kept / "aws" / "workflows.json").read_text("utf-8"))
    assert set(running) <= {run["executionArn"] for run in runs}


@pytest.mark.usefixtures("lab")
def test_a_passed_scenario_leaves_nothing(played: Played, folder: Path) -> None:
    assert TITLE not in played("def test_passes():\n    pass\n")
    assert not folder.exists()


def test_the_newest_failures_stay(folder: Path) -> None:
    made = [
        failed_scenario.new_folder(f"tests/scenarios/test_x.py::test_{number}")
        for number in range(NEWEST + 2)
    ]

    assert sorted(folder.iterdir()) == made[2:]


def test_a_cloud_that_ends_with_its_fixture_is_read_before(
    lab: LabDay, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    monkeypatch.setattr(lab.cloud, "down", lambda: kept.append("ended"))
    error = AssertionError("no node came")
    monkeypatch.setattr(type(lab.cloud), "before_a_failed_end", lambda *told: kept.append(told))

    with pytest.raises(AssertionError, match="no node came"), lab.cloud:
        raise error

    assert kept == [(lab.cloud, error), "ended"]
