"""Steps Admit and ArmFailsafe: a lease is granted only after its failsafe is armed.

The rules are in domain/granting/grant.py; here is the order: decide, move the failsafe,
write all at once, and look again when somebody wrote in between. The same command gets the same answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.adapters.aws.kept_courses import beside
from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.failures import going_on
from lamplighter.application.leases.budgets import budgets_at
from lamplighter.application.leases.handing_on import stop_if_handed_on
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.application.leases.unopened import end, nodes_of_others
from lamplighter.application.run import command_of, pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing import holds
from lamplighter.domain.calendar.changes import Changes
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.granting import fallback, grant, opening
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.planner.planner import calendar
from lamplighter.domain.pool.pool import Fence, PoolState
from lamplighter.domain.schedules.schedule import Start, open_command
from lamplighter.errors import BadInput, TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Reason, Said, reason
from lamplighter.values import instant

SOON = timedelta(minutes=2)
"""The run waits for an opening within this time; a later one gets a schedule of its own."""


def admit(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step Admit: grants the lease, or returns the reason of the refusal and the earliest possible instant."""
    pool_of(run, lease_services.capacity.lab)
    before = result(run, "Admit")
    if before.get("outcome") == "granted":
        # An earlier run handed the lease on. Scale checks whether the lease is still in force.
        return {**before}
    return admitted(command_of(run), lease_services)


def admitted(command: Command, lease_services: LeaseServices) -> dict[str, object]:
    """The answer to an open command. A repeated command gets its first answer again."""
    if command.opens is not None:
        _wait_for(command.opens, lease_services)
    decision = lease_services.ledger.command(command.pool, command.id) or _decide_opening(
        command, lease_services
    )
    named = decision.lease or decision.about
    lease = lease_services.ledger.lease(command.pool, named) if named else None
    if decision.outcome == "granted" and (
        lease is None or not lease.granted or lease.closes <= lease_services.now()
    ):
        return _replayed(decision, lease)
    # Only an opening that is really ahead gets a schedule.
    later = decision.outcome == "granted" and lease is not None and lease.opens > lease_services.now() + SOON
    if later and lease is not None:
        lease_services.schedule_opening(lease)
        lease_services.schedule_end(lease)
    elif decision.outcome == "granted" and lease is not None:
        _close_left(lease, lease_services)
        # It was further ahead when this run started and has no schedule, so this run opens it.
        _wait_for(lease.opens, lease_services)
        lease_services.ledger.begin_stage(command.pool, lease.id, Stage.ARMED, 1, lease_services.now())
    return {
        "outcome": decision.outcome,
        "reason": document(decision.reason),
        "lease": lease.to_json() if lease else None,
        "earliest": instant.written(decision.earliest) if decision.earliest else None,
        "later": later,
    }


def _close_left(lease: Lease, lease_services: LeaseServices) -> None:
    """Starts the close of the lease whose place this one has taken. The name starts it once."""
    if lease.moved_from is None:
        return
    left = lease_services.ledger.lease(lease.moved_from.pool, lease.moved_from.lease)
    if left is not None and left.state is LeaseState.CLOSING:
        command = fallback.close_command(left, lease)
        Workflows().start(Start(lease_services.workflow_arns.close_lab, command.id, command))


def _wait_for(opens: datetime, lease_services: LeaseServices) -> None:
    """Raises TryLater if the lease opens within two minutes."""
    ahead = opens - lease_services.now()
    if timedelta() < ahead <= SOON:
        raise TryLater(reason("lease.opens-in", seconds=ahead.seconds))


