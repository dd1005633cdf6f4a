"""The run of a workflow, as the cluster steps read it: the pool, the lease, and the results of earlier steps.

It says when the run's lease is over. The steps decide everything else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.progress import BootStage, ClaimStage, Noted, Stage
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import instant

Document = Mapping[str, object]


@dataclass(frozen=True)
class Run:
    """One run of a workflow, with the results so far."""

    pool: str
    lease: str | None
    results: Document
    worker_ledger: Ledger | None = field(default=None, kw_only=True)
    """The worker's own client; where it is left out, each call makes a new one."""

    @classmethod
    def read(cls, run: Document, ledger: Ledger | None = None) -> "Run":
        """Reads the workflow's state. Raises BadInput where it names no pool."""
        command = _document(run.get("command"))
        results = _document(run.get("results"))
        admitted = _document(_document(results.get("Admit")).get("lease")) or _document(run.get("lease"))
        pool = admitted.get("pool") or command.get("pool")
        if not pool:
            raise BadInput(reason("gpu.no-pool"))
        lease = admitted.get("id") or command.get("lease")
        return cls(str(pool), str(lease) if lease else None, results, worker_ledger=ledger)

    @property
    def window(self) -> str | None:
        """The window of the admitted lease; None for a lease without a window."""
        named = _document(self.result("Admit").get("lease")).get("window")
        return str(named) if named else None

    def result(self, step: str) -> Document:
        """The result of an earlier step; empty where it did not run."""
        return _document(self.results.get(step))

    def found(self, step: str, key: str) -> list[Document]:
        """A list of documents in the result of an earlier step."""
        rows = self.result(step).get(key)
        return [_document(row) for row in rows] if isinstance(rows, Sequence) else []

    def judged(self) -> set[str]:
        """The nodes that an earlier round of this run judged."""
        earlier, lease = self.result("Validate"), self.lease or self.pool
        at = earlier.get("at")
        rows = self.books().rows(self.pool, lease, instant.read(str(at))) if at else []
        return {str(row.get("node")) for row in (*rows, *self.found("Validate", "verdicts"))}

    def leases(self) -> list[Lease]:
        """Every lease of the pool, from the ledger."""
        return self.books().leases(self.pool)

    def leases_of(self, pool: str) -> list[Lease]:
        """Every lease of a pool, from the ledger."""
        return self.leases() if pool == self.pool else self.books().leases(pool)

    def books(self) -> Ledger:
        """The ledger itself."""
        return self.worker_ledger or Ledger(ENVIRONMENT.ledger_table)

    def begin(self, stage: Stage, of: int) -> None:
        """Record that a stage of the warm-up begins; a later round changes nothing."""
        if self.lease is not None:
            self.books().begin_stage(self.pool, self.lease, stage, of, clock.now())

    def note(self, stage: Stage, done: int, of: int) -> None:
        """Record how much of a stage is done; nothing where the stage has nothing to do."""
        if self.lease is not None and of:
            self.books().note_progress(self.pool, self.lease, stage, done, of, clock.now())

    def note_boot(self, stages: Mapping[BootStage, Noted]) -> None:
        """Record how far the boot of fresh nodes is."""
        if self.lease is not None:
            self.books().note_boot(self.pool, self.lease, stages, clock.now())

    def note_claims(self, stages: Mapping[ClaimStage, Noted]) -> None:
        """Record how far the claims of fresh nodes are."""
        if self.lease is not None:
            self.books().note_boot(self.pool, self.lease, stages, clock.now())

    def pauses(self) -> list[Pause]:
        """The pauses of the lab, which keep leases from opening."""
        return self.books().pauses()

    def staying(self, lab: Lab) -> frozenset[str]:
        """The instances of the pool that its controller lists and does not remove."""
        from lamplighter.adapters.capacity import kinds  # noqa: PLC0415 -- only where a pool keeps some of its nodes

        seen = kinds.of_pool(lab, self.pool).see(self.pool, {Part.MEMBERS})
        return frozenset(member.instance for member in seen.staying)

    def over(self) -> Reason | None:
        """Why the lease justifies nothing any more; None while it is in force."""
        now = clock.now()
        mine = next((lease for lease in self.leases() if lease.id == self.lease), None)
        if mine is None:
            return reason("gpu.lease-unknown", lease=self.lease or "")
        if mine.in_force(now):
            return None
        return reason("gpu.lease-over", lease=mine.id, state=mine.stands(), closes=mine.closes)


def _document(found: object) -> Document:
    return found if isinstance(found, Mapping) else {}


def latest(instants: Sequence[object]) -> datetime | None:
    """The latest of some written instants; None where there is none."""
    return max((instant.read(str(each)) for each in instants if each), default=None)
