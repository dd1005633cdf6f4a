"""What the drawings share: SVG that is drawn for a screen, for a tablet and print, and for a phone,
with a title and a description.

Colours are the style sheet's, by class, so that a drawing follows light, dark and print.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lamplighter.pages.axis import Axis
from lamplighter.pages.html import Child, Html, el
from lamplighter.pages.wording import Wording

MARGIN = 10
"""Pixels beside what is drawn, at the right and between names and bars."""
HALF_TIME = 18
"""Half of the pixels that a time takes, such as `20:00`."""
BASELINE = 4
"""Pixels that a text's baseline lies below its middle."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """What is drawn on."""

    name: str
    """wide, middle or narrow."""
    width: float
    gutter: float
    """Pixels on the left for names; 0 where names stand above."""

    @property
    def narrow(self) -> bool:
        """Whether names stand above what they name."""
        return not self.gutter


WIDE = Canvas("wide", 940, 144)
MIDDLE = Canvas("middle", 640, 144)
NARROW = Canvas("narrow", 340, 0)


def drawn_for_all(name: str, title: str, desc: str, draw: Callable[[Canvas], tuple[float, Child]]) -> Html:
    """The drawing for every paper; the style sheet shows the one that fits."""
    return el(
        "div",
        [_svg((name, title, desc), paper, *draw(paper)) for paper in (WIDE, MIDDLE, NARROW)],
        class_="drawing",
    )


def _svg(called: tuple[str, str, str], paper: Canvas, height: float, drawn: Child) -> Html:
    name, title, desc = called
    about = f"{name}-{paper.name}"
    return el(
        "svg",
        el("title", title, id=f"{about}-title"),
        el("desc", desc, id=f"{about}-desc"),
        drawn,
        viewBox=f"0 0 {paper.width:g} {height:g}",
        class_=paper.name,
        role="img",
        aria_labelledby=f"{about}-title {about}-desc",
    )


def words_at(x: float, y: float, said: str, class_: str = "", anchor: str | None = None) -> Html:
    """A text, its middle at y."""
    return el("text", said, x=x, y=y + BASELINE, class_=class_ or None, text_anchor=anchor)


def bar(x: float, y: float, size: tuple[float, float], class_: str, tip: str) -> Html:
    """A bar so wide and high, with what a pointer is told."""
    width, height = size
    return el("rect", el("title", tip), x=x, y=y, width=max(3.0, width), height=height, rx=3, class_=class_)


def ruled(axis: Axis, words: Wording, top: float, bottom: float) -> list[Html]:
    """The ticks with their times above, and a faint line down from each."""
    drawn = []
    for tick in axis.ticks(words.zone):
        x = axis.x(tick)
        # A label at an end moves inwards only as far as it must.
        middle = min(max(x, HALF_TIME), axis.left + axis.width + MARGIN - HALF_TIME)
        drawn += [
            el("line", x1=x, y1=top, x2=x, y2=bottom, class_="rule"),
            words_at(middle, top - 10, words.clock(tick), "tick", "middle"),
        ]
    return drawn


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
