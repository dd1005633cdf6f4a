"""Refused launches of a NodePool's nodes, from NodeClaims and events. The code inside each text decides the cause.

Karpenter calls every refusal InsufficientCapacityError. Only the first event has EC2's code: for three minutes
Karpenter then does not ask EC2 again, and says only that all instance types were unavailable (karpenter-provider-aws
v1.14.3, pkg/errors, pkg/cache and pkg/providers/instance). These later events have the cause of the first one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.capacity.launch_cause import LaunchCause, blocker_of, cause_of
from lamplighter.domain.capacity.node_pool.lock import policy_name
from lamplighter.domain.capacity.shortage import available
from lamplighter.domain.diagnosis.document import at, text
from lamplighter.domain.diagnosis.events import events_by_object, reported_by
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason

NOT_ASKED_AGAIN = timedelta(minutes=3)
RECENT = timedelta(minutes=5)
"""Karpenter repeats a refusal after three minutes and up to a minute more. An older one may be over."""
_KARPENTER = re.compile(
    r"InsufficientCapacityError|NodeClaim|creating instance|fleet error|LaunchFailed", re.IGNORECASE
)
# Words around the code of EC2: without them, a text with a code of its own has a cause, and another has none.
_AROUND = re.compile(
    r"InsufficientCapacityError|creating instance, insufficient capacity"
    r"|all requested instance types were unavailable during launch",
    re.IGNORECASE,
)
# Karpenter's own name, and that of EKS Auto Mode's.
_KARPENTERS = "karpenter", "eks-auto-mode"
_NOMINATED = re.compile(r"\bNodeClaim ([a-z0-9][a-z0-9.-]*)")


@dataclass(frozen=True)
class Refusal:
    """A refused launch: its cause, its object, and the words that tell it."""

    cause: str
    about: str
    evidence: Said
    more: tuple[Said, ...] = ()

    def report(self, gathered: Gathered) -> None:
        """The finding: with the zones that have the capacity, or with what to do about an account held back."""
        words = str(self.evidence)
        named = available(words)
        offered = (
            reason("finding.evidence.zones-with-capacity", zones=named.zones)
            if named.zones and self.cause == LaunchCause.NO_CAPACITY
            else ""
        )
        blocker = blocker_of(words) if self.cause == LaunchCause.LAUNCH_DENIED else None
        advice = reason(f"finding.launch-denied.{blocker.value}.advice") if blocker else None
        gathered.found(self.cause, self.about, self.evidence, *self.more, offered, advice=advice)
        if named.zones:
            gathered.available[self.cause] = named


@dataclass(frozen=True)
class _Told:
    about: str
    words: str
    last: datetime | None

    @property
    def inner(self) -> LaunchCause:
        """The cause by the code inside, UNKNOWN where the text has none."""
        return cause_of(_AROUND.sub("", self.words))


def refused(snapshot: Snapshot) -> Iterator[Refusal]:
    """The refusals of NodeClaims that still exist, and of those that are gone already."""
    told = list(_of_claims(snapshot))
    sure = {one.inner for one in told} - {LaunchCause.UNKNOWN}
    # Only controllers write a claim's conditions: where they name a cause, no event adds another.
    told += [
        one
        for one in _recent(_of_events(snapshot, snapshot.since))
        if not sure or one.inner in {LaunchCause.UNKNOWN, *sure}
    ]
    named = [one for one in told if one.inner is not LaunchCause.UNKNOWN]
    unnamed = [one for one in told if one.inner is LaunchCause.UNKNOWN]
    for one in named:
        yield _refusal(snapshot, one, one.inner)
    first = _named_before(snapshot) if unnamed and not named else None
    if first is not None:
        yield _refusal(snapshot, first, first.inner)
    elif named and unnamed:
        yield Refusal(named[-1].inner, named[-1].about, unnamed[-1].words)
    elif unnamed:
        for one in unnamed:
            yield _refusal(snapshot, one, LaunchCause.NO_CAPACITY)


def unscheduled(snapshot: Snapshot) -> str:
    """What Karpenter last said about a pod for which the pool starts no node, such as a limit; "" for nothing.

    It writes one line about all NodePools, apart by "; ". Lines about others are left out.
    """
    said = [
        event
        for pod in snapshot.pods
        if not pod.node
        for event in snapshot.events_of(pod)
        if event.reason == "FailedScheduling"
        and (snapshot.node_pool.name and reported_by(event, *_KARPENTERS))
    ]
    if not said:
        return ""
    reporter, _, words = max(said, key=lambda event: event.last or snapshot.since).message.partition(") ")
    # A limit names its NodePool behind the words; other refusals have it among their requirements.
    own = re.compile(
        rf"(?:NodePool=|karpenter\.sh/nodepool In \[){re.escape(snapshot.node_pool.name)}(?![\w.-])"
    )
    parts = words.split("; ")
    return f"{reporter}) {'; '.join([part for part in parts if own.search(part)] or parts)}"


def _refusal(snapshot: Snapshot, told: _Told, cause: LaunchCause) -> Refusal:
    lock = _own_lock(snapshot) if cause is LaunchCause.LAUNCH_DENIED else ""
    return Refusal(cause, told.about, told.words, (lock,) if lock else ())


def _of_claims(snapshot: Snapshot) -> Iterator[_Told]:
    # A claim that is being deleted waits for nothing any more; one of a shortage is gone at once.
    for claim in snapshot.node_pool.staying:
        state, changed = claim.state("Launched"), claim.changed("Launched")
        if claim.has("Launched") or (changed and changed < snapshot.since):
            continue
        words = f"{text(state, 'reason')}: {text(state, 'message')}"
        if cause_of(words) is not LaunchCause.UNKNOWN:
            yield _Told(claim.name, words, changed)


def _of_events(snapshot: Snapshot, since: datetime) -> list[_Told]:
    """What events say of NodeClaims without an instance, oldest first."""
    launched = {claim.name for claim in snapshot.claims if claim.has("Launched")}
    there = {claim.name for claim in snapshot.claims}
    node_pool = snapshot.node_pool
    events = (
        snapshot.events
        if since == snapshot.since
        else events_by_object(snapshot.listed("kubernetes", "events"), since)
    )
    told = []
    for (kind, _, name), said in events.items():
        if kind not in {"NodeClaim", "NodePool", "Pod"} or name in launched:
            continue
        if kind != "Pod" and not node_pool.tells(kind, name):
            continue
        # The names of claims that are gone tell nobody anything.
        about = name if name in there or not node_pool.name else snapshot.name
        for event in said:
            # Karpenter writes the event for its NodeClaim, and again for the pod that waits.
            refuses = cause_of(str(event)) is not LaunchCause.UNKNOWN and _KARPENTER.search(str(event))
            if refuses and not (kind == "Pod" and _of_another(snapshot, event.message)):
                told.append(_Told(about, str(event), event.last))
    return sorted(told, key=lambda one: one.last or snapshot.since)


def _of_another(snapshot: Snapshot, message: str) -> bool:
    """Whether the event of a pod speaks of the NodeClaim of another pool."""
    nominated = _NOMINATED.search(message)
    return bool(nominated and snapshot.node_pool.name) and not snapshot.node_pool.tells(
        "NodeClaim", nominated[1] if nominated else ""
    )


def _recent(told: list[_Told]) -> list[_Told]:
    """Those that the newest of them does not make history."""
    newest = max((one.last for one in told if one.last), default=None)
    return [one for one in told if newest is None or one.last is None or one.last >= newest - RECENT]


def _named_before(snapshot: Snapshot) -> _Told | None:
    """The last refusal with a code, from shortly before the expectation began: Karpenter has not asked EC2 since."""
    before = _of_events(snapshot, snapshot.since - NOT_ASKED_AGAIN)
    return next((one for one in reversed(before) if one.inner is not LaunchCause.UNKNOWN), None)


def _own_lock(snapshot: Snapshot) -> Said:
    """That the failsafe's lock on Karpenter's role is the denial; "" where it is not there, or was not read."""
    names = at(snapshot.document, "aws", "controller_policies", "PolicyNames")
    if not isinstance(names, list):
        names = at(snapshot.document, "aws", "controller_policies")
    lock = policy_name(snapshot.name)
    locked = isinstance(names, list) and lock in names
    return reason("finding.evidence.own-lock", policy=lock) if locked else ""
