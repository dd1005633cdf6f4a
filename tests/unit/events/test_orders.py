"""The command of a request: its owner, its allowance and its defaults come from the lab, and the lease by its token."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.events import orders, request
from lamplighter.domain.events.request import EventRequest
from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.errors import BadInput, Refused
from lamplighter.lab.model import Lab
from tests.unit.events.bus import EIGHT, LAB, MINUTE, OTHER, event, lease

HOUR = timedelta(hours=1)


def asked(detail: dict[str, Any] | None = None, verb: str = "open", **more: object) -> EventRequest:
    return request.read(event(detail, **{"detail-type": verb, **more}), LAB, EIGHT)


def lab(**entry: Any) -> Lab:
    """The lab with other words for the entry `training`."""
    document = LAB.model_dump()
    document["events"]["allow"]["training"] |= entry
    return Lab.model_validate(document)


def test_an_open_is_the_owners_of_the_entry_with_its_allowance() -> None:
    command = orders.opening(asked({"nodes": 2, "for_seconds": 7200, "because": "run 7"}), LAB)

    assert (command.owner, command.by, command.source) == ("ci-training", "training (event)", "event")
    assert command.allowance == Allowance(2, 3 * HOUR)
    assert (command.nodes, command.lasting, command.closes, command.because) == (2, 2 * HOUR, None, "run 7")
    assert (command.issued, command.expires) == (EIGHT, EIGHT + 15 * MINUTE)
    assert command.add
    assert not command.for_lab
    assert Command.from_json(command.to_json()) == command


def test_every_verb_carries_the_allowance() -> None:
    allowance, theirs = Allowance(2, 3 * HOUR), lease()
    assert orders.extending(asked(verb="extend"), LAB, theirs).allowance == allowance
    assert orders.closing(asked(verb="close"), LAB, theirs).allowance == allowance


def test_an_entry_without_limits_has_those_of_the_pool_and_the_guard_only() -> None:
    jobs = asked({"pool": "big"}, source=OTHER, account="123456789012")
    command = orders.opening(jobs, LAB)
    assert (command.allowance, command.owner) == (Allowance(), "jobs")


def test_what_is_left_out_is_one_node_for_the_labs_default_within_the_longest() -> None:
    default = LAB.guard.default_lease
    assert default < 3 * HOUR
    command = orders.opening(asked(), LAB)
    assert (command.nodes, command.lasting, command.opens) == (1, default, None)
    short = orders.opening(asked(), lab(longest="30m"))
    assert short.lasting == 30 * MINUTE
    assert orders.extending(asked(verb="extend"), LAB, lease()).lasting == default


def test_until_is_the_end_and_no_length_is_added() -> None:
    detail = {"until": "2026-11-20T21:00:00Z"}
    for command in (
        orders.opening(asked(detail), LAB),
        orders.extending(asked(detail, "extend"), LAB, lease()),
    ):
        assert (command.closes, command.lasting) == (EIGHT + HOUR, None)


def test_the_clock_of_who_asks_only_shortens_for_how_long_a_command_is_good() -> None:
    early = orders.opening(asked(time="2026-11-20T19:50:00Z"), LAB)
    ahead = orders.opening(asked(time="2026-11-20T20:05:00Z"), LAB)
    assert early.expires == EIGHT + 5 * MINUTE
    assert ahead.expires == EIGHT + 15 * MINUTE


def test_two_opens_by_one_token_are_one_lease_and_without_one_they_are_two() -> None:
    first, again = asked({"token": "t"}), asked({"token": "t"}, id="another")
    assert orders.opening(first, LAB).lease_id == orders.opening(again, LAB).lease_id
    assert orders.opening(asked(), LAB).lease_id != orders.opening(asked(id="another"), LAB).lease_id


OPENED = Decision("c", "granted", "for a reason", EIGHT, lease="event-2")
MINE, MY_OTHER, ANOTHERS = lease(), lease("event-2"), lease("cli-1", owner="alice", source="cli", by="alice")


def test_with_a_token_the_lease_of_the_same_work_is_meant() -> None:
    for verb in ("extend", "close"):
        meant = orders.lease_of(asked({"token": "t"}, verb), [MINE, MY_OTHER, ANOTHERS], OPENED, EIGHT)
        assert meant == MY_OTHER


@pytest.mark.parametrize(
    ("opened", "code"),
    [
        (None, "command.event.nothing-opened"),
        (replace(OPENED, outcome="refused", lease=None), "command.event.opened-nothing"),
        (replace(OPENED, lease="cli-1"), "command.event.opened-nothing"),
        (replace(OPENED, lease="event-9"), "command.event.opened-nothing"),
    ],
)
def test_with_a_token_no_other_lease_is_meant(opened: Decision | None, code: str) -> None:
    for verb in ("extend", "close"):
        with pytest.raises(Refused) as raised:
            orders.lease_of(asked({"token": "t"}, verb), [MINE, ANOTHERS], opened, EIGHT)
        assert getattr(raised.value.said, "code", "") == code


def test_without_a_token_the_owners_only_running_lease_is_meant() -> None:
    ahead = lease("event-3", opens=EIGHT + HOUR, closes=EIGHT + 2 * HOUR)
    over = lease("event-4", state=LeaseState.CLOSED)
    assert orders.lease_of(asked(verb="close"), [ANOTHERS, ahead, over, MINE], None, EIGHT) == MINE


def test_a_close_again_means_the_lease_that_is_closing() -> None:
    closing = lease(state=LeaseState.CLOSING)
    assert orders.lease_of(asked(verb="close"), [closing], None, EIGHT) == closing
    with pytest.raises(Refused):
        orders.lease_of(asked(verb="extend"), [closing], None, EIGHT)


def test_without_a_token_several_leases_or_none_are_refused() -> None:
    with pytest.raises(BadInput, match="by the token of the open"):
        orders.lease_of(asked(verb="close"), [MINE, MY_OTHER], None, EIGHT)
    with pytest.raises(Refused):
        orders.lease_of(asked(verb="close"), [ANOTHERS], None, EIGHT)
