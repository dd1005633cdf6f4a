"""What was proven of a pool's GPUs, as history; and which nodes are replaced for a lease, written beforehand.

The step that judges keeps its rows first; the proof that shows them is kept once people were told.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.leases.lease import GRANTED, Lease
from lamplighter.values import instant

PROOF = "PROOF#"
LAST = "\U0010ffff"


class LedgerProofs(LedgerReads):
    """The ledger's proofs of GPUs, and what is replaced for a lease."""

    def keep_rows(self, pool: str, lease: str, at: datetime, rows: Iterable[Mapping[str, object]]) -> None:
        """Keep what a ladder said of each node at an instant; keeping it again is the same."""
        self._keep_rows(pool, _key(at, lease), rows, until=at + items.KEEP_AUDIT)

    def rows(self, pool: str, lease: str, at: datetime) -> list[dict[str, Any]]:
        """What a ladder said of each node at an instant, in its order; empty where nothing is kept."""
        return self._rows(pool, _key(at, lease))

    def keep_proof(self, proof: GpuProof) -> None:
        """Add a proof whose rows are kept; adding it again is the same."""
        brief = {name: said for name, said in proof.to_json().items() if name != "verdicts"}
        measured = proof.bandwidth
        self._table.put(
            items.item(
                items.pool_key(proof.pool),
                _key(proof.at, proof.lease),
                {
                    "document": json.dumps(brief, sort_keys=True),
                    "bandwidth": None if measured is None else str(measured),
                },
                until=proof.at + items.KEEP_AUDIT,
            )
        )

    def proofs(self, pool: str, newest: int, lease: str | None = None) -> list[GpuProof]:
        """The newest so many proofs of a pool, newest first; of them those of one lease, where it is named."""
        found = [proof for proof in self.proofs_in_brief(pool, newest) if lease in {None, proof.lease}]
        rows = self._rows_of(pool, [_key(proof.at, proof.lease) for proof in found if not proof.rows])
        return [
            proof if proof.rows else _whole(proof, rows.get(_key(proof.at, proof.lease), []))
            for proof in found
        ]

    def proofs_in_brief(self, pool: str, newest: int) -> list[GpuProof]:
        """The same without what was said of each node; one of an earlier release has it inside."""
        found = self._table.query(items.pool_key(pool), PROOF, PROOF + LAST, newest)
        return [_proof(items.values(each)) for each in found]

    def keep_verdicts(self, lease: Lease, at: datetime) -> None:
        """Note which rows are the last word on a lease's GPUs, for its receipt."""
        self._table.put(
            items.item(
                items.pool_key(lease.pool),
                items.VERDICTS + lease.id,
                {"at": instant.written(at)},
                until=lease.closes + items.KEEP_CLOSED,
            )
        )

    def verdicts(self, pool: str, lease_id: str) -> list[dict[str, Any]]:
        """What the GPU checks of a lease said last; empty when none were made."""
        found = self._table.get(items.pool_key(pool), items.VERDICTS + lease_id)
        said = {} if found is None else items.values(found)
        if "at" in said:
            return self.rows(pool, lease_id, instant.read(str(said["at"])))
        # An earlier release kept them here.
        verdicts: list[dict[str, Any]] = json.loads(str(said["document"])) if said else []
        return verdicts

    def replace_once(self, lease: Lease, instances: Sequence[str], why: Entry) -> tuple[str, ...]:
        """Write on a lease which instances are replaced for it, the first time; gives those that stand on it.

        Nothing is written on a lease that is being closed, or where there is nothing to replace.
        """
        if instances:
            named: Any = list(instances)
            with suppress(Conflict):
                self._table.transact(
                    [
                        self._table.update_in_transaction(
                            items.pool_key(lease.pool),
                            items.LEASE + lease.id,
                            "SET #replaced = :instances",
                            "attribute_not_exists(#replaced) AND #state IN (:admitted, :opening, :open)",
                            instances=named,
                            **{state.value: state.value for state in GRANTED},
                        ),
                        self._table.put_in_transaction(items.audit_item(why)),
                    ]
                )
        now = self.lease(lease.pool, lease.id)
        return now.replaced if now else ()


def _key(at: datetime, lease: str) -> str:
    return f"{PROOF}{items.sortable(at)}#{lease}"


def _whole(proof: GpuProof, rows: list[dict[str, Any]]) -> GpuProof:
    return replace(proof, rows=tuple(rows), measured=None)


def _proof(said: Mapping[str, items.Value]) -> GpuProof:
    measured = said.get("bandwidth")
    document = json.loads(str(said["document"]))
    return GpuProof.from_json(document | ({"bandwidth": measured} if measured else {}))
