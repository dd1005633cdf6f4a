"""The pages in a real Chromium: axe finds nothing, nothing is cut off, nothing is fetched or run, and they print."""

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.browser.conftest import drawn

NAMES = sorted(drawn())
WIDTHS = (390, 1440)
#: Elements whose text does not fit: wider than the window, or than the box that hides what is too much.
CUT_OFF = """
[...document.querySelectorAll('body *')].filter(each => {
  if (each.closest('.unseen, .skip, thead, title, desc') || getComputedStyle(each).display === 'none') return false;
  const box = each.getBoundingClientRect();
  if (!box.width || !box.height) return false;
  const hides = getComputedStyle(each).overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1;
  const drawing = each.ownerSVGElement && each.ownerSVGElement.getBoundingClientRect();
  if (drawing && (box.right > drawing.right + 3 || box.left < drawing.left - 3)) return true;
  return hides || box.right > WIDTH + 1 || box.left < -1;
}).map(each => each.tagName + '.' + (each.getAttribute('class') || '') + ': ' + each.textContent.slice(0, 60))
"""
#: Texts of drawings that are too small to read, or blown up.
SIZES = """
[...document.querySelectorAll('svg[role=img] text')]
  .map(each => [each.textContent, each.getBoundingClientRect().height])
  .filter(([, height]) => height && (height < 10 || height > 24))
"""
#: Which of a drawing's papers are to be seen.
PAPERS = """
[...document.querySelectorAll('#timeline svg')].filter(each => each.getBoundingClientRect().width)
  .map(each => each.getAttribute('class'))
"""
#: Texts of one drawing that lie on one another.
OVERLAPPING = """
[...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].map(each => [each, each.getBoundingClientRect()])
    .filter(([, box]) => box.width);
  return texts.flatMap(([one, a], number) => texts.slice(number + 1)
    .filter(([, b]) => a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
    .map(([other]) => one.textContent + ' / ' + other.textContent));
})
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_accessible_and_whole(
    chromium: Chromium, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    chromium.show(pages[name], width, scheme)
    found = [
        f"{each['id']} ({each['impact']}): {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in chromium.axe()
        for node in each["nodes"]
    ]
    assert found == []
    # A phone's window grows with what does not fit: it is measured against the device.
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert chromium.ask(CUT_OFF.replace("WIDTH", str(width))) == []
    assert chromium.ask(OVERLAPPING) == []
    assert chromium.ask(SIZES) == []
    assert chromium.said() == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_run_and_nothing_is_fetched(chromium: Chromium, pages: dict[str, Path], name: str) -> None:
    chromium.show(pages[name], 1440)
    assert chromium.ask("document.scripts.length + document.images.length") == 0
    assert chromium.ask("performance.getEntriesByType('resource').length") == 0
    assert (
        chromium.ask("document.querySelectorAll('[onerror],[onload],[onclick],iframe,object,embed').length")
        == 0
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["receipt-degraded", "lab"])
def test_a_page_prints_dark_on_white_with_every_section(
    chromium: Chromium, pages: dict[str, Path], name: str, scheme: str
) -> None:
    chromium.show(pages[name], 794, scheme, media="print")
    assert chromium.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.ask("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
    assert chromium.ask(
        "[...document.querySelectorAll('main > section')].every(each => each.offsetHeight > 20)"
    )
    printed = chromium.printed()
    assert set(chromium.ask(PAPERS)) <= {"middle"}
    assert chromium.ask(SIZES) == []
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000


def test_a_drawing_is_drawn_for_the_width(chromium: Chromium, pages: dict[str, Path]) -> None:
    chromium.show(pages["receipt"], 390)
    assert set(chromium.ask(PAPERS)) == {"narrow"}
    for name in ("receipt-long-names", "receipt-hostile-names", "receipt"):
        chromium.show(pages[name], 768)
        assert set(chromium.ask(PAPERS)) == {"middle"}
        assert chromium.ask(OVERLAPPING) + chromium.ask(SIZES) == []
    chromium.show(pages["receipt"], 1440)
    assert set(chromium.ask(PAPERS)) == {"wide"}


def test_who_uses_the_keyboard_comes_to_the_content_first(chromium: Chromium, pages: dict[str, Path]) -> None:
    chromium.show(pages["lab"], 1440)
    assert chromium.ask("document.querySelector('a').getAttribute('href')") == "#main"
    assert chromium.ask("document.documentElement.lang") == "en"
    chromium.show(pages["lab-korean"], 1440)
    assert chromium.ask("document.documentElement.lang") == "ko"
