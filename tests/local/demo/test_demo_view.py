"""The demo's picture: what AWS has, the pool as `status --watch` draws it, and what happened last."""

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.views.lease_view import Known
from lamplighter.reasons.reason import reason
from local.demo.view import DayEvent, LiveView, Now, PlainView
from tests.unit.views.test_views import EIGHT, EVENING, POOL, noted, pool, shown


def test_the_picture_shows_stages_nodes_the_end_and_the_cost() -> None:
    console = Console(width=110, height=40, force_terminal=True, color_system=None, record=True)
    view = LiveView(ZoneInfo("Asia/Seoul"), console)
    known = Known(POOL, progress={Stage.ARMED: noted(1, 1), Stage.NODES: noted(1, 2)})
    drawn = replace(pool(None, EVENING), leases=(shown(EVENING, 1, known),))

    view.now(Now(EIGHT + timedelta(minutes=1), 1, 2, "open: AwaitNodes", lambda: drawn))
    view.line(DayEvent(EIGHT, "lease-granted", "window evening", "granted the evening lease"))
    console.print(view.picture())

    said = console.export_text()
    for words in (
        "●○",
        "1 of 2 GPU nodes",
        "✓ armed",
        "◐ nodes 1/2",
        "until Fri 20 Nov 23:00 KST",
        "0.04 USD so far",
    ):
        assert words in said, said
    assert "granted the evening lease" in said


def test_an_event_s_instants_are_by_the_clock_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    zone, what = ZoneInfo("Asia/Seoul"), reason("audit.failsafe-armed", pool="gpu", at=EIGHT)
    view = LiveView(zone, Console())
    for each in (PlainView(zone), view):
        each.line(DayEvent(EIGHT, "failsafe-armed", "leases", what))
    Console(width=120).print(view.picture())
    assert capsys.readouterr().out.count("for 20:00 on 2026-11-20 (Asia/Seoul)") == 2
