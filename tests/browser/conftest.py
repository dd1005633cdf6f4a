"""One browser for all tests, and every page that is tested, written to a folder of its own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lamplighter.domain.views.lab_view import LabView
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.pages import lab_page, receipt_page
from tests import page_views as views
from tests.browser.chromium import Chromium, browser

INSTALL = "no Chromium with its driver is here: on Debian or Ubuntu, apt-get install chromium chromium-driver"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if browser() is None and any("browser" in item.nodeid for item in items):
        pytest.exit(INSTALL, returncode=2)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    running = Chromium()
    yield running
    running.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By name; in English but where the name says otherwise."""
    folder = tmp_path_factory.mktemp("pages")
    written = {name: folder / f"{name}.html" for name in drawn()}
    for name, page in drawn().items():
        written[name].write_text(page, "utf-8")
    return written


def drawn() -> dict[str, str]:
    def receipt(view: ReceiptView, language: str = "en") -> str:
        return receipt_page.page(view, "seoul-lab", "ap-northeast-2", views.words(language))

    def lab(view: LabView, language: str = "en") -> str:
        return lab_page.page(view, views.words(language))

    return {
        "receipt": receipt(views.evening()),
        "receipt-one-node": receipt(views.crowd(1)),
        "receipt-eight-nodes": receipt(views.crowd(8)),
        "receipt-degraded": receipt(views.degraded()),
        "receipt-unleased": receipt(views.unleased()),
        "receipt-long-names": receipt(views.named(views.degraded(), views.LONG)),
        "receipt-hostile-names": receipt(views.named(views.degraded(), views.HOSTILE)),
        "receipt-korean": receipt(views.degraded(), "ko"),
        "lab": lab(views.busy_lab()),
        "lab-new": lab(views.new_lab()),
        "lab-after-its-first-lease": lab(replace(views.new_lab(), past=views.past()[:1])),
        "lab-long-names": lab(views.named_lab(views.LONG)),
        "lab-hostile-names": lab(views.named_lab(views.HOSTILE)),
        "lab-korean": lab(views.busy_lab(), "ko"),
    }
