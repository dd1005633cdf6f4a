"""Kubernetes' instants are told in virtual time, and what a client says of them reaches it as it said them."""

import json
from datetime import UTC, datetime

from hypothesis import given

from local.clock_history import ClockHistory
from local.kubernetes.timestamps import Timestamps
from tests.local.test_clock_history import BEGIN, Stretch, lived, seconds, stretches

#: The machine's 2027-01-15T08:00:00Z is 2026-12-01T10:52:00.75Z, and a second there lasts thirty.
MACHINE, LAB = 1_800_000_000, 1_796_122_320.75


def stamps() -> Timestamps:
    history = ClockHistory()
    history.begin(MACHINE, LAB, 30)
    return Timestamps(history)


def test_fields_that_kubernetes_fills_are_told_in_virtual_time():
    pod = {
        "metadata": {
            "creationTimestamp": "2027-01-15T08:00:02Z",
            "managedFields": [{"time": "2027-01-15T08:00:02Z"}],
        },
        "status": {"startTime": "2027-01-15T08:00:04Z"},
        "eventTime": "2027-01-15T08:00:02.500000Z",
    }
    told = json.loads(stamps().told(json.dumps(pod).encode()))
    assert told["metadata"]["creationTimestamp"] == "2026-12-01T10:53:00Z"
    assert told["metadata"]["managedFields"][0]["time"] == "2026-12-01T10:53:00Z"
    assert told["status"]["startTime"] == "2026-12-01T10:54:00Z"
    assert told["eventTime"] == "2026-12-01T10:53:15.750000Z"


def test_whatever_else_looks_like_an_instant_is_left_alone():
    document = json.dumps(
        {
            "metadata": {
                "creationTimestamp": None,
                "annotations": {
                    "lamplighter/asked": "2027-01-15T08:00:02Z",
                    "last-applied": json.dumps({"creationTimestamp": "2027-01-15T08:00:02Z"}),
                },
            },
            "message": "startTime 2027-01-15T08:00:02Z",
            "startTime": "2027-13-45T08:00:02Z",
            "renewTime": "2027-01-15T08:00:02+09:00",
        },
        separators=(",", ":"),
    ).encode()
    assert stamps().told(document) == document


def test_lines_of_a_log_begin_with_virtual_instants():
    log = b"2027-01-15T08:00:02.500000000Z at 2027-01-15T08:00:02Z it said\nno instant\n"
    assert (
        stamps().told_lines(log)
        == b"2026-12-01T10:53:15.750000000Z at 2027-01-15T08:00:02Z it said\nno instant\n"
    )


def test_an_instant_of_the_lab_is_meant_as_one_of_the_machine():
    assert stamps().meant_instant(b"2026-12-01T10:53:15.750000Z") == b"2027-01-15T08:00:02.500000Z"


@given(stretches, seconds)
def test_what_was_told_is_meant_as_kubernetes_said_it(course: list[Stretch], second: int):
    told = Timestamps(lived(course))
    said = f'{{"creationTimestamp":"{_written(second)}"}}'.encode()
    assert told.meant(told.told(said)) == said
    assert len(told.told(said)) == len(said)


def test_nothing_is_told_of_later_than_now():
    history = ClockHistory()
    history.begin(BEGIN, BEGIN, 1)
    history.begin(BEGIN + 2.4, BEGIN + 500, 60)
    for tenths in range(24, 60):
        now = BEGIN + tenths / 10
        assert history.virtual_of_second(int(now)) <= history.virtual(now)


def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
