"""What the lab says aloud about a run, in words a student understands; or nothing, when nothing is new.

Owns the sentences; sending them is the notices adapter's. Times are by the lab's own clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from lamplighter.domain import instant
from lamplighter.domain.at_stake import AtStake
from lamplighter.domain.changes import clock_of
from lamplighter.domain.commands import Verb
from lamplighter.domain.counted import counted
from lamplighter.domain.lease import Lease

Result = Mapping[str, object]
NOTHING = AtStake()


@dataclass(frozen=True, slots=True)
class Announcement:
    """One notice: its kind (open, degraded, refused, closing, extended, warned), a subject and a text."""

    kind: str
    subject: str
    text: str

    def told_by(self, clock: Callable[[datetime], str]) -> "Announcement":
        """The same, also where a reason in it was kept by another clock."""
        return replace(
            self, subject=instant.told_by(clock, self.subject), text=instant.told_by(clock, self.text)
        )


def of_opening(pool: str, lease: Lease | None, results: Mapping[str, Result], zone: ZoneInfo) -> Announcement:
    """What came of an open command."""
    admit = results.get("Admit", {})
    reason = _sentence(str(admit.get("reason", "")))
    if admit.get("outcome") == "already-open":
        return Announcement("already-open", f"Pool {pool} is open already", reason)
    if admit.get("outcome") != "granted" or lease is None:
        return Announcement(
            "refused", f"A lease on pool {pool} was refused", f"{reason}{_earliest(admit, zone)}"
        )
    if admit.get("later"):
        return Announcement("planned", f"Pool {pool} opens at {clock_of(zone)(lease.opens)}", reason)
    return _of_gpus(pool, lease, results, zone)


def _of_gpus(pool: str, lease: Lease, results: Mapping[str, Result], zone: ZoneInfo) -> Announcement:
    ready = [node for node in _rows(results, "AwaitGpus", "nodes") if node.get("ready")]
    # Beside another lease the pool has that one's nodes as well.
    wanted = max(lease.nodes, int(str(results.get("AwaitNodes", {}).get("wanted") or 0)))
    until = f"until {_clock(lease.closes, zone)}"
    shortage = results.get("AwaitNodes", {}).get("shortage")
    troubles = [_sentence(str(shortage))] if shortage else []
    troubles += [
        f"{node.get('name')} is not ready: {node.get('why')}."
        for node in _rows(results, "AwaitGpus", "not_ready")
    ]
    troubles += [
        f"{verdict.get('check')} {_said(verdict.get('verdict'))} on {verdict.get('node')}: {verdict.get('reason')}."
        for verdict in _rows(results, "Validate", "verdicts")
        if verdict.get("verdict") != "passed"
    ]
    if results.get("ApplyGpuSettings", {}).get("state") == "differs":
        troubles += [
            f"The GPU setting {each.get('path')} is {each.get('cluster')} in the cluster, not {each.get('lab')}."
            for each in _rows(results, "ApplyGpuSettings", "differs")
        ]
    if not troubles and len(ready) >= wanted:
        return Announcement(
            "open",
            f"Pool {pool} is open {until}",
            f"{len(ready)} of {wanted} nodes are ready and their GPUs are proven, for {lease.owner}.",
        )
    if shortage:
        troubles.append("It is tried again every five minutes until the lease ends.")
    return Announcement(
        "degraded",
        f"Pool {pool} is open with {len(ready)} of {wanted} nodes {until}",
        " ".join(troubles),
    )


def is_proven(validate: Result) -> bool:
    """Whether GPUs were proven: all checks of at least one node passed, and none failed."""
    return validate.get("verdict") == "passed"


def of_closing(pool: str, leases: Sequence[Lease], reason: str) -> Announcement:
    """That a close begins, and why."""
    names = " and ".join(lease.called() for lease in leases)
    # At its end the reason names the lease already.
    said = f"{names} ends: {reason}" if names and not reason.startswith(names) else reason
    return Announcement("closing", f"Pool {pool} is closing", _sentence(said))


def of_extending(pool: str, lease: Lease | None, extend: Result, zone: ZoneInfo) -> Announcement:
    """What came of an extend command."""
    reason = _sentence(str(extend.get("reason", "")))
    if extend.get("outcome") == "shortened" and lease is not None:
        return Announcement("shortened", f"Pool {pool} closes at {_clock(lease.closes, zone)}", reason)
    if extend.get("outcome") != "extended" or lease is None:
        return Announcement("refused", f"Pool {pool} is not extended", reason)
    return Announcement("extended", f"Pool {pool} stays open until {_clock(lease.closes, zone)}", reason)


def of_change(verb: Verb, change: Result) -> Announcement | None:
    """What a person changed without a deploy, and who; nothing where nothing changed: the asker has the answer."""
    outcome = str(change.get("outcome", "refused"))
    if outcome in {"refused", "unchanged"}:
        return None
    reason = _sentence(str(change.get("reason", "")))
    return Announcement(verb.value, _CHANGED[verb], reason)


_CHANGED = {
    Verb.SKIP: "A window is skipped",
    Verb.UNSKIP: "A skipped window opens after all",
    Verb.PAUSE: "The lab is paused",
    Verb.RESUME: "The lab is resumed",
    Verb.ARM: "The guard enforces",
    Verb.WATCH: "The guard only watches",
    Verb.ACK: "Pages are silenced",
    Verb.KEEP: "An idle lease is kept",
}


def of_warning(
    lease: Lease,
    now: datetime,
    zone: ZoneInfo,
    *,
    furthest: datetime | None = None,
    at_stake: AtStake = NOTHING,
) -> Announcement:
    """That a lease ends soon, whose work goes with it, and what to do about it.

    `furthest` is the latest end that an extension may have, where it is known.
    """
    minutes = max(1, round((lease.closes - now) / timedelta(minutes=1)))
    soon = f"in {counted(minutes, 'minute')}"
    subject = f"Pool {lease.pool} closes {soon}"
    if at_stake.partial:
        nodes = len(at_stake.nodes)
        subject = f"{nodes} of {nodes + at_stake.staying} nodes of pool {lease.pool} go {soon}"
    ends = _sentence(f"{lease.called()} ends at {_clock(lease.closes, zone)}")
    advice = _advice(lease, zone, furthest)
    return Announcement("warned", subject, " ".join(filter(None, (ends, at_stake.said(), advice))))


def _advice(lease: Lease, zone: ZoneInfo, furthest: datetime | None) -> str:
    """What somebody can do who wants to go on."""
    if furthest is not None and furthest <= lease.closes:
        return "Save your work: by the lab's rules it cannot be extended."
    most = f" until {_clock(furthest, zone)} at most" if furthest else ""
    return f"Save your work, or extend it{most}: lamplighter extend {lease.pool} 1h, or /gpu extend 1h."


def _earliest(admit: Result, zone: ZoneInfo) -> str:
    earliest = admit.get("earliest")
    return f" It would be granted at {_clock(instant.read(str(earliest)), zone)}." if earliest else ""


def _rows(results: Mapping[str, Result], step: str, key: str) -> list[Result]:
    rows = results.get(step, {}).get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []


def _said(verdict: object) -> str:
    return "failed" if verdict == "failed" else "is not proven"


def _clock(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%H:%M} ({zone.key})"


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
