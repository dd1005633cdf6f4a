"""What the doctor says of the lab itself: Slack's secret, the functions' runtime, the end of its calendar."""

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
from lamplighter.values import zones

AHEAD = timedelta(days=180)
"""How long before a runtime is deprecated it is said: moving on takes a release of ours."""
LAST_WINDOW_NEAR = timedelta(days=28)
STRETCH = timedelta(days=400)
"""So much of the calendar is worked out at once."""
COURSES_AHEAD = timedelta(days=10 * 365)
"""How far a course calendar is looked through: a series in it may have no end."""
_WHOLE_DATE = timedelta(days=3)
"""From the beginning of a date in UTC to the end, in every zone, of a window that begins on it."""
_END_OF_TIME = datetime(9998, 12, 31, tzinfo=UTC)


def slack(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The Slack app's secret is filled in."""
    if lab.slack is None:
        yield well("the lab has no Slack app")
        return
    secret = facts.slack
    if isinstance(secret, Unread):
        yield unknown(secret)
    elif secret is None and facts.deployed:
        yield unknown("no secret of the Slack app was found: has the Slack stack been deployed?")
    elif secret is None:
        yield well("the Slack stack makes the secret; it is filled in after the deploy")
    elif secret.missing:
        parts = " and ".join(secret.missing)
        # Before the deploy there is no Slack stack whose secret the verb would find.
        advice = (
            "lamplighter slack secret, which asks for both and shows neither"
            if facts.deployed
            else f"aws secretsmanager put-secret-value --secret-id {secret.name} --secret-string file://slack.json,"
            ' with {"signing_secret": …, "bot_token": …}'
        )
        yield unwell(
            f"{parts} of the Slack app are not in secret {secret.name}: every request is refused", advice
        )
    else:
        yield well("the Slack app's signing_secret and bot_token are filled in")


def runtime(_facts: Facts, _lab: Lab, now: datetime) -> Iterator[Judgement]:
    """Lambda supports what the functions run on for a while yet."""
    ends = lifecycle.runtime(lifecycle.RUNTIME)
    if ends is None:
        yield unknown(f"until when Lambda supports {lifecycle.RUNTIME} is not in the table shipped with us")
        return
    advice = "take a newer release of Lamplighter and deploy it"
    if now.date() > ends:
        yield unwell(f"Lambda deprecated {lifecycle.RUNTIME}, the functions' runtime, on {ends}", advice)
    elif now.date() + AHEAD >= ends:
        yield unwell(f"Lambda deprecates {lifecycle.RUNTIME}, the functions' runtime, on {ends}", advice)
    else:
        yield well(f"Lambda supports {lifecycle.RUNTIME}, the functions' runtime, until {ends}")


def last_window(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """The calendar does not end unnoticed."""
    if not lab.windows:
        yield well("the lab plans no windows")
        return
    if any(window.days and window.until is None for window in lab.windows):
        yield well("the lab's windows go on")
        return
    if isinstance(facts.courses, Unread):
        yield unknown(facts.courses)
        return
    advice = (
        "write the next ones into the lab, or destroy it: cluster, NAT and system nodes cost without GPUs too"
    )
    last = _last(lab, facts.courses, now)
    if last is None:
        yield unwell("the last planned window is over", advice)
        return
    if last.closes > now + COURSES_AHEAD - STRETCH:
        yield well("the lab's windows go on for years")
        return
    on = f"{last.closes.astimezone(zones.zone(lab.time_zone)):%Y-%m-%d}"
    said = f"the last planned window, {last.window}, ends on {on}"
    if last.closes - now <= LAST_WINDOW_NEAR:
        yield unwell(f"{said}, and nothing is planned after it", advice)
    else:
        yield well(said)


def _last(lab: Lab, courses: Mapping[str, Course], now: datetime) -> PlannedWindow | None:
    """The window that closes last; looked for from the end of the calendar backwards."""
    until = max(_end(window, now) for window in lab.windows)
    while until > now:
        begin = max(now, until - STRETCH)
        planned = expand(lab, begin, until, courses).windows
        if planned:
            return max(planned, key=lambda one: one.closing)
        until = begin
    return None


def _end(window: Window, now: datetime) -> datetime:
    """No window of this name is open at or after this instant, as far as is looked."""
    dates = [*window.start_dates[-1:], *([window.until] if window.until else [])]
    if not dates:
        return now + COURSES_AHEAD
    last = datetime.combine(min(dates), time(), UTC)
    return min(last, _END_OF_TIME) + _WHOLE_DATE
