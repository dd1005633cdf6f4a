"""What a request on the bus says, and each way in which it is refused."""

from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Verb
from lamplighter.domain.events import request
from lamplighter.domain.events.request import EventRequest
from lamplighter.errors import BadInput, LamplighterError, Refused
from lamplighter.reasons.reason import Reason
from lamplighter.values import instant
from tests.unit.events.bus import CI, EIGHT, EVENT, LAB, MINUTE, OTHER, TRAINING, event


def read(detail: object = None, /, **more: object) -> EventRequest:
    return request.read(event(detail, **more), LAB, EIGHT)


def refusal(detail: object = None, /, **more: object) -> tuple[type[LamplighterError], str]:
    """The error, and the code of its reason."""
    with pytest.raises(LamplighterError) as raised:
        read(detail, **more)
    assert isinstance(raised.value.said, Reason)
    assert len(str(raised.value).splitlines()) == 1
    return type(raised.value), raised.value.said.code


def test_a_request_says_what_for_and_never_who_asks() -> None:
    said = read({"pool": "gpu", "nodes": 2, "for_seconds": 3600, "because": "run 7", "token": "run-7"})
    assert said == EventRequest(
        event=EVENT, entry="training", source=TRAINING, verb=Verb.OPEN, pool="gpu", issued=EIGHT,
        token="run-7", nodes=2, lasting=timedelta(hours=1), because="run 7",
    )  # fmt: skip


def test_an_empty_detail_means_the_only_pool_of_the_entry() -> None:
    assert read().pool == "gpu"
    assert read({"until": "2026-11-20T22:00:00Z"}).until == EIGHT + timedelta(hours=2)
    assert read({}, **{"detail-type": "close"}).verb is Verb.CLOSE


OTHERS_KEYS = (
    "owner", "by", "lease", "opens", "issued", "expires", "generation", "for_lab", "source", "id", "",
)  # fmt: skip


@pytest.mark.parametrize("key", OTHERS_KEYS)
def test_a_key_that_no_event_takes_is_refused(key: str) -> None:
    assert refusal({key: "alice"}) == (BadInput, "command.unknown-key")


@pytest.mark.parametrize(
    ("verb", "key"), [("close", "nodes"), ("close", "for_seconds"), ("close", "until"), ("extend", "nodes")]
)
def test_a_key_of_another_verb_is_refused(verb: str, key: str) -> None:
    assert refusal({key: 1}, **{"detail-type": verb}) == (BadInput, "command.unknown-key")


TEXT, NUMBER, INSTANT = "command.text-needed", "command.number-needed", "command.instant-needed"
OUT_OF_RANGE, NAN = "command.instant-out-of-range", float("nan")


@pytest.mark.parametrize(
    ("detail", "code"),
    [
        *(
            ({"pool": value}, TEXT)
            for value in (7, True, ["gpu"], {"name": "gpu"}, "", "gpu\n", "\ud800", "g" * 101)
        ),
        *(({"token": value}, TEXT) for value in (" ", 1, "t" * 101, "\udfff")),
        *(({"because": value}, TEXT) for value in ("w" * 501, "one\ntwo", False)),
        *(
            ({"nodes": value}, NUMBER)
            for value in (True, "2", 1.0, NAN, float("inf"), 0, -1, 101, 10**400, [1])
        ),
        *(({"for_seconds": value}, NUMBER) for value in (True, 0, 10**18, 3600.5, "1h")),
        *(({"until": value}, TEXT) for value in (1795200000, True)),
        *(
            ({"until": value}, INSTANT)
            for value in ("22:00", "2026-11-20T22:00:00", "0001-01-01T00:00:00+14:00")
        ),
        *(({"until": value}, OUT_OF_RANGE) for value in ("9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z")),
        ({"until": "2026-11-20T22:00:00Z", "for_seconds": 60}, "command.event.for-and-until"),
    ],
)
def test_a_value_of_another_kind_or_out_of_bounds_is_refused(detail: dict[str, Any], code: str) -> None:
    assert refusal(detail) == (BadInput, code)


@pytest.mark.parametrize("detail", ["", "gpu", 7, True, [], [{"pool": "gpu"}], float("nan")])
def test_a_detail_that_is_no_object_is_refused(detail: object) -> None:
    assert refusal(detail) == (BadInput, "command.event.no-detail")
    assert refusal(None, detail=None) == (BadInput, "command.event.no-detail")


