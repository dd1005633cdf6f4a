"""The events that a lab tells on its bus, a class for each detail-type. The JSON Schemas are made of these classes.

A later release may add keys. It never changes or removes one without another `version`. Instants are RFC 3339 in UTC,
money is a decimal string with its currency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Literal

from lamplighter.data.texts import Texts
from lamplighter.domain.capacity.available import Available
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Clock, Reason, Said, Sentences, draw
from lamplighter.values import instant
from lamplighter.values.json_value import JsonValue

VERSION: Literal["1"] = "1"
LONGEST_TEXT = 2000
"""Of a drawn reason: nobody reads more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReason:
    """Why: for programs a code with its values, for people a text."""

    text: str
    """In the lab's language, with instants by the lab's clock."""
    code: str | None = None
    """The code of the catalogue; null for the words of a person or of an outside system, and for several reasons."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values in the text, by name."""
    parts: tuple[Any, ...] = ()
    """Where there are several reasons: each of them, as `{"code", "values"}` or as words."""

    @classmethod
    def of(cls, said: Said, texts: Texts, clock: Clock) -> "EventReason":
        """A reason, drawn in a language and by a clock."""
        text = draw(said, texts, clock)[:LONGEST_TEXT]
        if isinstance(said, Reason):
            kept = document(said)
            values = kept.get("values") if isinstance(kept, Mapping) else None
            return cls(text=text, code=said.code, values=values if isinstance(values, Mapping) else {})
        if isinstance(said, Sentences):
            return cls(text=text, parts=tuple(document(part) for part in said.sentences))
        return cls(text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabEvent:
    """What every event says."""

    TYPE: ClassVar[str] = ""

    lab: str
    """The lab's name."""
    pool: str | None
    """The pool; null where a request named none that the lab has."""
    at: datetime
    """When it happened."""
    reason: EventReason
    """Why."""
    lease: str | None = None
    """The lease that it is about; null where it is about a pool without a lease."""
    owner: str | None = None
    """The owner of the lease."""
    in_reply_to: str | None = None
    """The id of the event that asked for it, or that opened the lease."""
    version: Literal["1"] = VERSION
    """The version of this form."""

    def detail(self) -> dict[str, JsonValue]:
        """The `detail` of the event, as JSON."""
        return {each.name: _written(getattr(self, each.name)) for each in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseElsewhere:
    """A lease on another pool."""

    pool: str
    lease: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted(LabEvent):
    """A lease is granted: its nodes start when it opens. Wait for `pool-open` before you use GPUs."""

    TYPE: ClassVar[str] = "lease-granted"
    nodes: int
    """Its nodes."""
    opens: datetime
    """When it opens."""
    closes: datetime
    """When it ends."""
    moved_from: LeaseElsewhere | None = None
    """The lease whose place it takes: that one's pool has no capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRefused(LabEvent):
    """A request, a window or an extension is refused. Nothing changed."""

    TYPE: ClassVar[str] = "lease-refused"
    earliest: datetime | None = None
    """When the same request would be granted, if that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOpen(LabEvent):
    """The pool is open for this lease, and its GPUs are proven."""

    TYPE: ClassVar[str] = "pool-open"
    nodes: int | None
    """The lease's nodes."""
    closes: datetime | None
    """When the lease ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDegraded(LabEvent):
    """The pool has less than was asked for, or its GPUs are not proven; `pool-open` follows if that is mended.

    A shortage is told at once, and again when the nodes that came are proven.
    """

    TYPE: ClassVar[str] = "pool-degraded"
    nodes: int | None
    """The nodes that the lease asked for."""
    closes: datetime | None
    """When the lease ends."""
    cause: str | None = None
    """Of a shortage: the cause, one of those of `diagnose`, such as `no-capacity`."""
    available: Available | None = None
    """Of a shortage: the zones and instance types that AWS names as available, often none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(LabEvent):
    """The lease ends soon."""

    TYPE: ClassVar[str] = "warned"
    closes: datetime | None
    """When it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended(LabEvent):
    """The end of the lease has moved: later, or nearer where its window ends nearer."""

    TYPE: ClassVar[str] = "extended"
    closes: datetime | None
    """When it ends now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolClosing(LabEvent):
    """The lease ends: its nodes are drained and taken away."""

    TYPE: ClassVar[str] = "pool-closing"
    moved_to: LeaseElsewhere | None = None
    """The lease that takes its place on a fallback pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolClosed(LabEvent):
    """The lease is over: it is proven that no node is left without a lease."""

    TYPE: ClassVar[str] = "pool-closed"
    nodes: int
    """The nodes that other leases still justify; 0 where the pool is at zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach(LabEvent):
    """The guard found a law broken, and what it did."""

    TYPE: ClassVar[str] = "breach"
    rule: str | None = None
    """The rule of the guard, such as `no-lease`."""
    action: str | None = None
    """What the guard did, such as `close`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaked(LabEvent):
    """The pool should be at zero and is not, or no longer: the reason says which."""

    TYPE: ClassVar[str] = "leaked"
    rule: str | None = None
    """The rule of the guard: `leaked`, or `no-longer-leaked`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCount:
    """What one check came to on the nodes of a lease."""

    check: str
    passed: int = 0
    failed: int = 0
    not_proven: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck:
    """A check that did not pass on a node, and why."""

    check: str
    node: str
    verdict: str
    reason: EventReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(LabEvent):
    """What the checks of the GPUs came to, once for each time that they ran."""

    TYPE: ClassVar[str] = "verdict"
    checks: tuple[CheckCount, ...]
    """Each check, with its results on the nodes."""
    failed: tuple[FailedCheck, ...] = ()
    """The first of those that did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """An amount of money."""

    amount: str
    """A decimal number."""
    currency: str
    """Three letters, such as USD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(LabEvent):
    """The receipt of a lease: `lamplighter receipt` shows the whole of it."""

    TYPE: ClassVar[str] = "receipt"
    nodes: int | None
    """The lease's nodes."""
    node_seconds: int
    """For how long nodes ran, in seconds of one node."""
    cost: Amount | None
    """What that cost."""
    closed: datetime | None
    """When it was closed."""


KINDS: tuple[type[LabEvent], ...] = (
    LeaseGranted,
    LeaseRefused,
    PoolOpen,
    PoolDegraded,
    Warned,
    Extended,
    PoolClosing,
    PoolClosed,
    Breach,
    Leaked,
    Verdict,
    Receipt,
)


def source(lab: str) -> str:
    """The `source` of what a lab tells."""
    return f"lamplighter.{lab}"


def _written(value: object) -> JsonValue:
    if isinstance(value, datetime):
        return instant.written(value)
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    if isinstance(value, EventReason | CheckCount | FailedCheck | Amount | Available | LeaseElsewhere):
        return {each.name: _written(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    return value if isinstance(value, str | int | dict | list | type(None)) else str(value)
