"""What the ledger keeps of experiments: every run with what was there before it, and which one is under way.

A run is kept before its first change, on the condition that no other is under way; the cluster has one at
a time. Reports stay as long as the audit trail.
"""

import json
from collections.abc import Collection

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.changes import LedgerChanges
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.experiments.run import UNDONE, ExperimentPhase, ExperimentRun

EXPERIMENT = "EXPERIMENT#"
UNDER_WAY = "EXPERIMENTING"
_AFTER_ALL = "\U0010ffff"


class LedgerExperiments(LedgerChanges):
    """The experiments' part of the ledger."""

    def experiments(self) -> list[ExperimentRun]:
        """Every run that is kept, the latest first."""
        found = self._table.query(items.LAB, EXPERIMENT, EXPERIMENT + _AFTER_ALL)
        return sorted((_run(item) for item in found), key=lambda run: run.begun, reverse=True)

    def experiment(self, run_id: str) -> ExperimentRun | None:
        """One run, or None."""
        found = self._table.get(items.LAB, EXPERIMENT + run_id)
        return None if found is None else _run(found)

    def experiment_under_way(self) -> ExperimentRun | None:
        """The run that is not undone yet, where there is one: one read."""
        found = self._table.get(items.LAB, UNDER_WAY)
        return None if found is None else _run(found)

    def begin_experiment(self, run: ExperimentRun, decision: Decision, why: Entry) -> None:
        """Keep a run with what is there before it; Conflict where another one is under way."""
        self._table.transact(
            [
                self._table.put_in_transaction(_item(run, UNDER_WAY), "attribute_not_exists(pk)"),
                self._table.put_in_transaction(_item(run, EXPERIMENT + run.id), "attribute_not_exists(pk)"),
                self._decided(run.pool, decision),
                self._entry(why),
            ]
        )

    def advance_experiment(self, run: ExperimentRun, only_from: Collection[ExperimentPhase]) -> bool:
        """Keep how far a run has come; False where it is in none of these phases any more."""
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
    said: dict[str, items.Value] = {
        "run": run.id,
        "phase": run.phase.value,
        "lease": run.lease,
        "document": json.dumps(run.to_json(), sort_keys=True),
    }
    kept = None if sort_key == UNDER_WAY else run.begun + items.KEEP_AUDIT
    return items.item(items.LAB, sort_key, said, until=kept)


def _run(found: object) -> ExperimentRun:
    return ExperimentRun.from_json(json.loads(str(items.values(found)["document"])))  # type: ignore[arg-type]
