"""What is sent to the lab's own address: which bodies are read, what they become, and whom they may concern."""

from datetime import timedelta

import pytest

from lamplighter.domain.commands.asked import MOST_BYTES, PATHS, about, document, read
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun, restoring
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, Refused
from tests.builders.guard_facts import lease
from tests.builders.leases import EIGHT as NOW

ALICE, BOB = (Caller(f"arn:aws:iam::123456789012:user/{name}") for name in ("alice", "bob"))
OPEN = {"verb": "open", "pool": "gpu", "token": "t-1"}
SKIP = {"verb": "skip", "pool": "*", "token": "t-1"}


def sent(path: str = "lab/open", /, **body: object) -> Command:
    return read(OPEN | body, path, ALICE, NOW)


def changed(**body: object) -> Command:
    return read(SKIP | body, "lab/change", ALICE, NOW)


def test_each_way_leads_to_one_s_own_or_to_the_lab_and_a_body_has_16_kib() -> None:
    ways = ("open", "extend", "close", "experiment", "change")
    assert (*(f"own/{way}" for way in ways), *(f"lab/{way}" for way in ways)) == PATHS
    assert MOST_BYTES == 16_384


def test_what_the_body_leaves_out_is_left_open_and_nothing_else_is_set() -> None:
    said = sent("own/open")
    assert said == Command(
        id=said.id, verb=Verb.OPEN, pool="gpu", owner="alice", by="alice", source="cli", issued=NOW,
        expires=NOW + timedelta(minutes=15),
    )  # fmt: skip


def test_every_key_of_the_body_is_read() -> None:
    said = sent(
        nodes=2,
        opens="2026-11-20T21:00:00.75Z",
        closes="2026-11-21T08:00:00+09:00",
        because="exams",
        add=True,
        owner="bob",
    )

    assert (said.nodes, said.because, said.add, said.for_lab) == (2, "exams", True, True)
    assert (said.opens, said.closes) == (NOW + timedelta(hours=1), NOW + timedelta(hours=3))
    assert (said.by, said.owner) == ("alice", "bob")
    assert sent(for_seconds=90).lasting == timedelta(seconds=90)
    skip = changed(window="evening", date="2026-11-21", because="a holiday")
    assert (skip.pool, skip.window, skip.date, skip.because) == ("*", "evening", "2026-11-21", "a holiday")
    run = read(OPEN | {"verb": "experiment", "experiment": "slow"}, "own/experiment", ALICE, NOW)
    assert run.experiment == "slow"


