"""The calendar: days as rows, the hours of the lab's clock across, a bar for each window behind and ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from lamplighter.domain.views.lab_view import LabView, PastLease, WindowView
from lamplighter.pages.drawing import Canvas, bar, drawn_for_all, shortened, words_at
from lamplighter.pages.frame import badge, section
from lamplighter.pages.html import Child, Html, el
from lamplighter.pages.tables import body, cell, row, table
from lamplighter.pages.wording import Wording

BEHIND, AHEAD = timedelta(days=7), timedelta(days=14)
ROW, THICK, TOP = 24, 14, 24
GUTTER = {"wide": 96, "middle": 96, "narrow": 62}
EVERY = {"wide": 2, "middle": 3, "narrow": 6}
DAY = 24.0
HOURS = 3600
LABELLED, LETTER = 44, 6.2
"""Pixels of a bar that a name fits into, and of a letter."""
KIND = {
    "planned": "quiet",
    "skipped": "late",
    "refused": "failed",
    "open": "open",
    "closed": "passed",
    "missed": "failed",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One bar, whole; where it passes midnight it is drawn on two days."""

    name: str
    state: str
    opens: datetime
    closes: datetime


def calendar(view: LabView, words: Wording) -> Html:
    """The drawing, and the windows to come as a table."""
    slots = _slots(view)
    title = words("calendar.title")
    body = drawn_for_all(
        "calendar-drawing", title, _desc(view, slots, words), lambda paper: _drawn(view, slots, words, paper)
    )
    states = list(dict.fromkeys(slot.state for slot in slots))
    legend = [
        el("li", el("span", class_=f"swatch {state}", aria_hidden="true"), words(f"window.{state}"))
        for state in states
    ]
    return section(
        "calendar", title, body, el("ul", legend, class_="legend") if legend else None, _coming(view, words)
    )


def _slots(view: LabView) -> list[Slot]:
    begins, ends = view.now - BEHIND, view.now + AHEAD
    ahead = [
        Slot(each.window or each.owner, each.state.value, each.opens, each.closes)
        for each in view.windows
        if each.opens and each.closes
    ]
    running = [
        Slot(lease.window or lease.owner, "open", lease.opens, lease.closes)
        for pool in view.pools
        for lease in (*pool.leases, *pool.closing)
    ]
    known = {(slot.name, slot.opens) for slot in running}
    behind = [
        Slot(each.window or each.owner or each.pool, _went(each), each.opened, each.closed)
        for each in view.past
        if each.opened and each.lease
    ]
    found = [*behind, *running, *(slot for slot in ahead if (slot.name, slot.opens) not in known)]
    return [slot for slot in found if slot.closes > begins and slot.opens < ends]


def _went(each: PastLease) -> str:
    return "failed" if each.verdict and each.verdict.value == "failed" else "closed"


def _desc(view: LabView, slots: Sequence[Slot], words: Wording) -> str:
    if not slots:
        return words("calendar.none")
    first = min(slots, key=lambda slot: slot.opens)
    last = max(slots, key=lambda slot: slot.closes)
    return words(
        "calendar.desc",
        count=len(slots),
        begins=words.moment(first.opens),
        ends=words.moment(last.closes),
        at=words.moment(view.now),
    )


def _drawn(view: LabView, slots: Sequence[Slot], words: Wording, paper: Canvas) -> tuple[float, Child]:
    left, today = GUTTER[paper.name], view.now.astimezone(words.zone).date()
    width = paper.width - left - 4
    days = [today - BEHIND + timedelta(days=number) for number in range((BEHIND + AHEAD).days)]
    drawn: list[Child] = []
    y: float = TOP
    for day in days:
        lanes = _lanes(slots, day, words)
        height = ROW + (len(lanes) - 1) * (THICK + 2) if lanes else ROW
        drawn += [
            el("rect", x=0, y=y, width=paper.width, height=height, class_="today") if day == today else None,
            _day(day, y, words, paper),
            [
                _bar(slot, day, y + (ROW - THICK) / 2 + lane * (THICK + 2), (left, width), words)
                for lane, found in enumerate(lanes)
                for slot in found
            ],
        ]
        if day == today:
            x = left + width * _hours(view.now, today, words) / DAY
            drawn.append(el("line", x1=x, y1=y, x2=x, y2=y + height, class_="now-line"))
        y += height
    return y + 2, [_clock(left, width, y, paper), drawn]


