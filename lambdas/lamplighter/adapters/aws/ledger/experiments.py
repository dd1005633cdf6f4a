"""Experiments in the ledger: every run with the state before it, and which run is under way.

A run is written before its first change, on the condition that no other run is under way: a cluster has one run
at a time. Reports are kept as long as the audit trail.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.changes import LedgerChanges
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.experiments.run import UNDONE, ExperimentPhase, ExperimentRun
from lamplighter.reasons.fields import from_odd_document, to_document

EXPERIMENT = "EXPERIMENT#"
UNDER_WAY = "EXPERIMENTING"
_AFTER_ALL = "\U0010ffff"


class LedgerExperiments(LedgerChanges):
    """The experiments' part of the ledger."""

    def experiments(self) -> list[ExperimentRun]:
        """Every kept run, the latest first."""
        runs = self._table.query(items.LAB, EXPERIMENT, EXPERIMENT + _AFTER_ALL)
        return sorted((_run(item) for item in runs), key=lambda run: run.begun, reverse=True)

    def experiment(self, run_id: str) -> ExperimentRun | None:
        """One run, or None."""
        item = self._table.get(items.LAB, EXPERIMENT + run_id)
        return None if item is None else _run(item)

    def experiment_under_way(self) -> ExperimentRun | None:
        """The run that is not undone yet, or None. It costs one read."""
        item = self._table.get(items.LAB, UNDER_WAY)
        return None if item is None else _run(item)

    def begin_experiment(self, run: ExperimentRun, decision: Decision, why: Entry) -> None:
        """Keeps a run with the state before it. Raises Conflict if another run is under way."""
        self._table.transact(
            [
                self._table.put_in_transaction(_item(run, UNDER_WAY), "attribute_not_exists(pk)"),
                self._table.put_in_transaction(_item(run, EXPERIMENT + run.id), "attribute_not_exists(pk)"),
                self._decided(run.pool, decision),
                self._entry(why),
            ]
        )

    def advance_experiment(self, run: ExperimentRun, only_from: Collection[ExperimentPhase]) -> bool:
        """Keeps the new phase of a run. False if its phase is none of `only_from` any more."""
        names = {f"from{number}": phase.value for number, phase in enumerate(only_from)}
        allowed = f"#phase IN ({', '.join(f':{name}' for name in names)})"
        writes = [self._table.put_in_transaction(_item(run, EXPERIMENT + run.id), allowed, **names)]
        if not run.undone:
            writes.append(self._table.put_in_transaction(_item(run, UNDER_WAY), "#run = :run", run=run.id))
        elif not UNDONE.issuperset(only_from):
            writes.append(
                self._table.delete_in_transaction(
                    items.LAB, UNDER_WAY, "attribute_not_exists(pk) OR #run = :run", run=run.id
                )
            )
        try:
            self._table.transact(writes)
        except Conflict:
            return False
        return True


def _item(run: ExperimentRun, sort_key: str) -> items.Item:
    attributes: dict[str, items.Value] = {
        "run": run.id,
        "phase": run.phase.value,
        "lease": run.lease,
        "document": json.dumps(to_document(run), sort_keys=True),
    }
    kept = None if sort_key == UNDER_WAY else run.begun + items.KEEP_AUDIT
    return items.item(items.LAB, sort_key, attributes, until=kept)


def _run(item: Mapping[str, Any]) -> ExperimentRun:
    return from_odd_document(ExperimentRun, json.loads(str(items.values(item)["document"])))
