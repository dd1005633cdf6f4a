"""A breach: one thing that a sweep finds wrong, by which rule, why, and what to do about it.

guard.py finds breaches. application/guard/acts.py does something about them.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lamplighter.reasons.reason import Said


class Rule(StrEnum):
    """What a sweep can find."""

    NODE_WITHOUT_LEASE = "node-without-lease"
    MORE_NODES_THAN_LEASES = "more-nodes-than-leases"
    FEWER_NODES_THAN_LEASES = "fewer-nodes-than-leases"
    STRAY_INSTANCE = "stray-instance"
    OTHER_INSTANCE_TYPE = "other-instance-type"
    LEASE_PAST_ITS_END = "lease-past-its-end"
    LEASE_TOO_LONG = "lease-too-long"
    IDLE_LEASE = "idle-lease"
    BUDGET_REACHED = "budget-reached"
    OPENING_ABANDONED = "opening-abandoned"
    CLOSING_ABANDONED = "closing-abandoned"
    FAILSAFE_WRONG = "failsafe-wrong"
    FAILSAFE_LEFT = "failsafe-left"
    CURFEW_WRONG = "curfew-wrong"
    SIZES_CHANGED = "sizes-changed"
    SIZE_WITHOUT_LEASE = "size-without-lease"
    LAUNCH_BAR_WRONG = "launch-bar-wrong"
    NODE_NOT_ENDED = "node-not-ended"
    KARPENTER_NOT_READY = "karpenter-not-ready"
    GPU_OUTSIDE_POOLS = "gpu-outside-pools"
    EXPERIMENT_OVERDUE = "experiment-overdue"
    SECOND_CLAIM = "second-claim"
    NODE_UNPROTECTED = "node-unprotected"
    NODE_INTERRUPTED = "node-interrupted"
    NODE_LIFE_ENDS = "node-life-ends"
    LEAKED = "leaked"
    NO_LONGER_LEAKED = "no-longer-leaked"


class GuardAction(StrEnum):
    """What to do about a breach."""

    CLOSE = "close"
    TERMINATE = "terminate"
    REMOVE = "remove"
    REARM = "rearm"
    DISARM = "disarm"
    RESTORE_SIZES = "restore-sizes"
    SCALE_BACK = "scale-back"
    END_CLAIMS = "end-claims"
    END_OUTSIDE = "end-outside"
    MOVE_BAR = "move-bar"
    SWITCH_CURFEW = "switch-curfew"
    PROTECT = "protect"
    RESTORE = "restore"
    REPLACE_TAKEN = "replace-taken"
    GO_ON_WITH_FEWER = "go-on-with-fewer"
    WARN = "warn"
    NOTE = "note"
    MARK_LEAKED = "mark-leaked"
    PAGE = "page"
    RECOVER = "recover"
    SAY = "say"
    FAILED = "failed"
    """An attempt failed. Only the audit trail has this one."""


@dataclass(frozen=True)
class Breach:
    """One thing that is wrong, why it is wrong, and what to do about it."""

    rule: Rule
    reason: Said
    action: GuardAction
    lease: str | None = None
    target: int | None = None
    instances: tuple[str, ...] = ()
    since: datetime | None = None
    """Since when it is wrong: after a while the guard takes the second rail."""
    subject: str = ""
    """What else than a lease it is about: of each such thing it is said and paged by itself."""


@dataclass(frozen=True)
class EarlierBreach:
    """A breach of an earlier sweep, as the audit trail has it."""

    rule: str
    action: str
    lease: str | None
    at: datetime
    paged: bool = False
    unsent: bool = False
    """It should have paged, and nobody took the page."""
    subject: str = ""
