"""How a command was understood, as a sentence by the asker's clock; and when what it asks for would end."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.slack.asked.understood import ends, extended, sentence
from lamplighter.domain.slack.times import Times
from tests.unit.slack.recording import EIGHT, MINUTE, evening

HOUR = timedelta(hours=1)
SEOUL = Times(ZoneInfo("Asia/Seoul"), EIGHT)
LEASE = evening()


def command(verb: Verb = Verb.OPEN, **more: Any) -> Command:
    return replace(Command("c1", verb, "gpu", "minji", "minji", "slack", EIGHT, EIGHT + HOUR), **more)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (command(nodes=2, lasting=HOUR), "open 2 nodes on gpu now, until 21:00 (Asia/Seoul)"),
        (command(), "open 1 node on gpu now, until 20:00 (Asia/Seoul)"),
        (command(opens=EIGHT + HOUR, lasting=HOUR),
         "open 1 node on gpu at 21:00, until 22:00 (Asia/Seoul)"),
        (command(opens=EIGHT + HOUR, lasting=HOUR, add=True),
         "open 1 node on gpu at 21:00, until 22:00 (Asia/Seoul)"),
        (command(add=True, closes=EIGHT + 2 * HOUR), "add 1 node to gpu, until 22:00 (Asia/Seoul)"),
        (command(Verb.EXTEND, lasting=HOUR),
         "extend the evening lease (evening-2026-11-20) until 2026-11-21 00:00 (Asia/Seoul)"),
        (command(Verb.CLOSE), "close the evening lease (evening-2026-11-20) on gpu now"),
        (command(Verb.SKIP, window="evening", date="2026-11-20"), "skip window evening on 2026-11-20"),
        (command(Verb.SKIP, window="evening"), "skip the next opening of window evening"),
        (command(Verb.UNSKIP, window="evening", date="2026-11-20"), "undo the skip of window evening on 2026-11-20"),
        (command(Verb.UNSKIP, window="evening"), "undo the next skip of window evening"),
        (command(Verb.PAUSE), "pause the lab until somebody resumes it"),
        (command(Verb.PAUSE, lasting=HOUR), "pause the lab until 21:00 (Asia/Seoul)"),
        (command(Verb.PAUSE, closes=EIGHT + 2 * HOUR), "pause the lab until 22:00 (Asia/Seoul)"),
        (command(Verb.RESUME), "resume the lab"),
    ],
)  # fmt: skip
def test_a_command_is_said_as_it_was_understood(asked: Command, said: str) -> None:
    assert sentence(asked, LEASE, SEOUL, ENGLISH) == said


def test_without_a_lease_none_is_named() -> None:
    assert sentence(command(Verb.EXTEND, lasting=HOUR), None, SEOUL, ENGLISH) == (
        "extend  () until 21:00 (Asia/Seoul)"
    )


@pytest.mark.parametrize(
    ("more", "hours"),
    [
        ({}, 0),
        ({"lasting": HOUR}, 1),
        ({"opens": EIGHT + HOUR, "lasting": HOUR}, 2),
        ({"opens": EIGHT + HOUR, "lasting": HOUR, "closes": EIGHT + 5 * HOUR}, 5),
    ],
)
def test_an_open_command_ends_at_its_end_or_after_its_length(more: dict[str, Any], hours: int) -> None:
    assert ends(command(**more)) == EIGHT + hours * HOUR


@pytest.mark.parametrize(
    ("more", "hours"), [({}, 3), ({"lasting": HOUR}, 4), ({"closes": EIGHT + HOUR, "lasting": HOUR}, 1)]
)
def test_an_extension_counts_from_the_end_of_the_lease(more: dict[str, Any], hours: int) -> None:
    assert extended(command(Verb.EXTEND, **more), LEASE) == EIGHT + hours * HOUR


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (EIGHT, "20:00"),
        (EIGHT + 4 * HOUR - MINUTE, "23:59"),
        (EIGHT + 4 * HOUR, "2026-11-21 00:00"),
        (EIGHT - 20 * HOUR - MINUTE, "2026-11-19 23:59"),
    ],
)
def test_a_time_is_said_with_its_date_on_another_day_alone(at: datetime, said: str) -> None:
    assert (SEOUL.at(at), SEOUL.with_zone(at)) == (said, f"{said} (Asia/Seoul)")
