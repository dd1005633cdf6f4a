"""The doctor's checks of the lab itself: Slack's secret, the functions' runtime, and its last window."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time, timedelta

from lamplighter.data import lifecycle
from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.occurrences import expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from lamplighter.reasons.reason import reason
from lamplighter.values import zones

AHEAD = timedelta(days=180)
"""How long before the deprecation of a runtime the doctor warns: a new runtime needs a release of ours."""
LAST_WINDOW_NEAR = timedelta(days=28)
STRETCH = timedelta(days=400)
"""How much of the calendar is expanded at once."""
COURSES_AHEAD = timedelta(days=10 * 365)
"""How far a course calendar is searched: a series in it may have no end."""
_WHOLE_DATE = timedelta(days=3)
"""From the start of a date in UTC to the end of a window on that date in any zone."""
_END_OF_TIME = datetime(9998, 12, 31, tzinfo=UTC)


def slack(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The Slack app's secret is filled in."""
    if lab.slack is None:
        yield well(reason("doctor.slack-none"))
        return
    secret = facts.slack
    if isinstance(secret, Unread):
        yield unknown(secret)
    elif secret is None and facts.deployed:
        yield unknown(reason("doctor.slack-not-found"))
    elif secret is None:
        yield well(reason("doctor.slack-to-come"))
    elif secret.missing:
        # Before the deploy the lab has no secret that the verb could find.
        advice = (
            reason("doctor.slack-verb")
            if facts.deployed
            else reason(
                "doctor.slack-aws", name=secret.name, document='{"signing_secret": …, "bot_token": …}'
            )
        )
        yield unwell(reason("doctor.slack-missing", parts=tuple(secret.missing), name=secret.name), advice)
    else:
        yield well(reason("doctor.slack-ok"))


def runtime(_facts: Facts, _lab: Lab, now: datetime) -> Iterator[Judgement]:
    """Lambda supports the functions' runtime for some time."""
    ends = lifecycle.runtime(lifecycle.RUNTIME)
    if ends is None:
        yield unknown(reason("doctor.runtime-not-in-table", runtime=lifecycle.RUNTIME))
        return
    advice = reason("doctor.runtime-advice")
    if now.date() > ends:
        yield unwell(reason("doctor.runtime-deprecated", runtime=lifecycle.RUNTIME, day=ends), advice)
    elif now.date() + AHEAD >= ends:
        yield unwell(reason("doctor.runtime-ends", runtime=lifecycle.RUNTIME, day=ends), advice)
    else:
        yield well(reason("doctor.runtime-ok", runtime=lifecycle.RUNTIME, day=ends))


def last_window(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """The lab plans windows beyond the next weeks."""
    if not lab.windows:
        yield well(reason("doctor.windows-none"))
        return
    if any(window.days and window.until is None for window in lab.windows):
        yield well(reason("doctor.windows-go-on"))
        return
    if isinstance(facts.courses, Unread):
        yield unknown(facts.courses)
        return
    advice = reason("doctor.windows-advice")
    last = _last(lab, facts.courses, now)
    if last is None:
        yield unwell(reason("doctor.windows-over"), advice)
        return
    if last.closes > now + COURSES_AHEAD - STRETCH:
        yield well(reason("doctor.windows-for-years"))
        return
    day = last.closes.astimezone(zones.zone(lab.time_zone)).date()
    if last.closes - now <= LAST_WINDOW_NEAR:
        yield unwell(reason("doctor.windows-end", window=last.window, day=day), advice)
    else:
        yield well(reason("doctor.windows-last", window=last.window, day=day))


def _last(lab: Lab, courses: Mapping[str, Course], now: datetime) -> PlannedWindow | None:
    """The window that closes last. The search runs backwards from the end of the calendar."""
    until = max(_end(window, now) for window in lab.windows)
    while until > now:
        begin = max(now, until - STRETCH)
        planned = expand(lab, begin, until, courses).windows
        if planned:
            return max(planned, key=lambda window: window.closing)
        until = begin
    return None


def _end(window: Window, now: datetime) -> datetime:
    """The instant after which no window of this name is open, as far as the search goes."""
    dates = [*window.start_dates[-1:], *([window.until] if window.until else [])]
    if not dates:
        return now + COURSES_AHEAD
    last = datetime.combine(min(dates), time(), UTC)
    return min(last, _END_OF_TIME) + _WHOLE_DATE
