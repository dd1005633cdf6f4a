"""The stages of a lease's claims, as the cluster's steps note them over their own connection."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.claims import note_claims
from lamplighter.application.cluster.run import Run
from lamplighter.domain.leases.progress import ClaimStage, Noted
from lamplighter.lab.model import Lab
from lamplighter.values.instant import written
from tests.local.cluster.functions import Token
from tests.local.cluster.node_pool_port.stage import LAB, NodePoolStage


@dataclass
class Notes:
    """What the ledger was told."""

    noted: list[dict[ClaimStage, Noted]] = field(default_factory=list)

    def note_boot(self, _pool: str, _lease: str, stages: dict[ClaimStage, Noted], _now: datetime) -> None:
        self.noted.append(stages)


def run_of(notes: Notes, opens: datetime) -> Run:
    lease = {"id": "cli-1", "pool": "gpu", "opens": written(opens), "nodes": 2}
    ledger: Any = notes
    return Run("gpu", "cli-1", {"Admit": {"lease": lease}}, worker_ledger=ledger)


def test_the_claims_of_a_lease_are_counted_by_their_conditions(stage: NodePoolStage) -> None:
    notes, opens = Notes(), stage.now()
    stage.capacity.order("gpu", 2, stage.capacity.see("gpu"))
    stage.settle()

    note_claims(run_of(notes, opens), LAB, stage.capacity.kubernetes)
    note_claims(run_of(notes, stage.now() + timedelta(days=1)), LAB, stage.capacity.kubernetes)

    found, later = notes.noted
    assert [(each, noted.done, noted.of) for each, noted in found.items()] == [
        (each, 2, 2) for each in ClaimStage
    ]
    assert later == {}


def test_a_pool_that_is_a_node_group_asks_nothing() -> None:
    notes = Notes()
    nobody: Any = None

    note_claims(run_of(notes, datetime(2026, 11, 20, tzinfo=UTC)), Lab(name="lab"), nobody)

    assert notes.noted == []


def test_claims_that_cannot_be_read_stop_no_opening(stage: NodePoolStage, caplog) -> None:
    notes, closed = Notes(), Connection("https://127.0.0.1:1", stage.authority, Token("functions"))

    note_claims(run_of(notes, stage.now()), LAB, closed)

    assert notes.noted == []
    assert "is not noted" in caplog.text
