"""The demo's picture: what AWS has, the pool as `status --watch` draws it, and what happened last."""

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

from rich.console import Console

from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.views.lease_view import Known
from local.demo.view import DayEvent, LiveView, Now
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
