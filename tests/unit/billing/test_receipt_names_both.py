"""The receipt names both the person who asked for a lease and the person who approved it."""

import json
from dataclasses import replace

import pytest

from cli.understand import receipt
from lamplighter.data.texts import Texts
from lamplighter.domain.billing import receipt as document
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.views import receipt_view
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.pages import receipt_page
from lamplighter.pages.wording import Wording
from lamplighter.reasons.reason import reason
from tests import page_views as views
from tests.unit.views.test_pages_html import Read

MINJI, SORA = "minji (U0STUDENT)", "sora (U0INSTRUCT)"
BECAUSE = f"{MINJI} asked for it because homework, and {SORA} approved it"
REASON = reason("slack.asked-and-approved.because", owner=MINJI, because="homework", by=SORA)


def approved() -> ReceiptView:
    """The receipt of such a lease."""
    lease: Lease = views.lease(
        id="slack-open-1", window=None, source="slack", owner=MINJI, by=SORA, because=REASON
    )
    closed = replace(lease, state=LeaseState.CLOSED, closed=lease.closes, cost=lease.hold)
    proof = {"at": "2026-12-01T12:31:00Z", "desired": 0, "instances": [], "kubernetes_nodes": []}
    kept = json.loads(json.dumps(document.receipt(closed, [], proof)))
    return receipt_view.of(kept, views.beside())


def test_on_its_page() -> None:
    text = Read(receipt_page.page(approved(), "lab", "ap-northeast-2", views.words())).text
    assert f"for {MINJI}" in text
    assert f"Opened by{SORA}" in "".join(text.split("\n"))
    assert BECAUSE in text


def test_on_its_page_in_korean() -> None:
    korean = Wording(Texts("ko"), views.words().zone)
    text = Read(receipt_page.page(approved(), "lab", "ap-northeast-2", korean)).text
    assert f"{MINJI} 님이 요청하고 {SORA} 님이 승인했습니다(사유: homework)" in text


def test_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    receipt.show(approved(), views.words())
    said = capsys.readouterr().out
    assert f"for {MINJI}" in said
    assert f"opened by {SORA}: {BECAUSE}" in said


def test_a_terminal_shows_stages_beside_their_usual_times(capsys: pytest.CaptureFixture[str]) -> None:
    view = views.evening()
    receipt.show(view, views.words())

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Node boots and joins 36 s usually 40 s" in lines
    assert any(line.startswith("Operator: driver 42 s ") for line in lines)
    usual = view.usual_stages()
    assert usual["joined"] == {"seconds": 40, "measured": True}
    assert usual["node-ready"] == {"seconds": 180, "measured": False}
    assert list(usual) == [bar.label for bar in view.warm_up]


def test_hours_used_stand_beside_hours_paid(capsys: pytest.CaptureFixture[str]) -> None:
    words = views.words()
    receipt.show(views.degraded(), words)
    page = Read(receipt_page.page(views.degraded(), "lab", "ap-northeast-2", words)).text

    use = "of 2.98 paid; 0.81 idle, 0.42 not known"
    assert f"GPU-hours used 1.75 {use}" in " ".join(capsys.readouterr().out.split())
    assert f"GPU-hours used1.75{use}" in "".join(page.split("\n"))


def test_nobody_is_named_for_the_lease_of_a_window(capsys: pytest.CaptureFixture[str]) -> None:
    receipt.show(views.evening(), views.words())
    assert "opened by" not in capsys.readouterr().out
