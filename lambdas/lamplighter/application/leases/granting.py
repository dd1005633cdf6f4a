"""Admit and ArmFailsafe: a lease is granted only behind an armed failsafe.

The rules are in domain/leases/grant.py; here is the order: decide, move the failsafe,
write all at once, and look again when somebody wrote in between. The same command gets the same answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.leases.desk import LOOKS, Desk
from lamplighter.application.leases.handing_on import stop_if_handed_on
from lamplighter.application.run import command_of, pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Changes
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.leases import grant
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money import holds
from lamplighter.domain.pool.pool import Fence
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.errors import BadInput, TryLater
from lamplighter.values import instant

SOON = timedelta(minutes=2)
"""An opening that near is waited for; a later one gets a schedule of its own."""


def admit(run: Mapping[str, object], desk: Desk) -> dict[str, object]:
    """Step Admit: grant the lease that the command asks for, or say why not and when it would be."""
    pool_of(run, desk.capacity.lab)
    before = result(run, "Admit")
    if before.get("outcome") == "granted":
        # Handed on by an earlier run: Scale sees whether the lease still stands.
        return {**before}
    return admitted(command_of(run), desk)


def admitted(command: Command, desk: Desk) -> dict[str, object]:
    """The answer to an open command; the one it got the first time, if there was one."""
    if command.opens is not None:
        _wait_for(command.opens, desk)
    decision = desk.ledger.command(command.pool, command.id) or _decide_opening(command, desk)
    named = decision.lease or decision.about
    lease = desk.ledger.lease(command.pool, named) if named else None
    if decision.outcome == "granted" and (lease is None or not lease.granted or lease.closes <= desk.now()):
        return _replayed(decision, lease)
    # A little late is now: only what is really ahead is left to a schedule.
    later = decision.outcome == "granted" and lease is not None and lease.opens > desk.now() + SOON
    if later and lease is not None:
        desk.schedule_opening(lease)
        desk.schedule_end(lease)
    elif decision.outcome == "granted" and lease is not None:
        # It was further ahead as this look began, and has no schedule: this very run opens it.
        _wait_for(lease.opens, desk)
        desk.ledger.begin_stage(command.pool, lease.id, Stage.ARMED, 1, desk.now())
    return {
        "outcome": decision.outcome,
        "reason": decision.reason,
        "lease": lease.to_json() if lease else None,
        "earliest": instant.written(decision.earliest) if decision.earliest else None,
        "later": later,
    }


def _wait_for(opens: datetime, desk: Desk) -> None:
    """TryLater where a lease opens in a moment."""
    ahead = opens - desk.now()
    if timedelta() < ahead <= SOON:
        raise TryLater(f"the lease opens in {ahead.seconds} s")


def arm_failsafe(run: Mapping[str, object], desk: Desk) -> dict[str, object]:
    """Step ArmFailsafe: what brings the pool to zero without us is there, read back, before any node."""
    command = command_of(run)
    pool = pool_of(run, desk.capacity.lab)
    stop_if_handed_on(run, desk)
    with desk.ledger.writing(pool, f"ArmFailsafe {command.id}", desk.now()):
        first, names = desk.arm(pool)
    granted = result(run, "Admit").get("lease")
    lease = desk.ledger.lease(pool, str(granted["id"])) if isinstance(granted, Mapping) else None
    if lease is not None and lease.granted:
        names += desk.schedule_end(lease)
        _hold_again(lease, desk)
        if first is not None:
            desk.ledger.note_progress(pool, lease.id, Stage.ARMED, 1, 1, desk.now())
    if first is not None:
        desk.ledger.append_audit(
            Entry(
                at=desk.now(),
                pool=pool,
                kind="failsafe-armed",
                who="leases",
                what=f"armed the failsafe of pool {pool} for {instant.clock_time(first)}",
                why="it fires ten minutes after the last running lease ends, whatever becomes of us",
                lease=lease.id if lease else None,
                details={"at": instant.written(first)},
            )
        )
    return {"at": instant.written(first) if first else None, "schedules": list(names)}


def _hold_again(lease: Lease, desk: Desk) -> None:
    """Another round for nodes that did not come: their money is set aside again before they are asked for."""
    for look in range(LOOKS):
        found = desk.ledger.lease(lease.pool, lease.id) if look else lease
        if found is None or not found.granted or not found.missing:
            return
        now, terms, pool = desk.now(), desk.terms(found.pool), desk.ledger.pool(found.pool)
        budget = desk.ledger.budget(found.period, terms.budget.currency)
        after = holds.retaken(found, terms, budget, now)
        if after == found:
            return
        why = f"{after.wanted - found.wanted} of {found.nodes} nodes are asked for again, and {after.hold} is held"
        if after.nodes < found.nodes:
            why = (
                f"the budget has no more for {found.missing} missing nodes, so it makes do with {after.nodes}"
            )
        again = entry(after, "degraded", "leases", f"asks again for {found.called()}", why, now)
        try:
            desk.ledger.rehold(found, after, pool=pool, budget=budget, why=again)
        except Conflict:
            continue
        return
    raise TryLater(f"pool {lease.pool} or its budget keeps changing; its missing nodes are asked for later")


def _replayed(decision: Decision, lease: Lease | None) -> dict[str, object]:
    """A command delivered again after its lease was over: it opened once, and opens nothing more."""
    state = f"{lease.called()} is {lease.state.value} or past its end" if lease else "its lease is gone"
    at = instant.clock_time(decision.at)
    return {
        "outcome": "refused",
        "reason": f"this command was granted at {at} and {state}: a command opens once",
        "lease": lease.to_json() if lease else None,
        "earliest": None,
        "later": False,
    }


def _decide_opening(command: Command, desk: Desk) -> Decision:
    with desk.ledger.writing(command.pool, f"Admit {command.id}", desk.now()) as fence:
        for look in range(LOOKS):
            try:
                decision = _open_once(command, desk, fence)
            except Conflict:
                continue
            except BadInput as unknown:
                # No price, no such node group: nothing that waiting would change.
                answer = grant.Answer("refused", str(unknown))
                decision = _refuse(command, answer, desk.ledger.leases(command.pool), desk)
            if look and decision.outcome != "granted":
                # It was moved for a lease that was then not granted.
                desk.arm(command.pool)
            return decision
    raise TryLater(f"pool {command.pool} or its budget keeps changing; asking again")


def _open_once(command: Command, desk: Desk, fence: Fence) -> Decision:
    pool = desk.ledger.pool(command.pool)
    leases = desk.ledger.leases(command.pool)
    now = desk.now()
    command = grant.as_planned(command, leases, now)
    terms = desk.terms(command.pool)
    budgets = desk.budgets(terms, grant.asked_for(command, terms, now).opens)
    answer = grant.decide(
        command,
        terms,
        [*leases, *_promised(command, leases, terms, desk)],
        budgets,
        now=now,
        generation=pool.generation,
        changes=_changes(command, desk),
    )
    if answer.outcome != "granted" or answer.lease is None:
        return _refuse(command, answer, leases, desk)
    decision = _decision(command, answer, now)
    # One that opens later is opened by a run of its own, which its schedule names.
    ahead = answer.lease.opens > now + SOON
    if not ahead:
        desk.let_it_fire(pool, now)
    lease = replace(answer.lease, run=open_command(answer.lease).id if ahead else command.id).granted_at(now)
    if any(known.id == lease.id and known.granted for known in leases):
        desk.ledger.opened_by(command.pool, lease.id, command.id)
        desk.ledger.decide(command.pool, decision)
        return decision
    desk.arm(command.pool, also=lease, read=(pool, leases))
    desk.ledger.grant(
        lease,
        decision,
        pool=pool,
        budget=budgets[lease.period],
        fence=fence,
        why=entry(lease, "lease-granted", command.by, f"granted {lease.called()}", answer.reason, now),
        also=_opens(lease, terms),
    )
    return decision


def _opens(lease: Lease, terms: Terms) -> list[Entry]:
    """What the trail says of a window; nothing of a lease of nobody's plan."""
    if lease.window is None:
        return []
    window = f"window {lease.window}"
    because = f"{window} opens at {terms.clock(lease.opens)}"
    return [entry(lease, "window-opens", window, f"opens pool {lease.pool}", because, lease.opens)]


