"""When schedule expressions are due, and which ones AWS does not take."""

from datetime import UTC, datetime

import pytest

from local.aws.events.schedule_expression import BadExpression, parse


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("expression", "zone", "after", "due"),
    [
        ("at(2026-03-03T20:00:00)", "Asia/Seoul", "2026-03-01T00:00", "2026-03-03T11:00"),
        ("cron(0/5 * * * ? *)", "UTC", "2026-03-01T00:05", "2026-03-01T00:10"),
        ("cron(0 20 ? * TUE,THU *)", "Asia/Seoul", "2026-03-03T11:00", "2026-03-05T11:00"),
        ("cron(30 9 L * ? *)", "UTC", "2026-02-01T00:00", "2026-02-28T09:30"),
        ("cron(0 9 ? * 6L *)", "UTC", "2026-03-01T00:00", "2026-03-27T09:00"),
        ("cron(0 9 ? * 2#1 *)", "UTC", "2026-03-03T00:00", "2026-04-06T09:00"),
        ("cron(0 9 15W * ? *)", "UTC", "2026-03-01T00:00", "2026-03-16T09:00"),
        ("cron(0 0 1 JAN ? 2028)", "UTC", "2026-03-01T00:00", "2028-01-01T00:00"),
        ("cron(0 8-10/2 ? * MON-FRI *)", "UTC", "2026-03-06T08:30", "2026-03-06T10:00"),
    ],
)
def test_due(expression, zone, after, due):
    assert parse(expression, zone).next_after(at(after), at(after)) == at(due)


def test_a_time_that_a_clock_change_skips_is_skipped_and_one_it_repeats_is_taken_once():
    daily = parse("cron(30 2 * * ? *)", "Europe/Berlin")
    assert daily.next_after(at("2026-03-28T12:00"), 0) == at("2026-03-30T00:30")
    first = daily.next_after(at("2026-10-24T12:00"), 0)
    assert first is not None
    assert first == at("2026-10-25T00:30")
    assert daily.next_after(first, 0) == at("2026-10-26T01:30")


def test_a_rate_counts_from_when_it_was_made():
    made = at("2026-03-01T00:00:30")
    assert parse("rate(5 minutes)").next_after(made, made) == made + 300
    assert parse("rate(1 hour)").next_after(made + 3600, made) == made + 7200


def test_what_never_comes_is_never_due():
    assert parse("at(2026-03-03T20:00:00)").next_after(at("2026-03-03T20:00"), 0) is None
    assert parse("cron(0 0 1 1 ? 2020)").next_after(at("2026-03-01T00:00"), 0) is None


@pytest.mark.parametrize(
    "expression",
    [
        "at(2026-03-03 20:00:00)",
        "at(2026-02-30T20:00:00)",
        "at(2026-03-03T20:00:00Z)",
        "rate(0 minutes)",
        "rate(5 minute)",
        "rate(5 weeks)",
        "cron(0 20 * * *)",
        "cron(0 20 * * * *)",
        "cron(0 20 ? * ? *)",
        "cron(60 20 * * ? *)",
        "cron(0 20 ? * FUN *)",
        "cron(0 20 0 * ? *)",
        "every day",
    ],
)
def test_what_aws_does_not_take(expression):
    with pytest.raises(BadExpression, match="Invalid Schedule Expression"):
        parse(expression)


def test_an_unknown_zone_is_refused():
    with pytest.raises(BadExpression, match="Mars/Base"):
        parse("rate(5 minutes)", "Mars/Base")
