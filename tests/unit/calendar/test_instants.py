"""How an instant is written, read, and told anew in a sentence that was kept."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from lamplighter.errors import BadInput
from lamplighter.values import instant

PAST_THE_CALENDAR = "9999-12-31T23:59:59-01:00"
EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)


def by_hour(at: datetime) -> str:
    return f"{at:%H}h of the {at:%d}th"


@pytest.mark.parametrize(("at", "written"), [
    (EIGHT, "2026-11-20T20:00:00Z"),
    (EIGHT.replace(microsecond=250_000), "2026-11-20T20:00:00.250Z"),
    (EIGHT.astimezone(timezone(timedelta(hours=9))), "2026-11-20T20:00:00Z"),
])  # fmt: skip
def test_an_instant_is_written_in_utc_and_read_back(at: datetime, written: str) -> None:
    assert instant.written(at) == written
    assert instant.read(written) == at
    assert instant.read(written).tzinfo is UTC


@pytest.mark.parametrize("microseconds", [1, 498, 999, 1000, 1001, 250_499, 999_999])
def test_an_instant_that_was_read_is_written_as_it_was(microseconds: int) -> None:
    # The ledger compares these texts: a loan of 498 microseconds past a second was never given back.
    written = instant.written(EIGHT.replace(microsecond=microseconds))
    assert instant.written(instant.read(written)) == written


@pytest.mark.parametrize(("text", "problem"), [
    ("noon", "'noon' is no instant: write it like 2026-11-20T11:00:00Z"),
    (PAST_THE_CALENDAR, f"'{PAST_THE_CALENDAR}' is no instant: write it like 2026-11-20T11:00:00Z"),
    ("2026-11-20T11:00:00", "'2026-11-20T11:00:00' has no offset: write it like 2026-11-20T11:00:00Z"),
])  # fmt: skip
def test_what_names_no_instant_is_bad_input(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as raised:
        instant.read(text)
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    "text", [None, "", "noon", PAST_THE_CALENDAR, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]
)
def test_what_others_write_is_an_instant_to_reckon_with_or_none(text: str | None) -> None:
    assert instant.foreign(text) is None
    assert instant.foreign("2026-11-21T05:00:00+09:00") == EIGHT


@pytest.mark.parametrize(("kept", "told"), [
    ("open from 20:00 UTC on 2026-11-20 on", "open from 20h of the 20th on"),
    ("from 20:00 UTC on 2026-11-20 to 02:30 UTC on 2026-11-21", "from 20h of the 20th to 02h of the 21th"),
    ("no clock at all", "no clock at all"),
    # What only looks like an instant stays as it was.
    ("at 25:00 UTC on 2026-11-20", "at 25:00 UTC on 2026-11-20"),
    ("at 20:00 UTC on 2026-02-30", "at 20:00 UTC on 2026-02-30"),
])  # fmt: skip
def test_a_sentence_that_was_kept_is_told_by_another_clock(kept: str, told: str) -> None:
    assert instant.told_by(by_hour, kept) == told


def test_an_instant_that_a_clock_cannot_show_stays_as_it_was() -> None:
    def far(at: datetime) -> str:
        return f"{at - timedelta(days=1)}"

    assert instant.told_by(far, "since 00:00 UTC on 0001-01-01") == "since 00:00 UTC on 0001-01-01"
