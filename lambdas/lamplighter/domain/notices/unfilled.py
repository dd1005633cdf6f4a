"""The letter about a lease that ends without all its nodes: what was tried, AWS's words, what it cost, what comes next.

It replaces the notice that the pool is closing. Only a shortage that was noted while the lease ran makes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.findings import KIND as FINDING
from lamplighter.domain.audit.findings import evidence_of
from lamplighter.domain.audit.trail import shortage_of, why_short
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.granting.free_times import FreeTime, written
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.progress import Progress, Stage
from lamplighter.domain.money.money import Money
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.lab.notice_kinds import UNFILLED
from lamplighter.reasons.reason import Said, paragraph, reason


@dataclass(frozen=True, slots=True)
class Unfilled:
    """A lease that ends without all its nodes."""

    lease: Lease
    ordered: datetime
    came: int
    """Its nodes at the last look."""
    shortage: Entry
    """The entry about the shortage that was found last."""
    finding: Entry | None
    """The last finding about a refused launch: it has AWS's own words."""
    fallback: Entry | None = None
    """The entry about the fallback pools that was written last."""


@dataclass(frozen=True, slots=True)
class Later:
    """What a lease of the same nodes and length would get later."""

    free: Sequence[FreeTime] = ()
    never: Said | None = None
    """Why waiting does not help."""


def unfilled(lease: Lease, progress: Progress, trail: Sequence[Entry]) -> Unfilled | None:
    """What is known of the shortage; None where its nodes came, or no shortage was noted."""
    nodes, mine = progress.get(Stage.NODES), [entry for entry in trail if entry.lease == lease.id]
    shortage = shortage_of(mine)
    if lease.ordered is None or nodes is None or shortage is None or nodes.done >= lease.nodes:
        return None
    about = [
        entry for entry in mine if entry.kind == FINDING and entry.details.get("cause") in {*LaunchCause}
    ]
    tried = [entry for entry in mine if entry.kind == "fallback"]
    return Unfilled(
        lease,
        lease.ordered,
        nodes.done,
        shortage,
        about[-1] if about else None,
        tried[-1] if tried else None,
    )


def letter(  # noqa: PLR0917 -- what was found out, in the order of the text
    about: Unfilled,
    why: Said,
    cost: Money | None,
    later: Later | None,
    until: datetime,
    before: tuple[str, ...] = (),
) -> Announcement:
    """The letter. `cost` and `later` are None where they could not be found out.

    `before` are the pools that the lease came from.
    """
    lease, finding = about.lease, about.finding
    words = evidence_of(finding) if finding else None
    text = paragraph(
        reason("words.reason", reason=why),
        reason("notice.unfilled.tried", came=about.came, nodes=lease.nodes, since=about.ordered, until=until),
        reason("notice.unfilled.found", at=about.shortage.at, why=why_short(about.shortage)),
        reason("notice.unfilled.words", at=finding.at, words=words) if finding and words else None,
        reason("notice.unfilled.before", pools=before) if before else None,
        reason("notice.unfilled.fallback", why=about.fallback.why)
        if about.fallback and about.fallback.why
        else None,
        reason("notice.unfilled.cost", cost=str(cost)) if cost is not None else None,
        _later(later),
    )
    subject = reason("notice.unfilled.subject", pool=lease.pool, came=about.came, nodes=lease.nodes)
    return Announcement(UNFILLED, subject, text, free=written(later.free) if later else "", lease=lease.id)


def _later(later: Later | None) -> Said | None:
    if later is None:
        return None
    if later.free:
        times = tuple(reason("notice.unfilled.time", opens=one.begins, until=one.ends) for one in later.free)
        return reason("notice.unfilled.free", times=times)
    if later.never:
        return reason("notice.unfilled.never", why=later.never)
    return reason("notice.unfilled.none")
