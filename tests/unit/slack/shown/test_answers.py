"""What the door answers to a change: its words, how it was understood, and what may be pressed next."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.granting.free_times import FreeTime
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.slack.answers import (
    HELP,
    SlackAnswer,
    Speech,
    decided,
    follows,
    help_text,
    just_use_it,
    may_not,
    plainly,
    sure,
)
from lamplighter.domain.slack.blocks import Marked
from lamplighter.domain.slack.room import Room
from lamplighter.domain.slack.times import Times
from lamplighter.reasons.reason import Reason
from tests.unit.slack.recording import EIGHT, MINUTE, evening

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
VOICE = Speech(ENGLISH, Times(ZoneInfo("Asia/Seoul"), EIGHT))
OPEN = Command("c1", Verb.OPEN, "gpu", "minji", "minji", "slack", EIGHT, EIGHT + 15 * MINUTE)
ASKED = replace(OPEN, nodes=2, lasting=HOUR, because="the exam")
LEASE = evening(LeaseState.OPEN, owner="minji (U0MINJI)", window=None)
UNDERSTOOD = "Understood as: open it"
FREE = (FreeTime("gpu", EIGHT + HOUR, EIGHT + 2 * HOUR),)
EXPERIMENTAL = ENGLISH.say("slack.experimental")


def carried(answer: SlackAnswer) -> list[tuple[object, dict[str, Any]]]:
    """Of each button its action and what it carries; of a choice that of its last option."""
    found: list[tuple[object, dict[str, Any]]] = []
    for element in answer.elements:
        options: Any = element.get("options", [element])
        found.append((element["action_id"], json.loads(options[-1]["value"])))
    return found


def seconds(at: datetime) -> int:
    return int(at.timestamp())


# --- how an answer is made -------------------------------------------------------------------------


def test_an_answer_is_for_its_asker_alone_and_shows_how_it_was_understood() -> None:
    made: Any = SlackAnswer(
        Marked("*done*"), "a < b", ({"type": "button"},), ({"type": "divider"},)
    ).to_json()

    assert (made["response_type"], made["text"]) == ("ephemeral", "*done*\na &lt; b")
    assert [block["type"] for block in made["blocks"]] == ["section", "divider", "actions", "context"]
    assert made["blocks"][2]["elements"] == [{"type": "button"}]
    bare: Any = plainly("a < b").to_json()
    assert (bare["text"], [block["type"] for block in bare["blocks"]]) == ("a &lt; b", ["section"])


def test_whose_zone_is_not_known_reads_that_times_are_the_labs() -> None:
    unknown = replace(VOICE, zone_known=False)
    assert VOICE.understood("open it") == UNDERSTOOD
    assert unknown.understood("open it") == (
        f"{UNDERSTOOD} Slack did not say your time zone in time, so times are in the lab's time zone."
    )
    assert unknown.understood("") == ""


def test_who_is_not_told_the_decision_hears_where_it_is_shown() -> None:
    assert follows("open it", VOICE, word="gpu") == plainly(
        "The lab is deciding. `gpu status` shows the result.", UNDERSTOOD
    )


# --- what was decided ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opens", "ahead"), [(EIGHT, False), (EIGHT + 2 * MINUTE, False), (EIGHT + 2 * MINUTE + SECOND, True)]
)
def test_what_opens_in_more_than_two_minutes_is_granted_ahead(opens: datetime, ahead: bool) -> None:
    decision = Decision("c1", "granted", "", EIGHT)
    said = decided(decision, OPEN, replace(LEASE, opens=opens), "open it", VOICE)
    assert said.understood == UNDERSTOOD
    assert ("from 20:02 until" in said.text) is ahead
    assert ("shows their progress" in said.text) is not ahead


def test_a_grant_on_an_experimental_kind_of_pool_says_so() -> None:
    decision = Decision("c1", "granted", "", EIGHT)
    [granted, plain_grant] = [
        decided(decision, OPEN, replace(LEASE, opens=EIGHT), "open it", VOICE, experimental=kind).text
        for kind in (True, False)
    ]
    assert granted == f"{plain_grant}\n{EXPERIMENTAL}"


@pytest.mark.parametrize(
    ("outcome", "command", "lease", "said"),
    [
        ("granted", OPEN, None, "Granted: until 21:00 (Asia/Seoul)."),
        ("granted", replace(OPEN, verb=Verb.EXTEND), LEASE, "Granted: until 21:00 (Asia/Seoul)."),
        ("already-open", OPEN, LEASE, "Already open: until 21:00 (Asia/Seoul)."),
    ],
)
def test_every_other_outcome_is_told_with_its_reason(
    outcome: str, command: Command, lease: Lease | None, said: str
) -> None:
    decision = Decision("c1", outcome, "until 12:00 UTC on 2026-11-20.", EIGHT)
    assert decided(decision, command, lease, "", VOICE) == plainly(said)


FULL = Decision("c1", "refused", "gpu is full", EIGHT, earliest=EIGHT + 2 * HOUR)


def test_a_full_pool_comes_with_a_place_in_its_waiting_list() -> None:
    said = decided(FULL, ASKED, None, "open it", VOICE)

    assert said.text.splitlines() == [
        "Refused: gpu is full.",
        "As things stand now, it would be granted at 22:00 (Asia/Seoul).",
        "Nothing is free for that long until 2026-11-27 20:00 (Asia/Seoul).",
    ]
    assert said.understood == UNDERSTOOD
    assert carried(said) == [
        ("tell-me", {"p": "gpu", "n": 2, "s": 3600, "u": seconds(EIGHT + 2 * HOUR), "b": "the exam"})
    ]


@pytest.mark.parametrize(
    ("more", "lasting"),
    [
        ({"closes": EIGHT + 3 * HOUR}, 3),
        ({"opens": EIGHT + HOUR, "closes": EIGHT + 3 * HOUR}, 2),
        ({"closes": EIGHT + 3 * HOUR, "lasting": HOUR}, 1),
    ],
)
def test_a_wish_lasts_as_long_as_what_was_asked_for(more: dict[str, Any], lasting: int) -> None:
    [(_, wish)] = carried(decided(FULL, replace(OPEN, **more), None, "", VOICE))
    assert wish["s"] == lasting * 3600


@pytest.mark.parametrize(
    ("decision", "command"),
    [
        (replace(FULL, earliest=None), OPEN),
        (replace(FULL, outcome="unchanged"), OPEN),
        (FULL, replace(OPEN, verb=Verb.EXTEND)),
    ],
)
def test_where_no_place_comes_free_nobody_waits(decision: Decision, command: Command) -> None:
    assert decided(decision, command, None, "", VOICE).elements == ()


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

    later = (EIGHT + 2.5 * HOUR, EIGHT + 3 * HOUR, EIGHT + 4 * HOUR)
    command, room = replace(ASKED, closes=EIGHT + HOUR), Room(2, later=later)
    said = just_use_it([sooner, last, sooner], None, command, "open it", VOICE, room=room)

    assert (said.text, said.understood) == (
        "gpu is open until 22:00 (Asia/Seoul) (evening). You can use it now.",
        UNDERSTOOD,
    )
    assert carried(said) == [
        ("keep-until", {"l": "last", "u": seconds(EIGHT + 4 * HOUR)}),
        ("add", {"p": "gpu", "n": 2, "s": 3600, "u": seconds(EIGHT + HOUR), "b": "the exam"}),
    ]
    [keep, _] = said.elements
    options: Any = keep["options"]
    assert [option["text"]["text"] for option in options] == ["22:30", "23:00", "2026-11-21 00:00"]


def test_a_choice_is_no_longer_than_slack_allows() -> None:
    # https://docs.slack.dev/reference/block-kit/composition-objects/option-object: a value has 150 characters at most.
    name = "w" * 40
    last = replace(LEASE, id=f"{name}-2026-11-21-0123456789abcdef", pool="p" * 40, window=name)
    said = just_use_it([last], None, ASKED, "open it", VOICE, room=Room(2, later=(EIGHT + 3 * HOUR,)))
    options: Any = said.elements[0]["options"]
    assert [len(option["value"]) <= 150 for option in options] == [True]


def test_to_a_pool_that_is_full_nothing_is_added() -> None:
    said = just_use_it([LEASE], 0, ASKED, "open it", VOICE, room=Room(0, earliest=EIGHT + HOUR, free=FREE))
    assert said.text.splitlines()[1:] == [
        "There is no room for this now. As things stand now, it would be granted at 21:00 (Asia/Seoul).",
        "The next times at which this would be granted (Asia/Seoul):",
    ]
    assert [action for action, _ in carried(said)] == ["tell-me", "book"]
    assert said.understood == UNDERSTOOD


def test_only_what_can_be_granted_is_offered_and_the_label_says_how_much() -> None:
    never = Reason("lease.too-many-nodes", {"nodes": 4, "pool": "gpu", "most": 3})
    said = just_use_it([LEASE], 0, replace(ASKED, nodes=4), "open it", VOICE, room=Room(2, never))
    assert said.text.splitlines()[1:] == [
        "Nothing changed: 4 nodes were asked for, and pool gpu has at most 3."
    ]
    [(action, value)] = carried(said)
    [button] = said.elements
    label: Any = button["text"]
    assert (action, value["n"], label["text"]) == ("add", 2, "Add 2 nodes")


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
