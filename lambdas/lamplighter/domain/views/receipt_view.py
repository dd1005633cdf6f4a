"""One receipt as it is shown: its times as bars, the verdicts, bandwidth, cost, proof and audit trail.

Made from the kept receipt and from what the ledger still knows of the lease. Older receipts know less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing.gpu_hours import GpuHours
from lamplighter.domain.billing.seat_use import Seats
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.domain.checks.gpu_proof import Bandwidth, GpuProof, bandwidths, together
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.leases.progress import IN_ORDER, Progress
from lamplighter.domain.leases.usual_times import Usual, UsualTimes, usual
from lamplighter.domain.money.money import Money
from lamplighter.domain.views.told import FindingView, VerdictRow
from lamplighter.reasons.document import read
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import Said
from lamplighter.values import instant

Document = Mapping[str, object]
UNLEASED = "unleased"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time on the drawing."""

    kind: str
    """lease, node, stage or closing."""
    label: str
    begins: datetime
    ends: datetime
    state: str = ""
    """done, failed, late …; empty where there is nothing to tell."""
    usual: Usual | None = None
    """Of a stage: how long it usually takes."""

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.ends - self.begins


@dataclass(frozen=True, slots=True)
class ReceiptView:
    """One receipt; `lease` is None for what ran without one."""

    lease: str | None
    pool: str
    owner: str | None
    by: str | None
    because: Said | None
    source: str
    window: str | None
    opened: datetime | None
    closed: datetime
    nodes: int
    node_seconds: int
    gpu_minutes: int | None
    """Node-seconds by the GPUs of a node; None where the instance type is not known."""
    minutes_to_ready: float | None
    cost: Money
    overrun: Money | None
    verdict: Outcome | None
    verdict_rows: tuple[VerdictRow, ...]
    bandwidth: tuple[Bandwidth, ...]
    findings: tuple[FindingView, ...]
    replaced: tuple[str, ...]
    proof_of_zero: ZeroProof
    bars: tuple[Bar, ...]
    audit: tuple[Entry, ...]
    experimental: bool = False
    prepaid: bool = False
    """Its nodes cost nothing more: their Capacity Block was paid before it began, or the lab states a price of 0."""
    gpu_use: GpuHours | None = None
    """Only where the guard read what the GPUs did."""
    seats: Seats | None = None
    """Only of a window that states seats."""

    @property
    def warm_up(self) -> tuple[Bar, ...]:
        """The stages of its warm-up, with the boot of its nodes, in the order in which people see them."""
        return tuple(bar for bar in self.bars if bar.kind == "stage")

    def usual_stages(self) -> dict[str, object]:
        """What `receipt --json` adds to `stages`: how long each of them usually takes, in seconds."""
        return {
            bar.label: {"seconds": round(bar.usual.length.total_seconds()), "measured": bar.usual.measured}
            for bar in self.warm_up
            if bar.usual
        }

    @property
    def begins(self) -> datetime:
        """Where the drawing begins."""
        starts = [bar.begins for bar in self.bars]
        return min(starts, default=self.opened or self.closed)

    @property
    def ends(self) -> datetime:
        """Where the drawing ends."""
        return max([self.closed, *(bar.ends for bar in self.bars)])


@dataclass(frozen=True, slots=True)
class ReceiptExtras:
    """What is still known of a lease beside its receipt."""

    instance_type: str = ""
    floor: Decimal | None = None
    """The lab's own floor of bus bandwidth, where it states one."""
    progress: Progress = field(default_factory=dict)
    audit: Sequence[Entry] = ()
    """What happened to its pool while it ran, oldest first."""
    proofs: Sequence[GpuProof] = ()
    usual_times: UsualTimes = field(default_factory=dict)
    """What openings before it have measured."""
    experimental: bool = False
    """Whether its pool is of a kind that is experimental."""


