"""What the ledger keeps to be read later: experiments, proofs, progress, documents, and the form of their items."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.domain.leases.progress import Noted, Stage
from tests.builders.leases import DAY, EIGHT, MINUTE, SECOND
from tests.ledger_table import keep_proof, keep_verdicts, kept
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


def test_documents_come_back_with_their_keys_in_order(ledger: Ledger) -> None:
    said: dict[str, Any] = {"b": 1, "a": {"d": 1, "c": 2}}
    ledger.put_receipt("gpu", EIGHT, "cli-1", said)
    keep_verdicts(ledger, lease(), [said])
    ledger.keep_settings(lease(), said)
    keep_proof(ledger, proof(0, said))
    begin(ledger, replace(RUN, before=said))
    run = ledger.experiment("nccl-1")
    assert run is not None

    documents: list[Any] = [
        *ledger.receipts("gpu"),
        *ledger.verdicts("gpu", "cli-1"),
        ledger.settings("gpu", "cli-1"),
        ledger.proofs("gpu", 1)[0].rows[0],
        run.before,
    ]
    for found in documents:
        assert (list(found), list(found["a"])) == (["a", "b"], ["c", "d"])


def test_a_receipt_is_found_by_its_lease_and_the_instant_of_its_close(ledger: Ledger) -> None:
    ledger.put_receipt("gpu", EIGHT, "cli-1", {"lease": "cli-1"})
    assert ledger.receipt("gpu", "cli-1", EIGHT) == {"lease": "cli-1"}
    assert ledger.receipt("gpu", "cli-1", EIGHT + SECOND) is None
    assert ledger.receipt("gpu", "cli-2", EIGHT) is None


@pytest.mark.parametrize(
    ("after", "count", "at"),
    [
        (59 * SECOND, (1, 2), EIGHT),
        (MINUTE, (1, 2), EIGHT + MINUTE),
        (SECOND, (2, 2), EIGHT + SECOND),
        (SECOND, (1, 3), EIGHT + SECOND),
        (-SECOND, (1, 2), EIGHT - SECOND),
    ],
)
def test_a_count_once_a_minute(
    ledger: Ledger, after: timedelta, count: tuple[int, int], at: datetime
) -> None:
    """Where somebody else took the note away in between, one can see whether it was written again."""
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT)
    boto3.client("dynamodb").delete_item(
        TableName="ledger", Key={"pk": {"S": "PROGRESS#gpu"}, "sk": {"S": "cli-1"}}
    )

    ledger.note_progress("gpu", "cli-1", Stage.NODES, *count, EIGHT + after)

    written = {} if at == EIGHT else {Stage.NODES: Noted(*count, at, at)}
    assert ledger.progress("gpu", "cli-1") == written


@pytest.mark.parametrize("missing", ["done", "of", "since", "at"])
def test_a_stage_of_which_something_is_missing_is_not_told(ledger: Ledger, missing: str) -> None:
    ledger.note_progress("gpu", "cli-1", Stage.NODES, 1, 2, EIGHT)
    boto3.client("dynamodb").update_item(
        TableName="ledger",
        Key={"pk": {"S": "PROGRESS#gpu"}, "sk": {"S": "cli-1"}},
        UpdateExpression="REMOVE #name",
        ExpressionAttributeNames={"#name": f"nodes_{missing}"},
    )

    assert ledger.progress("gpu", "cli-1") == {}


def test_an_entry_has_a_place_of_its_own_and_one_without_an_instant_is_of_the_first_of_all() -> None:
    said = items.audit_item(Entry(EIGHT, "gpu", "closed", "alice", "did it", "for a reason"))
    assert re.fullmatch(r"AUDIT#2026-11-20T20:00:00\.000000Z#\d{6}[0-9a-f]{4}", said["sk"]["S"])
    assert items.audit_entry("gpu", {**said, "at": {"S": "eight"}}).at == datetime(1970, 1, 1, tzinfo=UTC)
    assert items.audit_entry("gpu", {**said, "nodes": {"S": "two"}}).nodes is None
