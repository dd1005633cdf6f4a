"""A command and its answer as values: what is written, what is read, and until when one stands."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import MovedLease
from lamplighter.errors import BadInput
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND

PLAIN = Command("c1", Verb.OPEN, "gpu", "alice", "tom", "cli", EIGHT, EIGHT + HOUR)
FULL = replace(
    PLAIN, lease="evening-1", nodes=1, opens=EIGHT + MINUTE, closes=EIGHT + 2 * MINUTE,
    lasting=90 * MINUTE, window="evening", date="2026-11-20", because="the exam", generation=0,
    add=True, opened_by="c0", experiment="nccl", for_lab=True, allowance=Allowance(2, HOUR),
    moved_from=MovedLease("other", "evening-0"),
)  # fmt: skip


def test_a_command_is_written_whole_and_read_back() -> None:
    written = FULL.to_json()

    assert written == {
        "id": "c1", "verb": "open", "pool": "gpu", "lease": "evening-1", "nodes": 1,
        "opens": "2026-11-20T20:01:00Z", "closes": "2026-11-20T20:02:00Z", "for_seconds": 5400,
        "owner": "alice", "by": "tom", "source": "cli", "window": "evening", "date": "2026-11-20",
        "because": "the exam", "issued": "2026-11-20T20:00:00Z", "expires": "2026-11-20T21:00:00Z",
        "generation": 0, "add": True, "opened_by": "c0", "experiment": "nccl", "for_lab": True,
        "allowance": {"nodes": 2, "seconds": 3600},
        "moved_from": {"pool": "other", "lease": "evening-0"},
    }  # fmt: skip
    assert Command.from_json(written) == FULL
    assert Command.from_json(PLAIN.to_json()) == PLAIN


def test_what_a_command_leaves_out_or_empty_it_does_not_say() -> None:
    needed = {
        key: PLAIN.to_json()[key]
        for key in ("id", "verb", "pool", "owner", "by", "source", "issued", "expires")
    }
    assert Command.from_json(needed) == PLAIN
    assert Command.from_json({**needed, "lease": "", "because": ""}) == PLAIN


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"verb": "dance"}, ("verb: 'dance' is none of open, close, extend, skip, unskip, pause, resume, arm, watch, "
                            "ack, keep, experiment, restore")),
        ({"source": "mail"}, "source: 'mail' is none of cli, event, guard, slack, window"),
        ({"owner": ""}, "owner: a command needs it, as text"),
        ({"id": 7}, "id: a command needs it, as text"),
        ({"because": 7}, "because: must be text, not '7'"),
        ({"nodes": 0}, "nodes: must be a whole number of at least 1, not '0'"),
        ({"nodes": True}, "nodes: must be a whole number of at least 1, not 'True'"),
        ({"nodes": 1.5}, "nodes: must be a whole number of at least 1, not '1.5'"),
        ({"for_seconds": 0}, "for_seconds: must be a whole number of at least 1, not '0'"),
        ({"generation": -1}, "generation: must be a whole number of at least 0, not '-1'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_command_is_named(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        Command.from_json({**FULL.to_json(), **wrong})
    assert str(refused.value) == problem


def test_only_true_adds_nodes_or_speaks_for_the_lab() -> None:
    read = Command.from_json({**FULL.to_json(), "add": 1, "for_lab": "true", "allowance": 2})
    assert (read.add, read.for_lab, read.allowance) == (False, False, None)


@pytest.mark.parametrize(
    ("command", "after", "reason"),
    [
        (PLAIN, HOUR - SECOND, None),
        (PLAIN, HOUR, ("the command to open pool gpu was good until 21:00 UTC on 2026-11-20 and came at "
                              "21:00 UTC on 2026-11-20")),
        (replace(PLAIN, generation=5), MINUTE, None),
        (replace(PLAIN, generation=4), MINUTE,
         "the command to open pool gpu was given for state 4, and it is in 5 by now"),
        (replace(PLAIN, generation=6, verb=Verb.PAUSE, pool="*"), MINUTE,
         "the command to pause the lab was given for state 6, and it is in 5 by now"),
    ],
)  # fmt: skip
def test_a_command_stands_until_it_expires_and_in_the_state_for_which_it_was_given(
    command: Command, after: timedelta, reason: str | None
) -> None:
    why = command.too_old(EIGHT + after, 5)
    assert (why and str(why)) == reason


def test_a_command_means_one_lease() -> None:
    assert FULL.lease_id == "evening-1"
    assert PLAIN.lease_id == "cli-d0f631ca"
    assert replace(PLAIN, id="c2").lease_id != PLAIN.lease_id


def test_a_decision_is_written_and_read_back_and_only_a_grant_has_granted() -> None:
    made = Decision("c1", "granted", "there is room", EIGHT, "cli-1", EIGHT + HOUR, "cli-0")
    bare = Decision("c1", "refused", "there is none", EIGHT)

    assert made.to_json() == {
        "command": "c1", "outcome": "granted", "reason": "there is room", "at": "2026-11-20T20:00:00Z",
        "lease": "cli-1", "earliest": "2026-11-20T21:00:00Z", "about": "cli-0",
    }  # fmt: skip
    for each in (made, bare):
        assert Decision.from_json(each.to_json()) == each
    assert (made.granted, replace(made, outcome="already-open").granted) == ("cli-1", None)
