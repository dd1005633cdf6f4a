"""The signature of a request: Slack's published example is accepted, and every near miss is refused."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.slack.asked import signature

# https://docs.slack.dev/authentication/verifying-requests-from-slack
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
STAMP = "1531420618"
BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
MADE = datetime.fromtimestamp(int(STAMP), UTC)


def test_the_published_example_fits() -> None:
    assert signature.signed(SECRET, STAMP, BODY) == SIGNATURE
    assert signature.fits(SECRET, STAMP, BODY, SIGNATURE)
    assert signature.well_formed(SIGNATURE)


@pytest.mark.parametrize(
    ("secret", "stamp", "body"),
    [
        (SECRET + "x", STAMP, BODY),
        (SECRET, "1531420619", BODY),
        (SECRET, STAMP, BODY + b"&"),
        ("", STAMP, BODY),
    ],
)
def test_nothing_else_does(secret: str, stamp: str, body: bytes) -> None:
    assert not signature.fits(secret, stamp, body, SIGNATURE)


def test_an_empty_secret_fits_not_even_its_own_signature() -> None:
    assert not signature.fits("", STAMP, BODY, signature.signed("", STAMP, BODY))


@pytest.mark.parametrize(
    "given", ["", "v0=", "v1=" + "a" * 64, "v0=" + "a" * 63, "v0=" + "A" * 64, "v0=" + "é" * 64]
)
def test_what_cannot_be_a_signature_is_no_signature(given: str) -> None:
    assert not signature.well_formed(given)


@pytest.mark.parametrize(
    ("later", "fresh"),
    [
        (timedelta(), True),
        (timedelta(minutes=5), True),
        (timedelta(minutes=5, microseconds=1), False),
        (timedelta(seconds=-1), True),
        (timedelta(seconds=-1, microseconds=-1), False),
        (timedelta(days=3650), False),
    ],
)
def test_a_stamp_is_good_for_five_minutes_and_never_ahead(later: timedelta, *, fresh: bool) -> None:
    assert (signature.fresh(STAMP, MADE + later) == MADE) is fresh


@pytest.mark.parametrize("stamp", ["", "now", "1531420618.5", "-1", "٣", "1" * 12, "0x5b47", " 1531420618"])
def test_an_unreadable_stamp_is_not_fresh(stamp: str) -> None:
    assert signature.fresh(stamp, MADE) is None


def test_the_same_request_has_the_same_key_and_no_other_has() -> None:
    assert signature.key_of(STAMP, BODY) == signature.key_of(STAMP, BODY)
    assert (
        len({signature.key_of(STAMP, BODY), signature.key_of("1", BODY), signature.key_of(STAMP, b"")}) == 3
    )


def test_a_key_is_the_first_16_digits_of_the_digest_of_what_is_signed() -> None:
    assert signature.key_of("1", b"a") == hashlib.sha256(b"v0:1:a").hexdigest()[:16]
