"""Gathers what one sweep knows of one pool: its capacity, the failsafe, the ledger, and Kubernetes.

Notes in the ledger how long the pool has had too many nodes or been idle. It makes a call only where a rule needs the
answer. kubernetes.py reads Kubernetes, trail.py the audit trail.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.application.capacity.lives import note_lives
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.known import known
from lamplighter.application.guard.kubernetes import note_nothing_runs, with_kubernetes
from lamplighter.application.guard.outside import may_end
from lamplighter.application.guard.overdrafts import overdrafts
from lamplighter.application.guard.services import GuardServices, LabFacts
from lamplighter.application.guard.shown import seen_anyhow
from lamplighter.application.guard.trail import closing_since, earlier_breaches, incident
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.evidence import SWEPT, Changing, Part, Seen
from lamplighter.domain.capacity.kinds import KINDS, curfew_rails, identity, kind_of
from lamplighter.domain.granting.idleness import allowed
from lamplighter.domain.guard.facts import MEMORY, PoolFacts
from lamplighter.domain.guard.runs import OPENING_PATIENCE, STARTING_PATIENCE
from lamplighter.domain.leases.curfew import schedule_names as curfew_names
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.schedules.failsafe import failsafe_instant, failsafe_schedules, schedule_names
from lamplighter.domain.schedules.of_leases import opens_at, unopened
from lamplighter.domain.schedules.schedule import RunEnd, Schedule
from lamplighter.reasons.reason import Reason


def gather(guard_services: GuardServices, pool: str, lab_facts: LabFacts) -> PoolFacts:
    """Everything that the rules need to know about a pool.

    It reads AWS first, then the ledger: so a lease that is granted meanwhile appears with its nodes.
    It reads the audit trail last: so it has the entry of a lease that begins to close meanwhile.
    """
    capacity = guard_services.capacity
    lab = capacity.lab
    seen = seen_anyhow(capacity, pool, guard_services.unread, SWEPT)
    # Before the ledger is read: whatever is wrong with a lease, EC2 forgets in an hour when its nodes ran.
    note_lives(capacity, pool, seen, capacity.now())
    state = capacity.ledger.pool(pool)
    leases = tuple(capacity.ledger.leases(pool))
    now = capacity.now()
    trail = capacity.ledger.audit(pool, now - MEMORY)
    wanted = _wanted_failsafe(capacity, leases, now, pool, seen)
    failsafe = _found_failsafe(guard_services, pool, wanted, lab_facts)
    claim = lab_facts.claims.get(identity(lab, pool).name)
    # One pool tells of them, since they belong to none.
    tells = lab.pools_with("node pool")[:1] == [pool]
    outside = lab_facts.outside if tells else ()
    facts = replace(
        known(capacity, pool, _with_change(capacity, pool, seen), leases, lab_facts.pauses or (), now=now),
        enforcing=capacity.enforces(state),
        closing_since=closing_since(trail),
        kubernetes_nodes=(),
        failsafe_wanted=wanted,
        failsafe_found=failsafe,
        curfew=_curfew(guard_services, pool, lab_facts),
        incident=incident(guard_services.capacity.ledger, state),
        earlier=earlier_breaches(trail),
        other_claim=claim if claim is not None and claim.lab != lab.name else None,
        idle_after=_idle_after(guard_services, leases),
        idle_by=lab.guard.idle_by,
        extended_at={entry.lease: entry.at for entry in trail if entry.kind == "extended" and entry.lease},
        opening_ended=_opening_ended(guard_services, leases, lab_facts.pauses, trail, now),
        overdrafts=_overdrafts(guard_services, pool, leases, now),
        experiment=lab_facts.experiment,
        outside=outside,
        ends_outside=bool(outside) and may_end(capacity),
        controller_faults=lab_facts.controller_faults if tells else (),
    )
    facts = replace(
        facts, over_since=_over_since(guard_services, facts, state), raised_by=_raised_by(capacity, facts)
    )
    facts = _with_interruptions(guard_services, facts)
    if not (seen.existing or state.leaked_since or failsafe):
        note_nothing_runs(guard_services, facts, state)
        return facts
    return with_kubernetes(guard_services, facts, state)


def _overdrafts(
    guard_services: GuardServices, pool: str, leases: Iterable[Lease], now: datetime
) -> Mapping[str, Overdraft]:
    """Which leases will use up their budget. A failure here does not stop the other rules."""
    with guard_services.reading(f"pool {pool}, costs"):
        return overdrafts(guard_services.lease_services, pool, leases, now)
    return {}


def _curfew(guard_services: GuardServices, pool: str, lab_facts: LabFacts) -> Mapping[str, bool | None]:
    """The schedules of the pool's curfew as the listing shows them; none where it has no curfew."""
    if lab_facts.listed is None or guard_services.capacity.lab.curfew(pool) is None:
        return {}
    enabled = {schedule.name: schedule.enabled for schedule in lab_facts.listed}
    rails = curfew_rails(kind_of(guard_services.capacity.lab, pool))
    return {name: enabled.get(name) for name in curfew_names(pool, rails)}