def test_a_pool_of_another_entry_is_refused_and_so_is_one_that_nobody_has() -> None:
    assert refusal({"pool": "big"}) == (Refused, "command.event.pool-not-allowed")
    assert refusal({"pool": "gup"}) == (BadInput, "command.no-such-pool")
    assert refusal({"pool": "*"}) == (BadInput, "command.no-such-pool")


def test_an_entry_with_several_pools_names_one() -> None:
    jobs = {"source": OTHER, "account": "123456789012"}
    assert read({"pool": "big"}, **jobs).pool == "big"
    assert refusal({}, **jobs) == (BadInput, "command.name-a-pool")


@pytest.mark.parametrize(
    "verb", ["keep", "skip", "pause", "experiment", "Open", "open ", "", None, 7, ["open"], {}]
)
def test_what_is_no_verb_of_the_bus_is_refused(verb: object) -> None:
    assert refusal({}, **{"detail-type": verb}) == (BadInput, "command.not-one-of")


def test_a_verb_that_the_entry_may_not_is_refused() -> None:
    asked = {"source": OTHER, "account": "123456789012", "detail-type": "extend"}
    assert refusal({"pool": "gpu"}, **asked) == (Refused, "command.event.verb-not-allowed")


SOURCES: tuple[object, ...] = (
    "ci.other", "CI.training", "ci.training ", "lamplighter.gpu-lab", "aws.events", "one\ntwo", "",
    None, 7, {},
)  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_without_an_entry_is_refused(source: object) -> None:
    assert refusal({}, source=source) == (Refused, "command.event.source-unknown")


@pytest.mark.parametrize("account", ["123456789012", "", None, "11112222333", CI + " ", "\n", [CI]])
def test_an_account_of_none_of_the_principals_is_refused(account: object) -> None:
    """The bus's policy lets no such event in: a replay or a mistake in the policy would."""
    assert refusal({}, account=account) == (Refused, "command.event.account-not-allowed")


TIMES = (None, "", "now", 1795200000, "2026-11-20", "2026-11-20T20:00:00")
OUT_OF_EVERY_CALENDAR = ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z")


@pytest.mark.parametrize("time", [*TIMES, *OUT_OF_EVERY_CALENDAR])
def test_an_event_without_a_time_is_refused(time: object) -> None:
    assert refusal({}, time=time) == (BadInput, "command.event.no-time")


def test_an_event_is_good_for_a_quarter_of_an_hour() -> None:
    late = EIGHT - 15 * MINUTE
    assert read({}, time=instant.written(late)).issued == late
    old = instant.written(late - timedelta(seconds=1))
    assert refusal({}, time=old) == (Refused, "command.event.too-old")


def test_a_clock_that_is_a_little_ahead_counts_as_ours() -> None:
    ahead = EIGHT + 5 * MINUTE
    assert read({}, time=instant.written(ahead)).issued == EIGHT
    later = instant.written(ahead + timedelta(seconds=1))
    assert refusal({}, time=later) == (Refused, "command.event.ahead")


@pytest.mark.parametrize("name", [None, "", 7, "a" * 65, "a b", "über", "x/y", ["x"], "x\n"])
def test_an_event_without_an_id_of_eventbridge_is_refused(name: object) -> None:
    assert refusal({}, id=name) == (BadInput, "command.event.no-id")


def test_without_a_token_the_command_has_the_events_id() -> None:
    assert read().command_id() == EVENT


def test_with_a_token_the_same_piece_of_work_gives_the_same_command() -> None:
    first, again = read({"token": "run-7"}), read({"token": "run-7", "nodes": 2}, id="another")
    assert first.command_id() == again.command_id() != EVENT
    assert first.command_id() != read({"token": "run-8"}).command_id()
    closing = read({"token": "run-7"}, **{"detail-type": "close"})
    assert closing.command_id(Verb.OPEN) == first.command_id() != closing.command_id()


def test_the_same_token_of_another_source_is_another_piece_of_work() -> None:
    theirs = read({"token": "run-7", "pool": "gpu"}, source=OTHER, account="123456789012")
    assert theirs.command_id() != read({"token": "run-7"}).command_id()