def _clock(left: float, width: float, bottom: float, paper: Canvas) -> list[Html]:
    """The hours across, with a line down from each."""
    hours = range(0, 25, EVERY[paper.name])
    places = [(hour, left + width * hour / DAY) for hour in hours]
    lines = [el("line", x1=x, y1=TOP - 4, x2=x, y2=bottom, class_="rule") for _, x in places]
    return lines + [
        words_at(x, TOP - 14, f"{hour:02}", "tick", "end" if hour == DAY else "middle") for hour, x in places
    ]


def _day(day: date, y: float, words: Wording, paper: Canvas) -> Html:
    noon = datetime.combine(day, time(12), words.zone)
    said = _short(noon, words) if paper.narrow else words.short_day(noon)
    weekend = " weekend" if day.isoweekday() > 5 else ""  # noqa: PLR2004 -- Saturday and Sunday
    return words_at(4, y + ROW / 2, said, f"name{weekend}")


def _lanes(slots: Sequence[Slot], day: date, words: Wording) -> list[list[Slot]]:
    """The day's slots, those that overlap below one another."""
    today = [
        slot for slot in slots if _hours(slot.opens, day, words) < DAY and _hours(slot.closes, day, words) > 0
    ]
    lanes: list[list[Slot]] = []
    for slot in sorted(today, key=lambda each: each.opens):
        free = next((lane for lane in lanes if lane[-1].closes <= slot.opens), None)
        if free is None:
            lanes.append([slot])
        else:
            free.append(slot)
    return lanes


def _short(noon: datetime, words: Wording) -> str:
    return words("calendar.day", weekday=words(f"weekday.{noon.isoweekday()}"), day=noon.day)


def _bar(slot: Slot, day: date, y: float, across: tuple[float, float], words: Wording) -> Html:
    left, width = across
    begins, ends = _hours(slot.opens, day, words), _hours(slot.closes, day, words)
    x, until = left + width * max(0.0, begins) / DAY, left + width * min(DAY, ends) / DAY
    tip = f"{slot.name}: {words.stretch(slot.opens, slot.closes)}, {words(f'window.{slot.state}')}"
    name = shortened(slot.name, int((until - x - 8) / LETTER))
    return el(
        "g",
        bar(x, y, (until - x, THICK), f"slot {slot.state}", tip),
        words_at(x + 5, y + THICK / 2, name, f"in-bar {slot.state}") if until - x > LABELLED else None,
    )


def _hours(at: datetime, day: date, words: Wording) -> float:
    """Hours of the wall clock from a day's midnight."""
    here = at.astimezone(words.zone).replace(tzinfo=None)
    return (here - datetime.combine(day, time())).total_seconds() / HOURS


def _coming(view: LabView, words: Wording) -> Html:
    caption = words("calendar.coming")
    found = [each for each in view.windows if each.opens is None or each.opens < view.now + AHEAD]
    if not found:
        return el("p", words("calendar.nothing"), class_="nothing")
    columns = [words("calendar.when"), words("calendar.what"), words("calendar.state")]
    return table(
        caption, columns, [body([_row(each, words) for each in found])], quiet=False, class_="coming"
    )


def _row(each: WindowView, words: Wording) -> Html:
    when = words.stretch(each.opens, each.closes) if each.opens and each.closes else each.date
    what = f"{words('pool-nodes', pool=each.pool, nodes=each.nodes)}, {each.owner}"
    return row(
        cell(when, class_="when"),
        cell(el("strong", el("bdi", each.window or each.owner)), el("p", el("bdi", what), class_="why")),
        cell(
            badge(KIND[each.state.value], words(f"window.{each.state.value}")),
            el("p", el("bdi", words.told(each.because)), class_="why") if each.because else None,
            el("p", words("calendar.capacity", capacity=words.told(each.capacity.said)), class_="why")
            if each.capacity
            else None,
            el("p", el("bdi", words.told(each.readiness.said)), class_="why") if each.readiness else None,
        ),
    )