def test_the_id_is_the_caller_s_own_and_follows_from_the_token_alone() -> None:
    one = sent(nodes=1).id
    assert one.startswith("cli-open-")
    assert len(one) == len("cli-open-") + 16
    assert sent(nodes=2).id == one
    assert one not in {sent(token="t-2").id, read(OPEN, "lab/open", BOB, NOW).id}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"nodes": 1}, None),
        ({"nodes": 100}, None),
        ({"nodes": 0}, "nodes: must be a whole number from 1 to 100, not '0'"),
        ({"nodes": 101}, "nodes: must be a whole number from 1 to 100, not '101'"),
        ({"nodes": True}, "nodes: must be a whole number from 1 to 100, not 'True'"),
        ({"nodes": 1.0}, "nodes: must be a whole number from 1 to 100, not '1.0'"),
        ({"nodes": "1"}, "nodes: must be a whole number from 1 to 100, not '1'"),
        ({"for_seconds": 1}, None),
        ({"for_seconds": 31_622_400}, None),
        ({"for_seconds": 0}, "for_seconds: must be a whole number from 1 to 31622400, not '0'"),
        ({"for_seconds": 31_622_401}, "for_seconds: must be a whole number from 1 to 31622400, not '31622401'"),
        ({"add": False}, None),
        ({"add": 1}, "add: must be true or false, not '1'"),
        ({"add": None}, "add: must be true or false, not 'None'"),
        ({"because": "x" * 500}, None),
        ({"because": None}, None),
        ({"because": "x" * 501}, f"because: must be text of 1 to 500 characters in one line, not '{'x' * 80}'"),
        ({"because": ""}, "because: must be text of 1 to 500 characters in one line, not ''"),
        ({"because": " "}, "because: must be text of 1 to 500 characters in one line, not ' '"),
        ({"because": "a\nb"}, "because: must be text of 1 to 500 characters in one line, not 'a\\nb'"),
        ({"because": 7}, "because: must be text of 1 to 500 characters in one line, not '7'"),
        ({"owner": "x" * 100}, None),
        ({"owner": "x" * 101}, f"owner: must be text of 1 to 100 characters in one line, not '{'x' * 80}'"),
        ({"opens": "1970-01-01T00:00:00Z"}, None),
        ({"opens": "2199-12-31T23:59:59Z"}, None),
        ({"opens": "1969-12-31T23:59:59Z"}, "opens: must lie between the years 1970 and 2200, not be '1969-"),
        ({"closes": "2200-01-01T00:00:00Z"}, "closes: must lie between the years 1970 and 2200, not be '2200-"),
        ({"opens": "soon"}, "opens: must be an instant like 2026-11-20T20:00:00Z, not 'soon'"),
        ({"closes": "0001-01-01T00:00:00+09:00"}, "closes: must be an instant like 2026-11-20T20:00:00Z, not '0"),
        ({"source": "guard"}, "source: open takes verb, pool, token, nodes, opens, closes, for_seconds, "),
        ({"source": "guard", "window": "evening"}, "source: open takes verb, pool, token, "),
        ({"window": "evening"}, "window: open takes verb, pool, token, nodes, opens, closes, for_seconds, "),
        ({"token": None}, "token: is missing, it must be text"),
        ({"pool": None}, "pool: is missing, it must be text"),
        ({"token": None, "pool": None}, "token: is missing, it must be text"),
        ({"pool": "*"}, "pool: open takes a pool, not '*'"),
        ({"verb": "close"}, "verb: 'close' is none of open"),
        ({"verb": ["open"]}, "verb: \"['open']\" is none of open"),
    ],
)  # fmt: skip
def test_each_key_is_held_to_its_limits(body: dict[str, object], said: str | None) -> None:
    if said is None:
        assert sent(**body).verb is Verb.OPEN
    else:
        with pytest.raises(BadInput) as refused:
            sent(**body)
        assert str(refused.value).startswith(said)


def test_a_change_of_the_calendar_is_of_the_whole_lab_and_has_a_date() -> None:
    with pytest.raises(BadInput, match=r"^pool: skip takes '\*', not 'gpu'$"):
        changed(pool="gpu")
    with pytest.raises(BadInput, match=r"^date: must be a date like 2026-11-20, not 'soon'$"):
        changed(date="soon")
    assert changed().date is None


def test_what_is_no_object_is_refused_with_an_example() -> None:
    with pytest.raises(BadInput, match=r"^body: must be a JSON object like"):
        read(["open"], "own/open", ALICE, NOW)


def test_what_is_sent_for_a_command_is_what_it_says_and_reads_back() -> None:
    said = sent(nodes=1, for_seconds=3600, because="exams", add=True)
    body = document(said, "t-1")
    assert body == OPEN | {"nodes": 1, "for_seconds": 3600, "because": "exams", "add": True, "owner": "alice"}
    assert sent(**body) == said
    assert document(sent(), "t-1") == OPEN | {"owner": "alice"}


LEASE = lease("evening")
"""Alice answers for it."""


def ask(path: str, caller: Caller = BOB, /, **body: object) -> Command:
    return read({"pool": "gpu", "token": "t-1"} | body, path, caller, NOW)


