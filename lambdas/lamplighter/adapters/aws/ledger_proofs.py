"""What was proven of a pool's GPUs, as history; and which nodes are replaced for a lease, written beforehand."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lamplighter.adapters.aws import ledger_items as items
from lamplighter.adapters.aws.ledger_reads import LedgerReads
from lamplighter.adapters.aws.ledger_table import Conflict
from lamplighter.domain.audit import Entry
from lamplighter.domain.lease import GRANTED, Lease
from lamplighter.domain.proof import Proof

PROOF = "PROOF#"
LAST = "\U0010ffff"


class LedgerProofs(LedgerReads):
    """The ledger's proofs of GPUs, and what is replaced for a lease."""

    def keep_proof(self, proof: Proof) -> None:
        """Add a proof; adding it again is the same."""
        self._table.put(
            items.item(
                items.pool_key(proof.pool),
                f"{PROOF}{items.sortable(proof.at)}#{proof.lease}",
                {"document": json.dumps(proof.to_json(), sort_keys=True)},
                until=proof.at + items.KEEP_AUDIT,
            )
        )

    def proofs(self, pool: str, newest: int) -> list[Proof]:
        """The newest so many proofs of a pool, newest first."""
        found = self._table.query(items.pool_key(pool), PROOF, PROOF + LAST, newest)
        return [Proof.from_json(json.loads(str(items.values(each)["document"]))) for each in found]

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
