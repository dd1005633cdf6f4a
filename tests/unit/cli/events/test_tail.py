"""`lamplighter events tail` shows what was asked and told on the bus, oldest first, each once."""

import json
from subprocess import CompletedProcess

import pytest

from cli.events import tail
from lamplighter.domain.events import log_line
from lamplighter.domain.events.lab_event import PoolClosed, PoolOpen, Warned
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.cli.events.given import Bus, about

REQUEST = {"source": "ci.training", "detail_type": "open", "event": "11-22"}


def run(*words: str) -> CompletedProcess[str]:
    return lamplighter("events", "tail", *words)


@pytest.fixture
def told(bus: Bus) -> Bus:
    """A request at five to eight, that came twice, its pool open at eight, and what else a log has."""
    detail = {"pool": "gpu", "nodes": 2, "for_seconds": 5400, "token": "run-17"}
    for minutes in (-5, -4):
        bus.log("events", minutes, log_line.RECEIVED, **REQUEST, detail=detail)
    bus.log("events", -4, "command started", event="11-22")
    bus.tell(PoolOpen(**about(in_reply_to="11-22"), nodes=2, closes=EIGHT), -1)
    bus.tell(Warned(**about(), closes=EIGHT), -0.5)
    bus.tell(PoolClosed(**about(pool="other"), nodes=0), -0.25)
    bus.lines["lifecycle"].append({"eventId": "x", "timestamp": 1, "message": "INIT_START Runtime"})
    return bus


def test_a_person_reads_them_by_the_labs_clock(told: Bus) -> None:
    said = run()

    assert said.stdout.splitlines() == [
        "Sat 21 Nov 04:55 KST  open            ci.training asks: gpu 2 nodes for 1h30m token run-17 (event 11-22)",
        "Sat 21 Nov 04:59 KST  pool-open       gpu event-1: as asked (in reply to 11-22)",
        "Sat 21 Nov 04:59 KST  warned          gpu event-1: as asked",
        "Sat 21 Nov 04:59 KST  pool-closed     other event-1: as asked",
    ]


def test_a_program_reads_one_event_a_line_as_eventbridge_has_them(told: Bus) -> None:
    asked, opened, *_ = [json.loads(line) for line in run("--json").stdout.splitlines()]
    assert (asked["id"], asked["source"], asked["detail-type"]) == ("11-22", "ci.training", "open")
    assert (opened["source"], opened["detail-type"]) == ("lamplighter.lab", "pool-open")
    assert opened["detail"]["in_reply_to"] == "11-22"
    assert opened["time"] == "2026-11-20T19:59:00Z"


@pytest.mark.parametrize(
    ("words", "types"),
    [
        (["--type", "pool-open"], ["pool-open"]),
        (["--pool", "gpu"], ["open", "pool-open", "warned"]),
        (["--since", "2m"], ["pool-open", "warned", "pool-closed"]),
        (["--type", "receipt"], []),
    ],
)
def test_only_what_was_asked_for_is_shown(told: Bus, words: list[str], types: list[str]) -> None:
    shown = [json.loads(line)["detail-type"] for line in run("--json", *words).stdout.splitlines()]
    assert shown == types


def test_following_shows_each_event_once_as_it_comes(told: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []

    def later(_seconds: float) -> None:
        rounds.append(1)
        if len(rounds) > 2:
            raise KeyboardInterrupt
        told.tell(PoolClosed(**about(lease="event-2"), nodes=0), len(rounds))

    monkeypatch.setattr(tail, "sleep", later)

    said = run("--follow", "--type", "pool-closed", "--pool", "gpu")

    assert said.returncode == 130
    assert len(said.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ({"pool": "gpu", "for_seconds": 999_999_999_999_999_999}, "gpu for 999999999999999999 seconds"),
        ({"nodes": 10**3000}, f"1{'0' * 499} nodes"),
        ({"nodes": True, "for_seconds": "soon"}, "True nodes for soon seconds"),
        ({"nodes": -1, "for_seconds": 0}, "-1 nodes for 0 seconds"),
        ({"nodes": 1, "for_seconds": float("inf")}, "1 node for Infinity seconds"),
        ({"pool": ["gpu"], "until": {"a": 1}}, "['gpu'] until {'a': 1}"),
        ({"until": "9999-12-31T23:59:59-23:00"}, "until 9999-12-31T23:59:59-23:00"),
        ({"because": "x" * 600}, f"because {'x' * 500}"),
        (
            {"token": "x\x1b]52;c;eA==\x07", "because": "a\u202eb"},
            r"token x\x1b]52;c;eA==\x07 because a\u202eb",
        ),
        ({"because": "a\nFri 20 Nov  pool-open  gpu: ok"}, r"because a\nFri 20 Nov  pool-open  gpu: ok"),
    ],
)
def test_a_request_that_no_lab_grants_is_one_line_with_its_words(
    bus: Bus, detail: dict[str, object], words: str
) -> None:
    bus.log("events", -5, log_line.RECEIVED, **REQUEST, detail=detail)
    said = run()
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == f"Sat 21 Nov 04:55 KST  open            ci.training asks: {words} (event 11-22)\n"


def test_odd_values_neither_hide_other_events_nor_break_the_json(told: Bus) -> None:
    for number, pool in enumerate((["gpu"], {"gpu": 1}, float("nan"))):
        detail = {"pool": pool, "for_seconds": float("inf"), "because": "a\nb\x1b"}
        told.log("events", -3, log_line.RECEIVED, **{**REQUEST, "event": f"odd-{number}"}, detail=detail)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    said = run("--json").stdout.splitlines()
    assert len([json.loads(line, parse_constant=refuse) for line in said]) == 7
    assert r'"because": "a\nb\u001b"' in said[1]
    assert len(run("--pool", "gpu").stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--type", "pool-opn"], "did you mean pool-open?"),
        (["--pool", "gpux"], "did you mean gpu?"),
        (["--since", "soon"], "soon"),
    ],
)
def test_a_mistyped_word_is_answered_with_what_is_known(told: Bus, words: list[str], named: str) -> None:
    said = run(*words)
    assert said.returncode == 2
    assert named in said.stderr


def test_a_lab_without_a_bus_has_no_events(bus: Bus) -> None:
    bus.deploy(None)
    said = run()
    assert said.returncode == 2
    assert "has no event bus" in said.stderr