def test_a_close_says_who_closed_what() -> None:
    assert str(ask("lab/close", verb="close").because) == "bob closed all of pool gpu"
    assert str(ask("own/close", verb="close", lease="evening").because) == "bob closed it"
    assert ask("own/extend", verb="extend", lease="evening", for_seconds=60).because is None


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("own/open", {"verb": "open", "owner": "alice"}, "owner: you may open for yourself only;"),
        ("own/close", {"verb": "close"}, "you may not close all of pool gpu: name your own lease"),
        ("own/change", {"verb": "pause", "pool": "*"}, "pause concerns everybody in the lab: ask somebody"),
        ("own/change", {"verb": "arm"}, "arm concerns everybody in the lab: ask somebody who runs it"),
        ("own/open", {"verb": "open", "owner": "bob"}, None),
        ("own/change", {"verb": "keep", "lease": "evening"}, None),
        ("own/close", {"verb": "close", "lease": "evening"}, None),
        ("lab/open", {"verb": "open", "owner": "alice"}, None),
        ("lab/change", {"verb": "pause", "pool": "*"}, None),
        ("lab/close", {"verb": "close"}, None),
    ],
)
def test_for_others_one_asks_as_who_runs_the_lab(
    path: str, body: dict[str, object], said: str | None
) -> None:
    if said is None:
        assert ask(path, **body).by == "bob"
    else:
        with pytest.raises(Refused) as refused:
            ask(path, **body)
        assert str(refused.value).startswith(said)


@pytest.mark.parametrize(("verb", "way"), [("extend", "extend"), ("keep", "change")])
def test_extending_and_keeping_need_the_lease_that_is_meant(verb: str, way: str) -> None:
    with pytest.raises(BadInput, match=f"^lease: {verb} needs the id of a lease$"):
        ask(f"own/{way}", verb=verb)


@pytest.mark.parametrize(("verb", "way"), [("extend", "extend"), ("close", "close"), ("keep", "change")])
def test_a_lease_is_touched_by_its_owner_or_by_who_runs_the_lab_and_stays_its_owner_s(
    verb: str, way: str
) -> None:
    def named(authority: str, caller: Caller, found: Lease | None = LEASE) -> Command:
        return about(ask(f"{authority}/{way}", caller, verb=verb, lease="evening"), found)

    assert named("own", ALICE).owner == named("lab", BOB).owner == "alice"
    with pytest.raises(
        Refused,
        match=f"^the evening lease belongs to alice, and you may {verb} only your own leases: ask alice",
    ):
        named("own", BOB)
    with pytest.raises(BadInput, match=r"^lease: pool gpu has no lease 'evening'$"):
        named("lab", ALICE, None)


def test_a_command_that_names_no_lease_of_its_own_stays_as_it_is() -> None:
    whole = ask("lab/close", verb="close")
    tried = ask("own/experiment", verb="experiment", experiment="nccl-blocked", lease="evening")
    assert about(whole, LEASE) == about(whole, None) == whole
    assert about(tried, LEASE) == tried


def test_an_experiment_is_restored_by_who_runs_it_the_owner_of_its_lease_or_who_runs_the_lab() -> None:
    def restore(authority: str = "own", caller: Caller = BOB) -> Command:
        return ask(f"{authority}/experiment", caller, verb="restore")

    assert about(restore(), LEASE, "bob").verb is Verb.RESTORE
    assert about(restore(caller=ALICE), LEASE, "carol").by == "alice"
    assert about(restore("lab"), None, None).for_lab
    for command, found, experimenter in (
        (restore(), LEASE, "carol"),
        (restore(), None, "carol"),
        (restore(caller=ALICE), LEASE, None),
    ):
        with pytest.raises(
            Refused,
            match=r"^an experiment can be restored only by the person who runs it, the owner of its lease or",
        ):
            about(command, found, experimenter)


def test_a_restore_is_about_the_run_that_is_meant() -> None:
    ends = NOW + timedelta(hours=1)
    run = ExperimentRun(
        "run-1", "nccl", "gpu", "evening", "carol", NOW, ends, LEASE.closes, ExperimentPhase.PREPARED
    )
    found = restoring(ask("own/experiment", verb="restore", pool="big"), run)
    assert (found.experiment, found.pool, found.lease) == ("run-1", "gpu", "evening")
