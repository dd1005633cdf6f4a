"""The history of GPU proofs of a pool, and the nodes that are replaced for a lease.

The step that judges the checks writes the rows first. The proof that shows them is written after the notice was sent.
The nodes to replace are written before they are replaced.
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
from lamplighter.reasons.fields import to_document
from lamplighter.values import instant

PROOF = "PROOF#"
LAST = "\U0010ffff"


class LedgerProofs(LedgerReads):
    """The ledger's GPU proofs, and the instances that are replaced for a lease."""

    def keep_rows(self, pool: str, lease: str, at: datetime, rows: Iterable[Mapping[str, object]]) -> None:
        """Keeps the verdicts of a ladder at an instant, one row for each. Writing them again changes nothing."""
        self._keep_rows(pool, _key(at, lease), rows, until=at + items.KEEP_AUDIT)

    def rows(self, pool: str, lease: str, at: datetime) -> list[dict[str, Any]]:
        """The verdicts of a ladder at an instant, in the order of the ladder; empty if none are kept."""
        return self._rows(pool, _key(at, lease))

    def keep_proof(self, proof: GpuProof) -> None:
        """Adds a proof whose rows are already kept. Adding it again changes nothing."""
        brief = {name: value for name, value in to_document(proof).items() if name != "verdicts"}
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
        """The newest proofs of a pool, newest first. If a lease is named, only its proofs among them."""
        proofs = [proof for proof in self.proofs_in_brief(pool, newest) if lease in {None, proof.lease}]
        rows = self._rows_of(pool, [_key(proof.at, proof.lease) for proof in proofs if not proof.rows])
        return [
            proof if proof.rows else _whole(proof, rows.get(_key(proof.at, proof.lease), []))
            for proof in proofs
        ]

    def proofs_in_brief(self, pool: str, newest: int) -> list[GpuProof]:
        """The same without the verdicts of each node. A proof of an earlier release still contains them."""
        proofs = self._table.query(items.pool_key(pool), PROOF, PROOF + LAST, newest)
        return [_proof(items.values(item)) for item in proofs]

    def keep_verdicts(self, lease: Lease, at: datetime) -> None:
        """Notes which rows are the last verdicts on a lease's GPUs, for its receipt."""
        self._table.put(
            items.item(
                items.pool_key(lease.pool),
                items.VERDICTS + lease.id,
                {"at": instant.written(at)},
                until=lease.closes + items.KEEP_CLOSED,
            )
        )

    def verdicts(self, pool: str, lease_id: str) -> list[dict[str, Any]]:
        """The last verdicts of a lease's GPU checks; empty if no check ran."""
        item = self._table.get(items.pool_key(pool), items.VERDICTS + lease_id)
        attributes = {} if item is None else items.values(item)
        if "at" in attributes:
            return self.rows(pool, lease_id, instant.read(str(attributes["at"])))
        # An earlier release kept them here.
        verdicts: list[dict[str, Any]] = json.loads(str(attributes["document"])) if attributes else []
        return verdicts

    def replace_once(self, lease: Lease, instances: Sequence[str], why: Entry) -> tuple[str, ...]:
        """Writes on a lease which instances are replaced for it, once. Returns the instances that the lease names then.

        Writes nothing if the lease is being closed, or if there is nothing to replace.
        """
        if instances:
            replaced: Any = list(instances)
            with suppress(Conflict):
                self._table.transact(
                    [
                        self._table.update_in_transaction(
                            items.pool_key(lease.pool),
                            items.LEASE + lease.id,
                            "SET #replaced = :instances",
                            "attribute_not_exists(#replaced) AND #state IN (:admitted, :opening, :open)",
                            instances=replaced,
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


def _proof(attributes: Mapping[str, items.Value]) -> GpuProof:
    measured = attributes.get("bandwidth")
    document = json.loads(str(attributes["document"]))
    return GpuProof.from_json(document | ({"bandwidth": measured} if measured else {}))
