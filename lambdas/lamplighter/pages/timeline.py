"""The receipt's drawings: the lease with its nodes, events and cost, and its warm-up stage by stage."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from lamplighter.domain.views.receipt_view import Bar, ReceiptView
from lamplighter.pages.axis import Axis
from lamplighter.pages.drawing import MARGIN, Canvas, bar, drawn_for_all, ruled, shortened, words_at
from lamplighter.pages.html import Child, Html, el
from lamplighter.pages.moments import Moment, sentence
from lamplighter.pages.wording import Wording

TOP = 30
THICK = 16
ROW, ROW_NARROW = 28, 42
ABOVE = 18
"""Narrow paper: pixels that a name takes above its bar."""
DOT = 9
AREA = 64
MOST_NODES = 12
ROOM, ROOM_WITH_USUAL = 76, 250
"""Pixels that a length in words takes beside its bar, and with what is usual."""


def whole(view: ReceiptView, found: Sequence[Moment], words: Wording) -> Html:
    """The lease from its first instant to its proof."""
    desc = words(
        "timeline.desc",
        begins=words.moment(view.begins),
        ends=words.moment(view.ends),
        nodes=len(_nodes(view)) or view.nodes,
        cost=words.money(view.cost),
    )
    return drawn_for_all(
        "timeline", words("timeline.title"), desc, lambda paper: _whole(view, found, words, paper)
    )


def warm_up(view: ReceiptView, words: Wording) -> Html | None:
    """Stage by stage; None where nobody noted them."""
    stages = view.warm_up
    if not stages:
        return None
    said = (
        words("warm-up.stage", stage=words(f"stage.{each.label}"), length=_length(each, words))
        for each in stages
    )
    return drawn_for_all(
        "warm-up", words("warm-up.title"), "; ".join(said), lambda paper: _warm_up(view, stages, words, paper)
    )


def _whole(view: ReceiptView, found: Sequence[Moment], words: Wording, paper: Canvas) -> tuple[float, Child]:
    axis = _axis(view.begins, view.ends, paper)
    nodes, row = _nodes(view), _row_height(paper)
    drawn: list[Child] = []
    y: float = TOP
    for name, bars in [(words("timeline.lease"), _lease(view, words)), *_node_rows(nodes, words)]:
        drawn.append(_row(name, bars, y, axis, paper))
        y += row
    if len(nodes) > MOST_NODES:
        more = words("timeline.more-nodes", count=len(nodes) - MOST_NODES)
        drawn.append(words_at(axis.left, y + THICK / 2, more, "tick"))
        y += row
    if found:
        lanes, dots = _dots(found, y + (ABOVE if paper.narrow else 4), axis, words)
        drawn += [_name(words("timeline.moments"), y, paper), dots]
        y += (ABOVE if paper.narrow else 0) + lanes * (2 * DOT + 3) + 10
    drawn += [
        _name(words("timeline.came-to"), y, paper),
        _came_to(view, nodes, axis, y + ABOVE, _total(view, words, paper)),
    ]
    y += ABOVE + AREA + 6
    return y, [ruled(axis, words, TOP - 8, y), drawn]


def _lease(view: ReceiptView, words: Wording) -> list[tuple[Bar, str, str]]:
    bars = []
    for each in (one for one in view.bars if one.kind == "lease"):
        ready = (
            None if view.minutes_to_ready is None else each.begins + timedelta(minutes=view.minutes_to_ready)
        )
        if ready is None or not each.begins < ready < each.ends:
            bars.append((each, "lease", words.stretch(each.begins, each.ends)))
            continue
        warm = Bar("lease", each.label, each.begins, ready)
        bars += [
            (warm, "warming", words("timeline.warming", length=words.length(warm.length))),
            (Bar("lease", each.label, ready, each.ends), "lease", words.stretch(ready, each.ends)),
        ]
    return bars


def _node_rows(nodes: Sequence[Bar], words: Wording) -> list[tuple[str, list[tuple[Bar, str, str]]]]:
    return [
        (each.label, [(each, "node", f"{each.label}: {words.stretch(each.begins, each.ends)}")])
        for each in nodes[:MOST_NODES]
    ]


def _row(name: str, bars: Sequence[tuple[Bar, str, str]], y: float, axis: Axis, paper: Canvas) -> Html:
    top = y + (ABOVE if paper.narrow else 0)
    drawn = [
        bar(axis.x(each.begins), top, (axis.x(each.ends) - axis.x(each.begins), THICK), class_, tip)
        for each, class_, tip in bars
    ]
    return el("g", _name(name, y, paper), drawn)


def _name(name: str, y: float, paper: Canvas) -> Html:
    most = 44 if paper.narrow else 20
    return words_at(0, y + (6 if paper.narrow else THICK / 2), shortened(name, most), "name")


def _dots(found: Sequence[Moment], y: float, axis: Axis, words: Wording) -> tuple[int, Html]:
    """Numbers where things happened, on as many lanes as keep them apart."""
    ends: list[float] = []
    drawn = []
    for each in found:
        x = min(max(axis.x(each.entry.at), axis.left + DOT), axis.left + axis.width - DOT)
        lane = next((number for number, end in enumerate(ends) if x - DOT > end + 1), len(ends))
        ends[lane : lane + 1] = [x + DOT]
        middle = y + DOT + lane * (2 * DOT + 3)
        drawn.append(
            el(
                "g",
                el("title", f"{words.clock(each.entry.at)} {sentence(each.entry, words)}"),
                el("circle", cx=x, cy=middle, r=DOT, class_=f"dot {each.tone}"),
                words_at(x, middle, str(each.number), "number", "middle"),
            )
        )
    return len(ends), el("g", drawn)


def _came_to(view: ReceiptView, nodes: Sequence[Bar], axis: Axis, y: float, total: Html) -> Html:
    """GPU-minutes and cost as they added up."""
    ran = list(nodes) or [Bar("lease", "", view.begins, view.ends)]
    instants = sorted({view.begins, view.ends, *(each.begins for each in ran), *(each.ends for each in ran)})
    sums = [timedelta()]
    for before, after in pairwise(instants):
        running = sum(1 for each in ran if each.begins <= before and each.ends >= after)
        sums.append(sums[-1] + running * (after - before))
    most = max(sums[-1], timedelta(seconds=1))
    points = [(axis.x(at), y + AREA * (1 - each / most)) for at, each in zip(instants, sums, strict=True)]
    line = " ".join(f"{'L' if number else 'M'}{x:.1f} {at:.1f}" for number, (x, at) in enumerate(points))
    floor = y + AREA
    below = f"{line} L{points[-1][0]:.1f} {floor:.1f} L{points[0][0]:.1f} {floor:.1f} Z"
    return el(
        "g",
        el("path", d=below, class_="area"),
        el("path", d=line, class_="line"),
        el("line", x1=axis.left, y1=floor, x2=axis.left + axis.width, y2=floor, class_="floor"),
        el("g", total, transform=f"translate({axis.left:g} {y:g})"),
    )


def _total(view: ReceiptView, words: Wording, paper: Canvas) -> Html:
    """The sum, where the drawing has room for it."""
    cost = words.money(view.cost)
    minutes = view.gpu_minutes
    said = (
        words("timeline.total-cost", cost=cost)
        if minutes is None
        else words("timeline.total", minutes=f"{minutes:,}", cost=cost)
    )
    if paper.narrow:
        return words_at(paper.width - MARGIN, 6 - ABOVE, said, "total", "end")
    return words_at(4, 2, said, "total", "start")


def _warm_up(view: ReceiptView, stages: Sequence[Bar], words: Wording, paper: Canvas) -> tuple[float, Child]:
    begins = min([*(each.begins for each in stages), *([view.opened] if view.opened else [])])
    ends = max(each.ends for each in stages)
    # Room at the right for how long the last one took; what is usual stands in the name's line on narrow paper.
    axis = _axis(begins, ends, paper, room=ROOM if paper.narrow else ROOM_WITH_USUAL)
    drawn: list[Child] = []
    y: float = TOP
    for each in stages:
        class_ = "stage" if each.state == "done" else "stage short"
        name, said = words(f"stage.{each.label}"), _length(each, words)
        if paper.narrow and each.usual:
            name, said = f"{name} ({words.usually(each.usual)})", words.length(each.length)
        stretch = f"{words.second(each.begins)}–{words.second(each.ends)}"  # noqa: RUF001
        tip = f"{words(f'stage.{each.label}')}: {stretch}, {_length(each, words)}"
        drawn.append(_row(name, [(each, class_, tip)], y, axis, paper))
        middle = y + (ABOVE if paper.narrow else 0) + THICK / 2
        drawn.append(words_at(max(axis.x(each.ends), axis.x(each.begins) + 3) + 6, middle, said, "tick"))
        y += _row_height(paper)
    return y, [ruled(axis, words, TOP - 8, y), drawn]


def _length(stage: Bar, words: Wording) -> str:
    """How long it took, and usually takes."""
    took = words.length(stage.length)
    return f"{took}, {words.usually(stage.usual)}" if stage.usual else took


def _row_height(paper: Canvas) -> int:
    return ROW_NARROW if paper.narrow else ROW


def _axis(begins: datetime, ends: datetime, paper: Canvas, room: float = 0) -> Axis:
    left = paper.gutter + (0 if paper.narrow else MARGIN)
    return Axis(begins, ends, left, paper.width - paper.gutter - MARGIN - room)


def _nodes(view: ReceiptView) -> list[Bar]:
    return [each for each in view.bars if each.kind == "node"]
