"""Whose leases a person may touch by the address that let them in: their own, or everybody's."""

from datetime import timedelta

import pytest

from lamplighter.domain.commands.asked import about, read
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun, restoring
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, Refused
from tests.builders.guard_facts import lease
from tests.builders.leases import EIGHT

ALICE, BOB = (Caller(f"arn:aws:iam::123456789012:user/{name}") for name in ("alice", "bob"))
LEASE = lease("evening")
"""Alice answers for it."""


def ask(path: str, caller: Caller = BOB, /, **body: object) -> Command:
    return read({"pool": "gpu", "token": "t-1"} | body, path, caller, EIGHT)


def run() -> ExperimentRun:
    return ExperimentRun(
        "run-1",
        "nccl-blocked",
        "gpu",
        "evening",
        "carol",
        EIGHT,
        EIGHT + timedelta(hours=1),
        LEASE.closes,
        ExperimentPhase.PREPARED,
    )


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
    found = restoring(ask("own/experiment", verb="restore", pool="big"), run())
    assert (found.experiment, found.pool, found.lease) == ("run-1", "gpu", "evening")
