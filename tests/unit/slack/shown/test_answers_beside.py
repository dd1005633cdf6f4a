"""Answers where a pool is already open, where a role refuses, and before another person's lease is closed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.slack.answers import HELP, help_text, just_use_it, may_not, sure
from lamplighter.reasons.reason import Reason
from tests.unit.slack.recording import EIGHT
from tests.unit.slack.shown.test_answers import ASKED, HOUR, LEASE, OPEN, UNDERSTOOD, VOICE, carried, seconds


@pytest.mark.parametrize(
    ("states", "free", "said"),
    [
        ([LeaseState.OPEN], None, "gpu is open until 23:00 (Asia/Seoul) (minji). You can use it now."),
        ([LeaseState.OPEN], 2, "gpu is open until 23:00 (Asia/Seoul) (minji). 2 GPUs are free: you can use them now."),
        ([LeaseState.OPEN], 0, "gpu is open until 23:00 (Asia/Seoul) (minji), but all its GPUs are in use."),
        ([LeaseState.OPENING, LeaseState.OPEN], None,
         "gpu is open until 23:00 (Asia/Seoul) (minji). You can use it now."),
        ([LeaseState.OPENING, LeaseState.ADMITTED], 2,
         "gpu is opening and stays open until 23:00 (Asia/Seoul) (minji). You can use it once its GPUs are proven."),
    ],
)  # fmt: skip
def test_an_open_pool_is_to_be_used(states: Sequence[LeaseState], free: int | None, said: str) -> None:
    running = [replace(LEASE, state=state) for state in states]

    assert just_use_it(running, free, OPEN, "", VOICE).text == said


def test_a_pool_that_waits_for_pods_is_to_be_used_though_nothing_is_proven() -> None:
    opening = replace(LEASE, state=LeaseState.OPENING)

    assert just_use_it([opening], None, OPEN, "", VOICE, no_node_yet=True).text == (
        "gpu is open until 23:00 (Asia/Seoul) (minji). No node runs yet: nodes start when pods ask for GPUs."
    )


def test_the_lease_that_ends_last_may_be_kept_longer_and_nodes_may_be_added() -> None:
    sooner = replace(LEASE, id="sooner", closes=EIGHT + HOUR)
    last = replace(LEASE, id="last", window="evening", closes=EIGHT + 2 * HOUR)

    said = just_use_it([sooner, last, sooner], None, replace(ASKED, closes=EIGHT + HOUR), "open it", VOICE)

    assert (said.text, said.understood) == (
        "gpu is open until 22:00 (Asia/Seoul) (evening). You can use it now.",
        UNDERSTOOD,
    )
    assert carried(said) == [
        ("keep-until", {"p": "gpu", "l": "last", "u": seconds(EIGHT + 4 * HOUR)}),
        ("add", {"p": "gpu", "n": 2, "s": 3600, "u": seconds(EIGHT + HOUR), "b": "the exam"}),
    ]
    [keep, _] = said.elements
    options: Any = keep["options"]
    assert [option["text"]["text"] for option in options] == ["22:30", "23:00", "2026-11-21 00:00"]


def test_to_a_pool_that_is_full_nothing_is_added() -> None:
    said = just_use_it([LEASE], 0, ASKED, "open it", VOICE, full_until=EIGHT + HOUR)

    assert said.text.splitlines()[1:] == [
        "There is no room for this now. As things stand now, it would be granted at 21:00 (Asia/Seoul)."
    ]
    assert [action for action, _ in carried(said)] == ["keep-until", "tell-me"]
    assert said.understood == UNDERSTOOD


# --- no, and are you sure --------------------------------------------------------------------------

NO = Reason("slack.role.none", {"action": "open"})
REASON = "Not allowed: you have no role in this lab, so you may look but not open."


@pytest.mark.parametrize(
    ("command", "verb"),
    [
        (ASKED, "open"),
        (replace(ASKED, add=True), "add"),
        (replace(ASKED, verb=Verb.EXTEND), "extend"),
        (replace(ASKED, verb=Verb.CLOSE), None),
        (None, None),
    ],
)
def test_who_may_not_may_ask_for_nodes_and_for_time(command: Command | None, verb: str | None) -> None:
    said = may_not(NO, command, "open it", VOICE)

    assert (said.text, said.understood) == (REASON, UNDERSTOOD)
    asked = {"p": "gpu", "n": 2, "s": 3600, "b": "the exam", "v": verb}
    assert carried(said) == ([("ask", asked)] if verb else [])


def test_before_anothers_lease_is_closed_its_owner_is_named() -> None:
    said = sure(LEASE, "gpu", "close it", VOICE)

    assert said.text.splitlines() == [
        (
            "Lease evening-2026-11-20 on gpu belongs to minji (U0MINJI) and ends at 23:00 (Asia/Seoul). "
            "Closing it ends the work of everybody there. Close it?"
        ),
        "Or type `/gpu close evening-2026-11-20 yes`.",
    ]
    assert carried(said) == [("confirm", {"p": "gpu", "l": "evening-2026-11-20"})]
    assert said.elements[0]["style"] == "danger"


def test_help_shows_every_word_and_what_was_meant_before_it() -> None:
    plain = help_text("lab", "U0MINJI", "", VOICE).text.splitlines()

    assert [line.split("`")[1] for line in plain[1:-1]] == [f"/lab {example}" for _, example in HELP]
    assert "U0MINJI" in plain[-1]
    assert help_text("lab", "U0MINJI", "a < b", VOICE).text.splitlines() == ["a &lt; b", *plain]
