"""`status --watch` prints each change once, and goes on after a failed read."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from cli.deployment import Deployment
from cli.main import main
from cli.understand import status, status_watch
from cli.understand.drawn import lease_line, pool_panel
from lamplighter.domain.leases.progress import BootStage, ClaimStage, Noted, Stage
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.cli.shown.test_status import Stopped
from tests.unit.lab_on_moto import LAB, LEDGER, LabOnMoto, lab_on_moto

MINUTE = timedelta(minutes=1)


class Ticking(Stopped):
    """A clock that moves a minute with each read."""

    def now(self) -> datetime:
        self._at += MINUTE
        return self._at


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        monkeypatch.setattr("time.sleep", lambda _: None)
        made.capacity.ledger.put_document(Lab.model_validate({"name": LAB}).to_json(), EIGHT)
        yield made


@pytest.fixture
def found(lab: LabOnMoto) -> Deployment:
    return Deployment(LAB, {"LedgerTable": LEDGER}, Ticking(EIGHT))


def watched(found: Deployment, *happens: object) -> None:
    """Read after each event, and end with Ctrl-C."""
    left = list(happens)

    def look() -> list[PoolView]:
        if not left:
            raise KeyboardInterrupt
        happening = left.pop(0)
        if isinstance(happening, Exception):
            raise happening
        if callable(happening):
            happening()
        return status.views_of(found, None)

    with pytest.raises(KeyboardInterrupt):
        status_watch.watch(found, look, 2)


def test_a_line_is_said_when_it_says_something_new(
    lab: LabOnMoto, found: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = found.ledger
    lab.lease(nodes=2)

    watched(
        found,
        lambda: None,
        lambda: ledger.note_progress("gpu", "cli-1", Stage.ARMED, 1, 1, EIGHT),
        lambda: None,
        lambda: ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT),
    )

    said = capsys.readouterr().out.splitlines()
    lease, rest = (
        "cli-1 is opening until Sat 21 Nov 07:00 KST",
        "settings waiting, GPUs waiting, checks waiting",
    )
    assert [line[10:] for line in said] == [
        "pool gpu is closed: 0 of 2 nodes",
        f"{lease}: armed waiting, nodes waiting, {rest}",
        f"{lease}: armed done, nodes waiting, {rest}",
        f"{lease}: armed done, nodes 1/2 late (up to 3m is normal), {rest}",
    ]
    assert said[0].startswith("05:01:00"), "by AWS's clock, in the lab's zone"


def test_a_look_that_fails_is_said_and_made_again(
    lab: LabOnMoto, found: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    watched(found, OutsideFailed("dynamodb:Query did not answer"), lambda: None)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "this read failed: dynamodb:Query did not answer"
    assert said[1].endswith("pool gpu is closed: 0 of 0 nodes")


def test_a_watch_on_a_terminal_moves_the_cursor_and_lets_nobody_else_move_it(
    found: Deployment, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    watched(found, lambda: None, OutsideFailed("no answer\x1b[2K\x1b]52;c;eA==\x07\nforged"))

    said = capsys.readouterr().out
    assert r"this read failed: no answer\x1b[2K\x1b]52;c;eA==\x07\nforged" in said
    assert "\x1b]52" not in said
    assert "\x1b[2K" in said, "the watch erases its own lines"


def test_a_world_that_stays_away_ends_the_watch(lab: LabOnMoto, found: Deployment) -> None:
    def look() -> list[PoolView]:
        raise OutsideFailed("no credentials")

    with pytest.raises(OutsideFailed, match="no credentials"):
        status_watch.watch(found, look, 2)


def test_looking_without_a_pause_is_refused(lab: LabOnMoto, found: Deployment) -> None:
    with pytest.raises(BadInput, match="1 second is the shortest"):
        status_watch.watch(found, list, 0.1)


def drawn(found: Deployment, *views: PoolView) -> str:
    """What a terminal shows of these pools a minute after eight."""
    console = Console(width=160, force_terminal=False)
    with console.capture() as captured:
        for view in views:
            console.print(pool_panel(view, EIGHT + MINUTE, found.zone))
    return captured.get()


def test_a_terminal_sees_stages_a_bar_nodes_the_end_and_the_cost(lab: LabOnMoto, found: Deployment) -> None:
    lab.lease(nodes=2)
    for stage, done in ((Stage.ARMED, 1), (Stage.NODES, 1)):
        found.ledger.note_progress("gpu", "cli-1", stage, done, done + (stage is Stage.NODES), EIGHT)
    [view] = status.views_of(found, None)
    shown = drawn(found, view)
    for words in ("opening", "✓ armed", "◐ nodes 1/2", "· GPUs", "18%", "alice", "07:00 KST", "so far"):
        assert words in shown, shown


def test_a_terminal_sees_that_a_kind_is_experimental(found: Deployment) -> None:
    [view] = status.views_of(found, None)
    assert drawn(found, view, replace(view, experimental=True)).count("experimental") == 1


def test_a_terminal_sees_the_boot_of_the_nodes_beside_what_is_usual(
    lab: LabOnMoto, found: Deployment
) -> None:
    lab.lease(nodes=2)
    boot = {
        BootStage.JOINED: Noted(2, 2, EIGHT, EIGHT + MINUTE),
        BootStage.READY: Noted(1, 2, EIGHT + MINUTE, EIGHT + MINUTE),
    }
    claims = {ClaimStage.LAUNCHED: Noted(2, 2, EIGHT, EIGHT + MINUTE / 20)}
    found.ledger.note_boot("gpu", "cli-1", boot, EIGHT + MINUTE)
    found.ledger.note_boot("gpu", "cli-1", claims, EIGHT + MINUTE)
    found.ledger.note_progress("gpu", "cli-1", Stage.GPUS, 0, 2, EIGHT)
    for number in range(3):
        receipt = {"lease": f"x-{number}", "stages": {"joined": 50 + number}}
        found.ledger.put_receipt("gpu", EIGHT - (number + 1) * MINUTE, f"x-{number}", receipt)
    [view] = status.views_of(found, None)
    shown = drawn(found, view)
    for words in (
        "✓ claims launched 2/2 3s (up to 3m is normal)",
        "✓ nodes joined 2/2 1m (usually 51s)",
        "◐ nodes ready 1/2 (up to 3m is normal)",
        "GPUs 0/2 (up to 8m is normal)",
    ):
        assert words in shown, shown
    [lease] = view.leases
    assert [stage.to_json()["stage"] for stage in lease.boot] == ["claim-launched", "joined", "node-ready"]
    assert "nodes joined 2/2 done 1m (usually 51s), nodes ready 1/2 going (up to 3m is normal)" in lease_line(
        lease, found.zone
    )


def test_an_interrupted_watch_ends_as_shells_say_it(
    lab: LabOnMoto, found: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    monkeypatch.setattr("cli.deployment.find", lambda _name: found)
    monkeypatch.setattr("sys.argv", ["lamplighter", "status", "--watch", "--interval", "1"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 130
    assert "pool gpu is closed" in capsys.readouterr().out


def test_a_watch_draws_for_people_and_writes_no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="--watch: is for a terminal, leave out --json"):
        status.command(watch=True, as_json=True)
