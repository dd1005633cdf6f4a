"""Of a lease that somebody asked for and somebody else approved, the receipt names both, wherever it is read."""

from dataclasses import replace

import pytest

from cli.understand import receipt
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money import receipt as document
from lamplighter.domain.views import receipt_view
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.pages import receipt_page
from tests import page_views as views
from tests.unit.views.test_pages_html import Read

MINJI, SORA = "minji (U0STUDENT)", "sora (U0INSTRUCT)"
BECAUSE = f"{MINJI} asked for it because homework, and {SORA} approved it"


def approved() -> ReceiptView:
    """The receipt of such a lease."""
    lease: Lease = views.lease(
        id="slack-open-1", window=None, source="slack", owner=MINJI, by=SORA, because=BECAUSE
    )
    closed = replace(lease, state=LeaseState.CLOSED, closed=lease.closes, cost=lease.hold)
    proof = {"at": "2026-12-01T12:31:00Z", "desired": 0, "instances": [], "kubernetes_nodes": []}
    return receipt_view.of(document.receipt(closed, [], proof), views.beside())


def test_on_its_page() -> None:
    text = Read(receipt_page.page(approved(), "lab", "ap-northeast-2", views.words())).text

    assert f"for {MINJI}" in text
    assert f"Opened by{SORA}" in "".join(text.split("\n"))
    assert BECAUSE in text


def test_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    receipt.show(approved(), views.words())

    said = capsys.readouterr().out
    assert f"for {MINJI}" in said
    assert f"opened by {SORA}: {BECAUSE}" in said


def test_a_window_opens_its_lease_itself_and_nobody_is_named_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    receipt.show(views.evening(), views.words())

    assert "opened by" not in capsys.readouterr().out