def _changes(command: Command, desk: Desk) -> Changes:
    """What people changed that may keep this lease closed."""
    skip = desk.ledger.skipped(command.window, command.date) if command.window and command.date else None
    return Changes(tuple(desk.ledger.pauses()), skip)


def _promised(command: Command, leases: Sequence[Lease], terms: Terms, desk: Desk) -> list[Lease]:
    """The windows over a lease that begins later, for those further ahead than the planner has written."""
    if command.window is not None or command.opens is None or command.opens <= desk.now():
        return []
    from lamplighter.adapters.calendars.kept import beside  # noqa: PLC0415 -- only for who asks ahead
    from lamplighter.domain.calendar.planner import calendar  # noqa: PLC0415

    ends = command.closes or command.opens + (command.lasting or terms.default)
    # What is longer is refused: the windows of a century would take longer than the pool may be kept.
    ends = min(ends, command.opens + terms.longest)
    lab = desk.capacity.as_found(command.pool)
    around = beside(lab, desk.ledger, {command.pool: leases})
    ahead = calendar(
        lab, {command.pool: terms}, desk.ledger.skips(), command.opens, ends, beside=around
    ).leases
    known = {lease.id for lease in leases}
    return [lease for lease in ahead if lease.id not in known]


def _refuse(command: Command, answer: grant.Answer, leases: list[Lease], desk: Desk) -> Decision:
    now = desk.now()
    decision = _decision(command, answer, now)
    planned = (
        None
        if answer.for_now
        else next(
            (each for each in leases if each.id == command.lease_id and each.state is LeaseState.PLANNED),
            None,
        )
    )
    why = Entry(
        at=now,
        pool=command.pool,
        # Who finds the pool open already was not refused.
        kind="refused" if answer.outcome == "refused" else "answered",
        who=command.by,
        what=f"asked to open pool {command.pool}: {answer.outcome}",
        why=answer.reason,
        lease=decision.about,
    )
    if answer.for_now:
        desk.ledger.append_audit(why)
    else:
        desk.ledger.refuse(command.pool, decision, why, planned)
    return decision


def _decision(command: Command, answer: grant.Answer, now: datetime) -> Decision:
    return Decision(
        command=command.id,
        outcome=answer.outcome,
        reason=answer.reason,
        at=now,
        earliest=answer.earliest,
        **{"lease" if answer.outcome == "granted" else "about": answer.lease.id if answer.lease else None},
    )


def entry(lease: Lease, kind: str, who: str, what: str, why: str, now: datetime) -> Entry:  # noqa: PLR0917
    return Entry(now, lease.pool, kind, who, what, why, lease=lease.id, nodes=lease.nodes)
