"""The calendar files beside a lab: read once, where the lab is read, and carried in it from then on.

Owns which files those are and what is wrong with them: calendars of courses, whose events windows follow, and of
holidays, whose whole days are exceptions. What an event means is adapters.calendars', and addresses are read by the
planner. Only the command line and synthesis come here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path as FilePath
from typing import TypeVar

from lamplighter.adapters.calendars import holidays as holidays_calendar
from lamplighter.adapters.calendars.course import CourseCalendar
from lamplighter.adapters.calendars.text import LARGEST, LARGEST_KEPT, CourseText, read
from lamplighter.errors import BadInput
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason

Content = TypeVar("Content")


def filled(lab: Lab, folder: FilePath) -> tuple[Lab, list[tuple[Path, str]]]:
    """The lab with the text of every calendar file that its windows name, and what is wrong with them."""
    wrong: list[tuple[Path, str]] = []
    texts = _each(_named(lab), lambda name: _course(lab, name, folder).text, wrong)
    if sum(len(text.encode()) for text in texts.values()) > LARGEST_KEPT:
        text = f"come to more than {LARGEST_KEPT // 1024} KiB of times together, put one at an https address"
        wrong.append((("calendars",), text))
    holidays = _each(_of_holidays(lab), lambda name: list(_holidays(folder, name).days), wrong)
    if sum(map(len, holidays.values())) > holidays_calendar.MOST_DAYS:
        text = f"name files with more than {holidays_calendar.MOST_DAYS} whole days together, export fewer"
        wrong.append((("except",), text))
    return lab.model_copy(update={"calendars": texts or None, "holidays": holidays or None}), wrong


def _each(
    named: Iterable[tuple[Path, str]], read_file: Callable[[str], Content], wrong: list[tuple[Path, str]]
) -> dict[str, Content]:
    """What each file holds, read once; `wrong` gets those that cannot be used."""
    contents: dict[str, Content] = {}
    for path, name in named:
        if name not in contents:
            try:
                contents[name] = read_file(name)
            except BadInput as error:
                wrong.append((path, f"names {name}, which cannot be used: {error}"))
    return contents


def faults(lab: Lab, folder: FilePath) -> Iterator[tuple[str, Said]]:
    """The events of calendar files that cannot open a pool or are in doubt, with the file; none of a bad file."""
    zones = {name: lab.zone_of(lab.windows[index]) for (_, index, _), name in _named(lab)}
    for name, zone in zones.items():
        try:
            found = _course(lab, name, folder, again=True)
            exceptions = CourseCalendar(found.text).unmatched_exceptions(zone)
        except BadInput:
            continue
        yield from ((name, fault) for fault in (*found.faults, *found.doubts, *exceptions))
    for name in dict.fromkeys(name for _, name in _of_holidays(lab)):
        with suppress(BadInput):
            if timed := _holidays(folder, name).timed:
                yield name, reason("calendar.holidays.timed", events=timed)


def _named(lab: Lab) -> Iterator[tuple[tuple[str, int, str], str]]:
    for index, window in enumerate(lab.windows):
        if window.calendar is not None and not window.online:
            yield ("windows", index, "calendar"), window.calendar


def _of_holidays(lab: Lab) -> Iterator[tuple[Path, str]]:
    lists: list[tuple[Path, Sequence[object]]] = [(("except",), lab.except_)]
    lists += [(("windows", index, "except"), window.except_) for index, window in enumerate(lab.windows)]
    for path, exceptions in lists:
        yield from (((*path, order), each) for order, each in enumerate(exceptions) if isinstance(each, str))


def _holidays(folder: FilePath, name: str) -> holidays_calendar.Holidays:
    return _read_holidays(_content(folder / name))


@lru_cache(maxsize=4)
def _read_holidays(content: bytes) -> holidays_calendar.Holidays:
    return holidays_calendar.read(content)


def _course(lab: Lab, name: str, folder: FilePath, *, again: bool = False) -> CourseText:
    written = None if again else (lab.calendars or {}).get(name)
    return _read(_content(folder / name) if written is None else written.encode())


@lru_cache(maxsize=4)
def _read(content: bytes) -> CourseText:
    """A lab is read, then asked what was left out of its calendars: parsing one again takes as long again."""
    return read(content)


def _content(path: FilePath) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        raise BadInput("it is not beside the lab, put it there or name another") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"it cannot be read ({reason}), put a calendar there or name another") from None