def of(receipt: Document, beside: ReceiptExtras) -> ReceiptView:
    """The view of a receipt, from the document that was kept."""
    closed = instant.read(str(receipt["closed"]))
    opened = _at(receipt.get("opened"))
    lease = _text(receipt.get("lease"))
    rows = _documents(receipt.get("verdicts"))
    kind = gpu_type(beside.instance_type)
    node_seconds = int(str(receipt.get("node_seconds") or 0))
    ready = receipt.get("minutes_to_ready")
    mine = tuple(entry for entry in beside.audit if _concerns(entry, lease, closed))
    overrun = receipt.get("overrun")
    return ReceiptView(
        lease=lease,
        pool=str(receipt["pool"]),
        owner=_text(receipt.get("owner")),
        by=_text(receipt.get("by")),
        because=read(receipt.get("because")) or None,
        source=str(receipt.get("source") or ""),
        window=_text(receipt.get("window")),
        opened=opened,
        closed=closed,
        nodes=int(str(receipt.get("nodes") or 0)),
        node_seconds=node_seconds,
        gpu_minutes=round(node_seconds * kind.count / 60) if kind else None,
        minutes_to_ready=float(ready) if isinstance(ready, int | float) else None,
        cost=_money(receipt.get("cost")),
        overrun=_money(overrun.get("cost")) if isinstance(overrun, Mapping) else None,
        verdict=together(rows) if rows else None,
        verdict_rows=tuple(from_odd_document(VerdictRow, row) for row in rows),
        bandwidth=bandwidths(rows, beside.floor or (kind.busbw_floor if kind else None)),
        findings=_findings(receipt, mine),
        replaced=_strings(receipt.get("replaced")),
        proof_of_zero=_zero(receipt.get("proof_of_zero")),
        bars=_bars(receipt, opened, closed, beside),
        audit=mine,
        experimental=beside.experimental,
        prepaid=receipt.get("prepaid") is True,
        gpu_use=_use(receipt.get("gpu_use")),
        seats=_seats(receipt.get("seats")),
    )


def _bars(
    receipt: Document, opened: datetime | None, closed: datetime, beside: ReceiptExtras
) -> tuple[Bar, ...]:
    bars = [] if opened is None else [Bar("lease", str(receipt.get("lease")), opened, closed)]
    for row in _documents(receipt.get("node_lives")):
        begins, ends = _at(row.get("from")), _at(row.get("to"))
        if begins is not None:
            # One that another lease keeps runs on.
            bars.append(
                Bar("node", str(row.get("instance")), begins, ends or closed, "" if ends else "running")
            )
    for stage in IN_ORDER:
        noted = beside.progress.get(stage)
        if noted is not None:
            state, ends = ("done", noted.at) if noted.whole else ("short", closed)
            expected = usual(stage, beside.usual_times)
            bars.append(Bar("stage", stage.value, noted.since, ends, state, expected))
    return tuple(bars)


def _concerns(entry: Entry, lease: str | None, closed: datetime) -> bool:
    """Whether it belongs to the receipt: what happened to the pool after the close is somebody else's."""
    return lease is None or entry.lease == lease or (entry.lease is None and entry.at <= closed)


def _findings(receipt: Document, mine: Sequence[Entry]) -> tuple[FindingView, ...]:
    """As the receipt keeps them; advice and layer are the trail's."""
    entries = (entry for entry in mine if entry.kind == "finding")
    known = {(found.cause, found.summary): found for found in map(FindingView.read, entries)}
    pool, lease = str(receipt["pool"]), _text(receipt.get("lease"))
    shown = []
    for row in _documents(receipt.get("findings")):
        cause, summary, at = str(row.get("cause")), read(row.get("summary")), _at(row.get("at"))
        kept = known.get((cause, summary))
        if kept or at:
            made = at or instant.read(str(receipt["closed"]))
            shown.append(kept or FindingView(made, pool, lease, cause, summary, ""))
    return tuple(shown)


def _zero(document: object) -> ZeroProof:
    return ZeroProof.from_json(document if isinstance(document, Mapping) else {})


def _use(found: object) -> GpuHours | None:
    return from_odd_document(GpuHours, found) if isinstance(found, Mapping) else None


def _seats(found: object) -> Seats | None:
    return from_odd_document(Seats, found) if isinstance(found, Mapping) else None


def _money(found: object) -> Money:
    return Money.from_json(found) if isinstance(found, Mapping) else Money.zero("USD")


def _at(found: object) -> datetime | None:
    return instant.read(str(found)) if found else None


def _text(found: object) -> str | None:
    return None if found is None else str(found)


def _strings(found: object) -> tuple[str, ...]:
    return tuple(str(each) for each in found) if isinstance(found, list | tuple) else ()


def _documents(found: object) -> list[Document]:
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list | tuple) else []