def _idle_after(guard_services: GuardServices, leases: Iterable[Lease]) -> dict[str, timedelta]:
    limits = {lease.id: allowed(lease, guard_services.capacity.lab) for lease in leases if not lease.kept}
    return {lease: length for lease, length in limits.items() if length is not None}


def _opening_ended(
    guard_services: GuardServices,
    leases: Iterable[Lease],
    pauses: Sequence[Pause] | None,
    trail: Iterable[Entry],
    now: datetime,
) -> dict[str, RunEnd]:
    """By lease: how the run ended that should have opened it by now."""
    ends: dict[str, RunEnd] = {}
    resumed = [entry.at for entry in trail if entry.kind == "resumed"]
    for lease in leases:
        opening = lease.state in {LeaseState.ADMITTED, LeaseState.OPENING} and lease.ready is None
        # A pause delays an opening to its own end.
        opens = _opens(lease, pauses, resumed, now)
        if not opening or lease.run is None or opens is None:
            continue
        if now < opens + OPENING_PATIENCE or now >= lease.closes:
            continue
        ended = None
        with guard_services.reading(f"pool {lease.pool}, opening"):
            ended = guard_services.workflows.ended(guard_services.open_lab, lease.run)
        if ended is RunEnd.NEVER_STARTED and now < opens + STARTING_PATIENCE:
            continue
        if ended is not None:
            ends[lease.id] = ended
    return ends


def _opens(
    lease: Lease, pauses: Sequence[Pause] | None, resumed: Iterable[datetime], now: datetime
) -> datetime | None:
    """When a lease had to open, not before a pause ended; None in a pause, or where the pauses are not known."""
    if not unopened(lease):
        return lease.opens
    opens = None if pauses is None else opens_at(lease, pauses, now)
    if pauses is None or opens is None:
        return None
    ended = (pause.until for pause in pauses if pause.until is not None and pause.until <= now)
    return max([opens, *ended, *resumed])


def _over_since(guard_services: GuardServices, facts: PoolFacts, state: PoolState) -> datetime | None:
    """Since when the pool should be at zero and is not; the ledger keeps it between sweeps."""
    if facts.target.nodes or not facts.costly:
        if state.over_since is not None:
            guard_services.capacity.ledger.note_not_over(facts.pool)
        return None
    if state.over_since is None:
        guard_services.capacity.ledger.note_over(facts.pool, facts.now)
    return state.over_since or facts.now


def _raised_by(capacity: CapacityServices, facts: PoolFacts) -> Reason | None:
    if facts.seen.controller is None or facts.staying <= facts.target.nodes:
        return None
    return capacity.see(facts.pool, {Part.LATEST}, facts.seen).raised_by


def _with_interruptions(guard_services: GuardServices, facts: PoolFacts) -> PoolFacts:
    """With the leased nodes that EC2 or their controller takes away.

    Where they cannot be read, nothing but their report is missing.
    """
    if not facts.target.nodes or facts.seen.controller is None:
        return facts
    with guard_services.reading(f"pool {facts.pool}, interruptions"):
        return replace(facts, seen=guard_services.capacity.see(facts.pool, {Part.INTERRUPTIONS}, facts.seen))
    return facts


def _wanted_failsafe(
    capacity: CapacityServices, leases: Iterable[Lease], now: datetime, pool: str, seen: Seen
) -> tuple[Schedule, ...]:
    """The failsafe that the leases need; none without leases or without a controller."""
    first = failsafe_instant(leases, now)
    needs_more = KINDS[kind_of(capacity.lab, pool)].off_switch_needs and (
        not seen.exists or seen.controller is None
    )
    if first is None or needs_more:
        return ()
    return failsafe_schedules(pool, capacity.of(pool).off_switch(pool, first, seen))


def _found_failsafe(
    guard_services: GuardServices, pool: str, wanted: Sequence[Schedule], lab_facts: LabFacts
) -> tuple[Schedule, ...] | None:
    """The failsafe that Scheduler has; None where it did not answer."""
    names = {schedule.name for schedule in wanted} | (lab_facts.schedules or set()) & set(
        schedule_names(pool)
    )
    with guard_services.reading(f"pool {pool}, failsafe"):
        read = [guard_services.lease_services.failsafes.read(name) for name in sorted(names)]
        return tuple(schedule for schedule in read if schedule is not None)
    return None


def _with_change(capacity: CapacityServices, pool: str, seen: Seen) -> Seen:
    """With the change in progress, where there is one and it may replace nodes."""
    if seen.change is None or seen.change.kind is not Changing.UPDATING or not seen.alive:
        return seen
    return capacity.see(pool, {Part.CHANGE}, seen)
