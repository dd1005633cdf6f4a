"""What the ledger keeps to be read later: experiments, proofs, progress, documents, and the form of their items."""

from dataclasses import replace

import pytest

from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from tests.builders.leases import DAY, EIGHT, MINUTE
from tests.ledger_table import keep_proof, kept
from tests.unit.checks.test_gpu_proof import proof
from tests.unit.ledger.test_ledger import decision, entry, granted, lease

RUN = ExperimentRun(
    id="nccl-1",
    name="nccl-blocked",
    pool="gpu",
    lease="cli-1",
    by="alice",
    begun=EIGHT,
    ends=EIGHT + 12 * MINUTE,
    closes=EIGHT + 60 * MINUTE,
    phase=ExperimentPhase.PREPARED,
)


def begin(ledger: Ledger, run: ExperimentRun) -> None:
    ledger.begin_experiment(run, decision(run.id), entry("experiment"))


def test_one_experiment_is_under_way_until_it_is_undone_and_the_latest_is_told_first(ledger: Ledger) -> None:
    later = replace(RUN, id="nccl-2", begun=EIGHT + MINUTE)
    assert (ledger.experiment_under_way(), ledger.experiment("nccl-1"), ledger.experiments()) == (
        None,
        None,
        [],
    )
    begin(ledger, RUN)
    with pytest.raises(Conflict):
        begin(ledger, later)
    assert ledger.experiment_under_way() == ledger.experiment("nccl-1") == RUN

    changed, restored = RUN.moved_to(ExperimentPhase.CHANGED), RUN.moved_to(ExperimentPhase.RESTORED)
    assert ledger.advance_experiment(changed, [ExperimentPhase.PREPARED]) is True
    assert ledger.advance_experiment(changed, [ExperimentPhase.PREPARED]) is False
    assert ledger.experiment_under_way() == changed
    assert ledger.advance_experiment(restored, [ExperimentPhase.PREPARED, ExperimentPhase.CHANGED]) is True
    assert ledger.experiment_under_way() is None
    begin(ledger, later)
    assert ledger.experiments() == [later, restored]


def test_what_is_proven_of_an_experiment_later_leaves_the_next_one_under_way(ledger: Ledger) -> None:
    begin(ledger, RUN)
    ledger.advance_experiment(RUN.moved_to(ExperimentPhase.RESTORED), [ExperimentPhase.PREPARED])
    later = replace(RUN, id="nccl-2")
    begin(ledger, later)

    assert ledger.advance_experiment(RUN.moved_to(ExperimentPhase.PROVEN), [ExperimentPhase.RESTORED]) is True

    assert ledger.experiment_under_way() == later


def test_an_experiment_is_kept_400_days_and_what_is_under_way_until_it_is_undone(ledger: Ledger) -> None:
    begin(ledger, RUN)
    assert kept("LAB", "EXPERIMENT#nccl-1")["ttl"] == int((EIGHT + 400 * DAY).timestamp())
    assert "ttl" not in kept("LAB", "EXPERIMENTING")


def test_the_newest_proofs_come_first_and_are_kept_400_days(ledger: Ledger) -> None:
    for minutes in (1, 3, 2):
        keep_proof(ledger, proof(minutes))

    assert ledger.proofs("gpu", 2) == [proof(3), proof(2)]
    found = kept("POOL#gpu", "PROOF#2026-11-20T20:01:00.000000Z#evening")
    assert found["ttl"] == int((EIGHT + MINUTE + 400 * DAY).timestamp())


def test_which_nodes_are_replaced_stands_on_a_lease_once_and_only_while_it_is_granted(ledger: Ledger) -> None:
    written = granted(ledger)
    assert ledger.replace_once(written, [], entry("replaced")) == ()
    assert ledger.replace_once(lease("gone"), ["i-1"], entry("replaced")) == ()
    assert ledger.replace_once(written, ["i-1", "i-2"], entry("replaced")) == ("i-1", "i-2")
    assert ledger.replace_once(written, ["i-3"], entry("replaced")) == ("i-1", "i-2")
    assert [each.kind for each in ledger.audit("gpu", EIGHT)] == ["lease-granted", "replaced"]