def arm_failsafe(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step ArmFailsafe: puts the failsafe and reads it back before any node is ordered."""
    command = command_of(run)
    pool = pool_of(run, lease_services.capacity.lab)
    stop_if_handed_on(run, lease_services)
    with lease_services.ledger.writing(pool, f"ArmFailsafe {command.id}", lease_services.now()):
        first, names = lease_services.arm(pool)
    granted = result(run, "Admit").get("lease")
    lease = lease_services.ledger.lease(pool, str(granted["id"])) if isinstance(granted, Mapping) else None
    if lease is not None and lease.granted:
        names += lease_services.schedule_end(lease)
        _hold_again(lease, lease_services)
        if first is not None:
            lease_services.ledger.note_progress(pool, lease.id, Stage.ARMED, 1, 1, lease_services.now())
    if first is not None:
        lease_services.ledger.append_audit(
            Entry(
                at=lease_services.now(),
                pool=pool,
                kind="failsafe-armed",
                who="leases",
                what=reason("audit.failsafe-armed", pool=pool, at=first),
                why=reason("audit.failsafe-armed.why"),
                lease=lease.id if lease else None,
                details={"at": instant.written(first)},
            )
        )
    return {"at": instant.written(first) if first else None, "schedules": list(names)}


def _hold_again(lease: Lease, lease_services: LeaseServices) -> None:
    """Another round for missing nodes: their money is held again before they are ordered."""
    for look in range(LOOKS):
        found = lease_services.ledger.lease(lease.pool, lease.id) if look else lease
        if found is None or not found.granted or not found.missing:
            return
        now, terms, pool = (
            lease_services.now(),
            lease_services.terms(found.pool),
            lease_services.ledger.pool(found.pool),
        )
        budget = lease_services.ledger.budget(found.period, terms.budget.currency)
        after = holds.retaken(found, terms, budget, now)
        if after == found:
            return
        again = after.wanted - found.wanted
        why = reason("lease.nodes-asked-again", nodes=again, of=found.nodes, hold=str(after.hold))
        if after.nodes < found.nodes:
            why = reason("lease.makes-do", missing=found.missing, nodes=after.nodes)
        what = reason("audit.nodes-asked-again", lease=found.called())
        note = entry(after, "degraded", "leases", what, why, now)
        try:
            lease_services.ledger.rehold(found, after, pool=pool, budget=budget, why=note)
        except Conflict:
            continue
        return
    raise TryLater(reason("lease.pool-changes", pool=lease.pool))


def _replayed(decision: Decision, lease: Lease | None) -> dict[str, object]:
    """The answer to a command that is delivered again after its lease ended: it opens only once."""
    why = (
        reason("lease.replayed", at=decision.at, lease=lease.called(), state=lease.stands())
        if lease
        else reason("lease.replayed.gone", at=decision.at)
    )
    return {
        "outcome": "refused",
        "reason": document(why),
        "lease": lease.to_json() if lease else None,
        "earliest": None,
        "later": False,
    }


def _decide_opening(command: Command, lease_services: LeaseServices) -> Decision:
    with lease_services.ledger.writing(command.pool, f"Admit {command.id}", lease_services.now()) as fence:
        for look in range(LOOKS):
            try:
                decision = _open_once(command, lease_services, fence)
            except Conflict:
                continue
            except BadInput as unknown:
                # The price or the capacity is not known: waiting does not help.
                answer = grant.GrantDecision("refused", unknown.said)
                decision = _refuse(
                    command, answer, lease_services.ledger.leases(command.pool), lease_services
                )
            if look and decision.outcome != "granted":
                # The failsafe was moved for a lease that was then not granted.
                lease_services.arm(command.pool)
            return decision
    raise TryLater(reason("lease.pool-changes", pool=command.pool))


def _open_once(command: Command, lease_services: LeaseServices, fence: Fence) -> Decision:
    pool = lease_services.ledger.pool(command.pool)
    leases = lease_services.ledger.leases(command.pool)
    now = lease_services.now()
    left, stays = _left(command, lease_services)
    if stays:
        return _refuse(command, grant.GrantDecision("refused", stays), leases, lease_services)
    if left:
        # Somebody may have extended it since the command was made.
        command = replace(command, nodes=left[0].nodes, closes=left[0].closes)
    command = grant.as_planned(command, leases, now)
    terms = lease_services.terms(command.pool)
    budgets = budgets_at(lease_services.ledger, terms, grant.asked_for(command, terms, now).opens)
    answer = grant.decide(
        command,
        terms,
        [*leases, *_promised(command, leases, terms, lease_services)],
        budgets,
        now=now,
        generation=pool.generation,
        changes=_changes(command, lease_services),
    )
    if answer.outcome != "granted" or answer.lease is None:
        return _refuse(command, answer, leases, lease_services)
    decision = _decision(command, answer, now)
    # A lease that opens later gets a run of its own, which its schedule names.
    ahead = answer.lease.opens > now + SOON
    if not ahead:
        lease_services.let_it_fire(pool, now)
        lease_services.let_it_end(command.pool)
    lease = replace(answer.lease, run=open_command(answer.lease).id if ahead else command.id).granted_at(now)
    granted_before = any(known.id == lease.id and known.granted for known in leases)
    if granted_before and (ahead or not opening.is_unopened(answer.lease, leases, now)):
        lease_services.ledger.opened_by(command.pool, lease.id, command.id)
        lease_services.ledger.decide(command.pool, decision)
        return decision
    beside = None if ahead else nodes_of_others(pool, leases, lease_services)
    if granted_before:
        return _open_granted(answer.lease, decision, pool, terms, lease_services, fence, beside)
    if beside is not None:
        return _refuse(command, grant.GrantDecision("refused", beside), leases, lease_services)
    lease_services.arm(command.pool, also=lease, read=(pool, leases))
    lease_services.ledger.grant(
        lease,
        decision,
        pool=pool,
        budget=budgets[lease.period],
        fence=fence,
        why=entry(
            lease,
            "lease-granted",
            command.by,
            reason("audit.lease-granted", lease=lease.called()),
            answer.reason,
            now,
        ),
        also=[*_opens(lease), *([_leaves(left[0], lease, now)] if left else [])],
        left=left,
    )
    return decision


def _left(
    command: Command, lease_services: LeaseServices
) -> tuple[tuple[Lease, PoolState] | None, Said | None]:
    """The lease that a command moves here, with its pool; and why it stays, if it does.

    TryLater while that pool tries for its nodes: then they may come.
    """
    if command.moved_from is None:
        return None, None
    ledger, moved = lease_services.ledger, command.moved_from
    pool, lease = ledger.pool(moved.pool), ledger.lease(moved.pool, moved.lease)
    nodes = ledger.progress(moved.pool, moved.lease).get(Stage.NODES)
    came = lease is not None and lease.wanted > 0 and nodes is not None and nodes.done > 0
    stays = fallback.may_not_move(lease, lease_services.now(), came=came)
    if stays or lease is None:
        return None, stays
    if lease.wanted:
        raise TryLater(reason("lease.fallback.tries", pool=moved.pool, lease=lease.called()))
    return (lease, pool), None


def _leaves(left: Lease, lease: Lease, now: datetime) -> Entry:
    what = reason("audit.closes", leases=(left.called(),))
    why = fallback.moved_to(left, lease.pool)
    details = {"from": instant.written(left.closes)}
    return Entry(now, left.pool, "closing", "leases", what, why, left.id, details=details)


def _open_granted(  # noqa: PLR0917 -- what was read, in its order
    lease: Lease,
    granted: Decision,
    pool: PoolState,
    terms: Terms,
    lease_services: LeaseServices,
    fence: Fence,
    refusal: Reason | None,
) -> Decision:
    """A lease that was granted ahead comes to its opening: it opens, or ends here for `refusal` or spent money."""
    ledger, now = lease_services.ledger, granted.at
    # The budget is read first and each write has its version, so the holds of these leases are in it.
    budget = ledger.budget(lease.period, terms.budget.currency)
    everywhere: list[Lease] = []
    for name in lease_services.capacity.lab.pools:
        # What is held in a pool that cannot be read counts as if its leases came first.
        with going_on([], f"pool {name}"):
            everywhere += ledger.leases(name)
    present = opening.at_present(lease, terms)
    money = opening.refusal(present, everywhere, terms, budget, held=lease.hold)
    outside = terms.hours.refusal(lease.opens, lease.closes) if terms.hours else None
    refusal = refusal or outside or (money and money.figures)
    if refusal is None:
        ledger.open_granted(lease, present, granted, budget, _repriced(lease, present, terms, now))
        return granted
    refused = Decision(granted.command, "refused", refusal, now, about=lease.id)
    end(lease, refused, "leases", pool=pool, budget=budget, fence=fence, services=lease_services)
    return refused


def _repriced(before: Lease, after: Lease, terms: Terms, now: datetime) -> Entry | None:
    """The entry of a lease that opens at another price than it was granted at, or for other types."""
    if before == after:
        return None
    what = reason(
        "audit.opens-at-present",
        lease=after.called(),
        price=f"{after.price_per_hour} {terms.budget.currency}",
        types=after.instance_types,
    )
    why = reason("audit.opens-at-present.why", pool=after.pool, hold=str(after.hold), before=str(before.hold))
    return entry(after, "priced", "leases", what, why, now)


def _opens(lease: Lease) -> list[Entry]:
    """The entry of the window that opens; none for a lease without a window."""
    if lease.window is None or lease.moved_from is not None:
        return []
    what = reason("audit.window-opens", pool=lease.pool)
    why = reason("audit.window-opens.why", window=lease.window, at=lease.opens)
    return [entry(lease, "window-opens", f"window {lease.window}", what, why, lease.opens)]


def _changes(command: Command, lease_services: LeaseServices) -> Changes:
    """The pauses and the skip that may keep this lease closed."""
    skip = (
        lease_services.ledger.skipped(command.window, command.date)
        if command.window and command.date
        else None
    )
    return Changes(tuple(lease_services.ledger.pauses()), skip)


def _promised(
    command: Command, leases: Sequence[Lease], terms: Terms, lease_services: LeaseServices
) -> list[Lease]:
    """Windows at the time of a lease that begins later, and that the planner has not written yet."""
    if command.window is not None or command.opens is None or command.opens <= lease_services.now():
        return []

    ends = command.closes or command.opens + (command.lasting or terms.default)
    # A longer lease is refused anyway, and computing the windows of a century would take too long.
    ends = min(ends, command.opens + terms.longest)
    lab = lease_services.capacity.as_found(command.pool)
    around = beside(lab, lease_services.ledger, {command.pool: leases})
    ahead = calendar(
        lab, {command.pool: terms}, lease_services.ledger.skips(), command.opens, ends, beside=around
    ).leases
    known = {lease.id for lease in leases}
    return [lease for lease in ahead if lease.id not in known]


def _refuse(
    command: Command, answer: grant.GrantDecision, leases: list[Lease], lease_services: LeaseServices
) -> Decision:
    now = lease_services.now()
    decision = _decision(command, answer, now)
    planned = (
        None
        if answer.for_now
        else next(
            (each for each in leases if each.id == command.lease_id and each.state is LeaseState.PLANNED),
            None,
        )
    )
    # A person who finds the pool open already is not refused.
    refused = answer.outcome == "refused"
    why = Entry(
        at=now,
        pool=command.pool,
        kind="refused" if refused else "answered",
        who=command.by,
        what=reason("audit.open-refused", pool=command.pool)
        if refused
        else reason("audit.open-already", pool=command.pool),
        why=answer.reason,
        lease=decision.about,
    )
    if answer.for_now:
        lease_services.ledger.append_audit(why)
    else:
        lease_services.ledger.refuse(command.pool, decision, why, planned)
    return decision


def _decision(command: Command, answer: grant.GrantDecision, now: datetime) -> Decision:
    return Decision(
        command=command.id,
        outcome=answer.outcome,
        reason=answer.reason,
        at=now,
        earliest=answer.earliest,
        **{"lease" if answer.outcome == "granted" else "about": answer.lease.id if answer.lease else None},
    )


def entry(lease: Lease, kind: str, who: str, what: Said, why: Said, now: datetime) -> Entry:  # noqa: PLR0917
    return Entry(now, lease.pool, kind, who, what, why, lease=lease.id, nodes=lease.nodes)
