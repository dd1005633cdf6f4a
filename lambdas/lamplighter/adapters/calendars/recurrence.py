"""Which recurrence rules of a course calendar are read: those that courses use and that always have a next date.

The library would look for the next date of a rule without one (30 February; every second February from March on) until
the year 9999; a thousand such rules take hours. Strangers write calendars, so such rules are refused.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from lamplighter.reasons.reason import Reason, reason

FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
MOST_TIMES = 5000
LONGEST_INTERVAL = 400
ALWAYS_THERE = 28
"""Every month has so many days."""
LAST_ORDINAL = 5
LAST_PLACE = 4
# The parts that may narrow a rule, by its frequency; COUNT, UNTIL, INTERVAL and WKST may be in any.
NARROWED_BY = {
    "DAILY": {"BYDAY", "BYMONTH"},
    "WEEKLY": {"BYDAY", "BYMONTH"},
    "MONTHLY": {"BYDAY", "BYMONTH", "BYMONTHDAY", "BYSETPOS"},
    "YEARLY": {"BYDAY", "BYMONTH", "BYMONTHDAY"},
}
CLOCK = {"BYHOUR": 23, "BYMINUTE": 59, "BYSECOND": 59}
"""The parts that name a time of day, with the greatest number of each."""
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY = re.compile(rf"([+-]?[0-9]{{1,2}})?({'|'.join(WEEKDAYS)})")
Rule = Mapping[str, Any]
"""A recurrence as icalendar reads it: each part a list of values."""


def fault(rule: Rule) -> Reason | None:
    """Why a recurrence is not read, or None."""
    frequency = frequency_of(rule)
    if frequency not in FREQUENCIES:
        return reason("calendar.rule.frequency", frequency=frequency)
    narrowed = {str(part).upper() for part in rule} - {"FREQ", "COUNT", "UNTIL", "INTERVAL", "WKST"}
    unread = sorted(narrowed - NARROWED_BY[frequency])
    if unread:
        return reason("calendar.rule.part", frequency=frequency, part=unread[0])
    if numbers(rule, "COUNT", 1)[0] > MOST_TIMES:
        return reason("calendar.rule.too-often", most=MOST_TIMES)
    if not _comes_again(rule, frequency, narrowed):
        return reason("calendar.rule.uncertain")
    return None


def plain(rule: Rule, begin: datetime) -> Rule:
    """The rule without its time of day, where that is the time of the begin: Lotus Notes writes it twice."""
    own = {"BYHOUR": begin.hour, "BYMINUTE": begin.minute, "BYSECOND": begin.second}
    said = {part for part in rule if part.upper() in own and list(values(rule, part)) == [own[part.upper()]]}
    return {part: value for part, value in rule.items() if part not in said}


def is_of_a_zone(text: str) -> bool:
    """Whether clocks that follow this rule certainly change again: once a year, on a weekday or on a date.

    Lotus Notes writes the time of day in the rule (tritech/node-icalendar #38).
    """
    parts = dict(part.split("=", 1) for part in text.upper().split(";") if "=" in part)
    rule = {name: value.split(",") for name, value in parts.items()}
    if rule.get("FREQ") != ["YEARLY"] or len(parts) != text.count("=") or "BYMONTH" not in rule:
        return False
    for part, most in CLOCK.items():
        said = rule.pop(part, ["0"])
        if len(said) != 1 or not said[0].isdecimal() or int(said[0]) > most:
            return False
    # "A Sunday from the 8th to the 14th" is the second Sunday.
    if "BYDAY" in rule and len(rule.get("BYMONTHDAY", ())) >= len(WEEKDAYS):
        del rule["BYMONTHDAY"]
    try:
        return fault(rule) is None
    except ValueError:
        return False


def frequency_of(rule: Rule) -> str:
    """DAILY, WEEKLY, MONTHLY, YEARLY, or another frequency, which is not read."""
    return str(rule["FREQ"][0]).upper()


def numbers(rule: Rule, part: str, otherwise: int) -> list[int]:
    """The numbers of a part of a rule, or the default where it is left out."""
    return [int(each) for each in values(rule, part)] or [otherwise]


def values(rule: Rule, part: str) -> Sequence[Any]:
    """The values of a part of a rule; empty where it is left out."""
    found = rule.get(part, ())
    return found if isinstance(found, Sequence) and not isinstance(found, str) else [found]


def interval(rule: Rule) -> int:
    """The number of days, weeks, months or years from one date to the next."""
    return numbers(rule, "INTERVAL", 1)[0]


def most_a_day(rule: Rule) -> float:
    """The greatest average number of dates a day of a rule that is read."""
    every = interval(rule)
    weekdays = len(values(rule, "BYDAY"))
    match frequency_of(rule):
        case "DAILY":
            return 1 / every
        case "WEEKLY":
            return max(1, weekdays) / 7 / every
        case "MONTHLY":
            return max(1, 5 * weekdays, len(values(rule, "BYMONTHDAY"))) / 28 / every
        case _:
            months = max(1, len(values(rule, "BYMONTH")))
            return max(1, 53 * weekdays, months * len(values(rule, "BYMONTHDAY"))) / 365 / every


def later(rule: Rule, begin: date, days: int) -> int:
    """By how many of `days` the begin of a rule may move without a change of its later dates.

    0 for a rule that counts its dates, or whose begin may not be one of them.
    """
    narrowed = {str(part).upper() for part in rule} - {"FREQ", "UNTIL", "INTERVAL", "WKST"}
    frequency = frequency_of(rule)
    if frequency == "DAILY" and not narrowed:
        step = interval(rule)
    elif frequency == "WEEKLY" and narrowed <= {"BYDAY"} and _on_its_day(rule, begin):
        step = 7 * interval(rule)
    else:
        return 0
    return max(0, days - 2 * step) // step * step


def _on_its_day(rule: Rule, begin: date) -> bool:
    """Whether a weekly rule names the weekday on which it begins."""
    days = [str(day).upper() for day in values(rule, "BYDAY")]
    return not days or WEEKDAYS[begin.weekday()] in days


def _comes_again(rule: Rule, frequency: str, narrowed: set[str]) -> bool:
    """Whether the rule certainly has a next date within a few of its intervals."""
    return (
        min(numbers(rule, "COUNT", 1)) >= 1
        and all(1 <= month <= 12 for month in numbers(rule, "BYMONTH", 1))  # noqa: PLR2004
        and not {"BYDAY", "BYMONTHDAY"} <= narrowed
        and _steps(rule, frequency, narrowed)
        and _weekdays(rule, frequency, narrowed)
        and all(_day_of_month(day, rule) for day in numbers(rule, "BYMONTHDAY", 1))
    )


def _steps(rule: Rule, frequency: str, narrowed: set[str]) -> bool:
    """An interval must not leave out all days or months that the rule is narrowed to."""
    every = interval(rule)
    if not 1 <= every <= LONGEST_INTERVAL:
        return False
    missed = {"DAILY": {"BYDAY", "BYMONTH"}, "WEEKLY": {"BYMONTH"}, "MONTHLY": {"BYMONTH"}}
    return every == 1 or not narrowed & missed.get(frequency, set())


def _weekdays(rule: Rule, frequency: str, narrowed: set[str]) -> bool:
    days = [_DAY.fullmatch(str(day).upper()) for day in values(rule, "BYDAY")]
    if not all(days):
        return False
    ordinals = [int(day[1]) for day in days if day is not None and day[1]]
    if ordinals and frequency in {"DAILY", "WEEKLY"}:
        return False
    if "BYSETPOS" in narrowed and (ordinals or not days):
        return False
    places = numbers(rule, "BYSETPOS", 1)
    return all(1 <= abs(each) <= LAST_ORDINAL for each in ordinals) and all(
        1 <= abs(place) <= LAST_PLACE for place in places
    )


def _day_of_month(day: int, rule: Rule) -> bool:
    return 1 <= abs(day) <= ALWAYS_THERE or _long(day, rule, interval(rule))


def _long(day: int, rule: Rule, every: int) -> bool:
    """The 29th to the 31st: only in a rule for every month, or for months that have the day."""
    longest = {2: 28, 4: 30, 6: 30, 9: 30, 11: 30}
    if not 1 <= abs(day) <= 31:  # noqa: PLR2004
        return False
    if not values(rule, "BYMONTH"):
        return every == 1 and frequency_of(rule) == "MONTHLY"
    return all(abs(day) <= longest.get(month, 31) for month in numbers(rule, "BYMONTH", 1))
