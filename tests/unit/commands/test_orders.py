"""How words become a whole command, which lease they mean, and why a pool was as it was at an instant."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cli.understand.why import document
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.why import Explanation, explain
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.commands.meant import lease_meant, pool_meant, window_meant
from lamplighter.domain.commands.orders import closing, extending, opening, order, workflow
from lamplighter.domain.commands.words import OpenWords
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.target import Target
from lamplighter.errors import BadInput, Refused
from lamplighter.reasons.reason import draw, reason
from lamplighter.values.clock_time import clock_time

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
LEASE = Lease(
    id="cli-1", pool="gpu", nodes=2, owner="alice", source="cli", state=LeaseState.OPEN, opens=NOW,
    closes=NOW + 2 * HOUR, hold=Money.zero("USD"),
)  # fmt: skip
GIVEN = Command("c-1", Verb.OPEN, "gpu", "bob", "bob", "slack", NOW, NOW + 15 * MINUTE)


def test_an_order_is_its_givers_own_for_a_quarter_of_an_hour() -> None:
    assert order(Verb.OPEN, "gpu", command_id="c-1", by="bob", source="slack", now=NOW) == GIVEN


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        (Verb.OPEN, "OpenLab"),
        (Verb.CLOSE, "CloseLab"),
        (Verb.EXTEND, "ExtendLease"),
        (Verb.EXPERIMENT, "Experiment"),
        (Verb.RESTORE, "Experiment"),
        (Verb.SKIP, "ChangeLab"),
        (Verb.ACK, "ChangeLab"),
    ],
)
def test_every_verb_has_its_workflow(verb: Verb, name: str) -> None:
    assert workflow(verb) == name


def test_what_is_left_unsaid_is_one_node_now_for_the_usual_length() -> None:
    assert opening(GIVEN, OpenWords(), HOUR) == replace(GIVEN, nodes=1, lasting=HOUR)
    said = OpenWords(nodes=3, duration=2 * HOUR, because="homework")
    assert opening(GIVEN, said, HOUR, add=True) == replace(
        GIVEN, nodes=3, lasting=2 * HOUR, because="homework", add=True
    )
    until = OpenWords(closes=NOW + HOUR)
    assert opening(GIVEN, until, HOUR) == replace(GIVEN, nodes=1, closes=NOW + HOUR)


@pytest.mark.parametrize(("seconds", "later"), [(-60, False), (120, False), (121, True)])
def test_an_opening_within_two_minutes_is_now(seconds: int, *, later: bool) -> None:
    opens = NOW + seconds * SECOND
    assert opening(GIVEN, OpenWords(opens=opens), HOUR).opens == (opens if later else None)


def test_an_extension_and_a_close_are_on_the_owners_account() -> None:
    more = OpenWords(duration=HOUR, because="slow")
    owned = replace(GIVEN, owner="alice", lease="cli-1")
    assert extending(GIVEN, LEASE, more) == replace(owned, lasting=HOUR, because="slow")
    assert extending(GIVEN, LEASE, OpenWords(closes=NOW)) == replace(owned, closes=NOW)
    assert closing(GIVEN, LEASE) == replace(owned, because=reason("lease.closed-by", by="bob"))


def meant(what: str | None, *leases: Lease, ending: bool = False) -> str:
    return lease_meant(what, leases, ("gpu", "big"), "extend", now=NOW, closing=ending, or_else="or all").id


def test_a_lease_is_meant_by_its_id_or_as_the_only_one_that_runs() -> None:
    ahead = replace(LEASE, id="ahead", opens=NOW + SECOND)
    ending = replace(LEASE, id="ending", state=LeaseState.CLOSING)
    elsewhere = replace(LEASE, id="elsewhere", pool="big")

    assert meant(None, LEASE, ahead, ending) == meant("gpu", LEASE, ahead, elsewhere) == "cli-1"
    assert meant("ahead", LEASE, ahead) == "ahead"
    assert meant("ending", LEASE, ending, ending=True) == meant(None, ending, ending=True) == "ending"
    with pytest.raises(
        BadInput, match=r"^'ending' is neither a pool nor a lease; pools: gpu, big, leases: none$"
    ):
        meant("ending", ending)
    with pytest.raises(
        BadInput,
        match=r"^several leases run in the lab; name one of cli-1 \(alice\), elsewhere \(alice\); or all$",
    ):
        meant(None, LEASE, elsewhere)
    with pytest.raises(
        Refused,
        match=r"^no lease runs on pool gpu: there is nothing to extend; granted ahead: ahead \(alice\)$",
    ):
        meant("gpu", ahead, elsewhere)
    with pytest.raises(Refused, match=r"^no lease runs in the lab: there is nothing to extend$"):
        meant(None)
    with pytest.raises(Refused, match=r"^no lease runs in the lab: there is nothing to close$"):
        lease_meant(None, [ending], ["gpu"], "close", now=NOW)


def test_a_pool_and_a_window_are_meant_by_name_and_a_pool_as_the_only_one() -> None:
    assert (pool_meant(None, ["gpu"]), pool_meant("big", ["gpu", "big"])) == ("gpu", "big")
    assert window_meant("evening", ["evening"]) == "evening"
    with pytest.raises(BadInput, match=r"^POOL: the lab has 2 pools, name one of gpu, big$"):
        pool_meant(None, ["gpu", "big"])
    with pytest.raises(BadInput, match=r"^POOL: there is no pool 'gpus', the lab has gpu$"):
        pool_meant("gpus", ["gpu"])
    with pytest.raises(BadInput, match=r"^WINDOW: there is no window 'night', the lab has evening$"):
        window_meant("night", ["evening"])
    with pytest.raises(BadInput, match=r"^WINDOW: there is no window 'night', the lab has none$"):
        window_meant("night", [])


def entry(seconds: int, kind: str, lease: str | None = None, **details: str) -> Entry:
    return Entry(NOW + seconds * SECOND, "gpu", kind, "alice", f"at {seconds}", "why", lease, 2, details)


def test_an_instant_is_explained_by_what_was_decided_up_to_it() -> None:
    granted, ready, later = entry(0, "lease-granted"), entry(60, "node-ready"), entry(61, "closing")

    found = explain([LEASE], [later, ready, granted], NOW + MINUTE, 2)

    assert found == Explanation(NOW + MINUTE, Target(2, (LEASE,)), granted, (granted, ready), (), ())
    assert explain([], [], NOW, 2) == Explanation(NOW, Target(0, ()), None, (), (), ())
    assert explain([], [granted, ready, later], NOW + HOUR, 2, steps=2).trail == (ready, later)
    many = [entry(number, "node-ready") for number in range(12)]
    assert explain([], many, NOW + HOUR, 2).trail == tuple(many[2:])


def test_an_end_that_was_moved_later_was_not_yet_moved() -> None:
    moves = [
        entry(60, "extended", "cli-1", **{"from": "2026-11-20T20:30:00Z"}),
        entry(90, "closing", "cli-1", **{"from": "2026-11-20T21:30:00Z"}),
        entry(90, "closing", "cli-2", **{"from": "2026-11-20T20:10:00Z"}),
    ]
    closed = replace(LEASE, state=LeaseState.CLOSED, closes=NOW + 90 * SECOND)

    def until(seconds: int) -> list[datetime]:
        return [lease.closes for lease in explain([closed], moves, NOW + seconds * SECOND, 2).target.in_force]

    assert until(59) == [NOW + 30 * MINUTE]
    assert until(60) == until(89) == [NOW + 90 * MINUTE]
    assert until(90) == []
    assert until(-1) == []
    assert explain([LEASE], [entry(60, "receipt", "cli-1")], NOW, 2).target.in_force == (LEASE,)


@pytest.mark.parametrize(("seconds", "nodes"), [(-1, 0), (0, 2), (7199, 2), (7200, 0)])
def test_a_lease_that_is_closed_by_now_was_open_then(seconds: int, nodes: int) -> None:
    for state in (LeaseState.CLOSING, LeaseState.CLOSED):
        found = explain([replace(LEASE, state=state)], [], NOW + seconds * SECOND, 2)
        assert found.nodes == nodes
    assert explain([replace(LEASE, state=LeaseState.REFUSED)], [], NOW, 2).nodes == 0


def test_the_last_decision_is_told_by_a_clock_and_not_twice() -> None:
    def told(*trail: Entry) -> Explanation:
        return explain([], trail, NOW + HOUR, 2)

    granted = replace(entry(0, "lease-granted"), what="granted it until 22:00 UTC on 2026-11-20")
    ready, closing_it = entry(60, "node-ready"), entry(61, "closing")

    assert told(granted, ready) == Explanation(NOW + HOUR, Target(0, ()), granted, (granted, ready))
    last_decision = draw(told(granted, ready).last_decision, ENGLISH, lambda at: f"{at:%H:%M}")
    assert last_decision == str(
        reason("audit.last-decided", at="20:00", who="alice", what="granted it until 22:00", why="why")
    )
    assert told(granted, closing_it).decision == closing_it
    for last in (told(granted), told(granted, closing_it), told(ready), told()):
        assert last.last_decision is None


def test_an_explanation_is_written_whole() -> None:
    granted = entry(0, "lease-granted", "cli-1")

    assert document(explain([LEASE], [granted], NOW, 2), clock_time) == {
        "at": "2026-11-20T20:00:00Z",
        "nodes": 2,
        "reason": "alice's lease justifies 2 until 22:00 UTC on 2026-11-20",
        "decision": {
            "at": "2026-11-20T20:00:00Z", "kind": "lease-granted", "who": "alice", "what": "at 0",
            "why": "why", "lease": "cli-1", "nodes": 2,
        },
        "trail": [document(explain([LEASE], [granted], NOW, 2), clock_time)["decision"]],
        "without_lease": [],
        "findings": [],
    }  # fmt: skip
