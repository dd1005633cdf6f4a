"""A simulation as a month calendar: a letter for each window or lease on the days it opens or is refused.

Plain text in seven columns; colour on a terminal only. The tables above it have the details.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import groupby
from string import ascii_lowercase, ascii_uppercase
from zoneinfo import ZoneInfo

from rich.text import Text

from cli import printing
from lamplighter.domain.calendar.occurrences import Code
from lamplighter.domain.planner.simulation import Simulation
from lamplighter.lab.model import Lab
from lamplighter.values import zones

LETTERS = ascii_lowercase + ascii_uppercase
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
NARROWEST, MOST_LETTERS = 8, 8
MOST_MONTHS = 24
REFUSED, EXCEPTED = "!", "-"
_OPENS, _REFUSED, _LEFT_OUT = "green", "bold red", "dim"
Mark = tuple[str, str]
"""A few characters, and how they look on a terminal."""


def months(lab: Lab, simulation: Simulation) -> list[Text]:
    """The lines of every month in which something happens, at most 24, and the meaning of the letters."""
    letters = _letters(_named(lab, simulation))
    days = _days(lab, simulation, letters)
    if not days:
        return []
    lines: list[Text] = []
    grouped = groupby(sorted(days), key=lambda day: (day.year, day.month))
    for number, ((year, month), _) in enumerate(grouped):
        if number == MOST_MONTHS:
            lines += [Text(f"Further months are left out here: {MOST_MONTHS} are drawn."), Text()]
            break
        lines += _month(date(year, month, 1), days)
    return [*lines, *_legend(letters, simulation)]


def show(lab: Lab, simulation: Simulation) -> None:
    """Prints them to stdout, in colour on a terminal."""
    console = printing.Console(highlight=False, soft_wrap=True, markup=False)
    for line in months(lab, simulation):
        console.write(line if console.is_terminal else line.plain)


def _named(lab: Lab, simulation: Simulation) -> list[str]:
    """The windows in the file's order, then what only a deployed lab has: leases of people, and old windows'."""
    played = [one.window for one in simulation.windows] + [one.window for one in simulation.skipped]
    return list(dict.fromkeys([*(window.name for window in lab.windows), *played]))


def _letters(names: list[str]) -> dict[str, str]:
    """A letter for each of them; none where there are more names than letters."""
    return dict(zip(names, LETTERS, strict=False)) if len(names) <= len(LETTERS) else {}


def _days(lab: Lab, simulation: Simulation, letters: dict[str, str]) -> dict[date, list[Mark]]:
    """What happens on each date, in the zone of its window, in the order of opening."""
    ours = zones.zone(lab.time_zone)
    zone_of = {window.name: zones.zone(lab.zone_of(window)) for window in lab.windows}
    opens: defaultdict[date, list[str]] = defaultdict(list)
    refused: defaultdict[date, list[str]] = defaultdict(list)
    left_out: defaultdict[date, list[str]] = defaultdict(list)
    for one in simulation.windows:
        opens[_date(one.begins, zone_of.get(one.window, ours), one.date)].append(one.window)
    for other in simulation.skipped:
        (left_out if other.code is Code.EXCEPTED else refused)[other.date].append(other.window)
    return {
        day: [
            *_marks(opens[day], letters, "", _OPENS),
            *_marks(refused[day], letters, REFUSED, _REFUSED),
            *_marks(left_out[day], letters, EXCEPTED, _LEFT_OUT),
        ]
        for day in {*opens, *refused, *left_out}
    }


def _date(begins: int, where: ZoneInfo, named: date) -> date:
    try:
        return zones.instant(begins).astimezone(where).date()
    except OverflowError:
        return named


def _marks(windows: Iterable[str], letters: dict[str, str], sign: str, style: str) -> Iterator[Mark]:
    """Letters, or a number where there are too many for a day's cell."""
    counted = Counter(windows)
    if not counted:
        return
    many = sum(counted.values())
    if not letters or many > MOST_LETTERS:
        yield f"{sign}{many}", style
        return
    yield from ((f"{sign}{letters[name]}" * count, style) for name, count in counted.items())


def _month(first: date, days: dict[date, list[Mark]]) -> Iterator[Text]:
    cells = {day: marks for day, marks in days.items() if (day.year, day.month) == (first.year, first.month)}
    widest = max(3 + sum(len(text) for text, _ in marks) for marks in cells.values())
    width = max(NARROWEST, widest + 1)
    yield Text(f"{datetime(first.year, first.month, 1):%B %Y}", style="bold")  # noqa: DTZ001 - a name, no instant
    yield _line([Text(name) for name in WEEKDAYS], width)
    week: list[Text] = [Text()] * first.weekday()
    day = first
    while day.month == first.month:
        week.append(Text(f"{day.day:2} "))
        for text, style in cells.get(day, ()):
            week[-1].append(text, style)
        if len(week) == len(WEEKDAYS):
            yield _line(week, width)
            week = []
        if day == date.max:
            break
        day += timedelta(days=1)
    if week:
        yield _line(week, width)
    yield Text()


def _line(cells: list[Text], width: int) -> Text:
    line = Text()
    for cell in cells:
        padded = cell.copy()
        padded.pad_right(width - len(padded.plain))
        line.append_text(padded)
    line.rstrip()
    return line


def _legend(letters: dict[str, str], simulation: Simulation) -> Iterator[Text]:
    asked = {one.window for one in simulation.windows} | {one.window for one in simulation.skipped}
    if letters:
        yield Text(", ".join(f"{letter} {name}" for name, letter in letters.items() if name in asked))
    else:
        yield Text("Numbers are windows that open on the day")
    signs = {one.code is Code.EXCEPTED for one in simulation.skipped}
    told = [f"{REFUSED} does not open, see Skipped"] * (False in signs)
    told += [f"{EXCEPTED} taken out of the calendar"] * (True in signs)
    if told:
        yield Text(", ".join(told))
    yield Text()
