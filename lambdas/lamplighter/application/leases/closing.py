"""RestoreExperiments, Settle, Disarm and Receipt: a lease ends, is paid for and leaves its receipt.

A lease that begins as another ends takes the nodes over before the first one lets go. Every step looks
at the ledger, not at what an earlier try did, and may run again.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.capacity.lives import nodes_lives
from lamplighter.application.leases.experiments import undone_before_the_end
from lamplighter.application.leases.granting import admitted
from lamplighter.application.leases.metering import count_beyond, metered
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.application.leases.unopened import withdrawn
from lamplighter.application.run import command_of, pool_of, result
from lamplighter.data.instance_types import gpu_type
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.findings import of_receipt
from lamplighter.domain.billing import receipt as receipts
from lamplighter.domain.billing.metering import NodeLife, TimeOfTypes
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.gpu.offer import in_receipt
from lamplighter.domain.granting import closing, opening
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import lengths
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.pool import Phase
from lamplighter.domain.pool.target import due, target_at
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.errors import LamplighterError, OutsideFailed, TryLater
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import instant

RECEIPT_OWED = timedelta(days=1)
"""The next close of a pool writes a missing receipt of a lease that closed within this time."""

_logger = logging.getLogger(__name__)


def restore_experiments(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step RestoreExperiments: hands nodes over, undoes experiments, ends the leases, moves the failsafe nearer.

    An experiment that cannot be undone now keeps no lease from ending: the guard goes on undoing it.
    """
    pool = pool_of(run, lease_services.capacity.lab)
    command = command_of(run)
    if not closing.is_emergency(command):
        _hand_over(pool, lease_services)
    said = withdrawn(command, lease_services)
    if said is not None:
        return {"restored": [], "closing": [], "over": True, "reason": document(said)}
    opened = lease_services.ledger.command(pool, command.opened_by) if command.opened_by else None
    restored: list[str] = []
    for _ in range(LOOKS):
        state, leases, now = (
            lease_services.ledger.pool(pool),
            lease_services.ledger.leases(pool),
            lease_services.now(),
        )
        decided = closing.decide(command, opened.granted if opened else None, leases, now)
        restored += undone_before_the_end(decided.leases, command, restored, lease_services)
        why = Entry(
            at=now,
            pool=pool,
            kind="closing",
            who=command.by,
            what=_closes(pool, decided.leases),
            why=decided.reason,
            lease=decided.leases[0].id if decided.leases else None,
            details=_details(decided.leases),
        )
        try:
            lease_services.ledger.begin_closing(decided.leases, state, now, why)
        except Conflict:
            continue
        break
    else:
        raise TryLater(reason("lease.leases-change", pool=pool))
    answer = Decision(command.id, "over" if decided.over else "closing", decided.over or decided.reason, now)
    lease_services.ledger.decide(pool, answer)
    if decided.over:
        _keep_the_moved_end(command.lease, leases, lease_services)
    else:
        with lease_services.ledger.writing(pool, f"RestoreExperiments {command.id}", lease_services.now()):
            _move_nearer(pool, lease_services)
    return {
        "restored": restored,
        "closing": [lease.id for lease in decided.leases],
        "over": decided.over is not None,
        "reason": document(decided.over or decided.reason),
    }


def _details(leases: Sequence[Lease]) -> dict[str, str]:
    if not leases:
        return {}
    several = {"leases": ",".join(lease.id for lease in leases)} if len(leases) > 1 else {}
    return {"from": instant.written(leases[0].closes), **several}


def _closes(pool: str, leases: Sequence[Lease]) -> Reason:
    if not leases:
        return reason("audit.closes-pool", pool=pool)
    return reason("audit.closes", leases=tuple(lease.called() for lease in leases))


def settle(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step Settle: meters the nodes, counts their cost as spent, frees the hold and closes the lease."""
    pool = pool_of(run, lease_services.capacity.lab)
    at = result(run, "ProveZero").get("at")
    closed = instant.read(str(at)) if at else lease_services.now()
    terms = lease_services.terms(pool)
    own = {lease.id for lease in _ended(run, pool, lease_services)}
    for _ in range(LOOKS):
        try:
            unleased = _settle_once(pool, closed, own, terms, lease_services)
        except Conflict:
            continue
        break
    else:
        raise TryLater(reason("lease.budget-changes", pool=pool))
    leases = _ended(run, pool, lease_services)
    cost = sum((lease.cost for lease in leases if lease.cost), Money.zero(terms.budget.currency))
    return {
        "node_seconds": sum(lease.node_seconds or 0 for lease in leases),
        "cost": cost.to_json(),
        "unleased_seconds": unleased.seconds,
        "unleased": unleased.to_json(),
    }


def disarm(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step Disarm: sets the failsafe for the remaining leases, or removes it if there are none."""
    pool = pool_of(run, lease_services.capacity.lab)
    with lease_services.ledger.writing(pool, f"Disarm {command_of(run).id}", lease_services.now()):
        first, _ = lease_services.arm(pool)
    for lease in _ended(run, pool, lease_services):
        lease_services.unschedule(lease)
    target = target_at(
        lease_services.ledger.leases(pool), lease_services.now(), lease_services.terms(pool).max_nodes
    )
    lease_services.ledger.set_phase(pool, Phase.OPEN if target.nodes else Phase.CLOSED)
    if first is None:
        lease_services.ledger.append_audit(
            Entry(
                at=lease_services.now(),
                pool=pool,
                kind="failsafe-disarmed",
                who="leases",
                what=reason("audit.failsafe-removed", pool=pool),
                why=reason("audit.failsafe-removed.why"),
            )
        )
    return {"at": instant.written(first) if first else None}


def receipt(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step Receipt: keeps one receipt for each lease that ended, and one for nodes that ran without a lease.

    A run closes whatever is being closed on its pool, so it gives the receipts of other runs' leases as well.
    """
    pool = pool_of(run, lease_services.capacity.lab)
    proof = result(run, "ProveZero")
    made: list[dict[str, object]] = []
    ended = _ended(run, pool, lease_services)
    ended += _without_receipt(pool, {lease.id for lease in ended}, lease_services)
    lives = _lives(pool, lease_services) if ended else ()
    for lease in ended:
        said = of_receipt(lease_services.ledger.audit(pool, lease.opens), lease.id)
        document = receipts.receipt(lease, lease_services.ledger.verdicts(pool, lease.id), proof, said)
        document["node_lives"] = receipts.node_lives(lease, lives)
        if lease_services.capacity.lab.pools[pool].spot:
            document["purchase"] = receipts.purchase(lease, lives)
        document["stages"] = lengths(lease_services.ledger.progress(pool, lease.id))
        document["settings"] = in_receipt(
            lease_services.ledger.settings(pool, lease.id), result(run, "GiveBack")
        )
        document |= _gpu_use(lease, lease_services) | _seats(lease, lease_services)
        lease_services.ledger.put_receipt(pool, lease.closed or lease.closes, lease.id, document)
        lease_services.ledger.append_audit(
            Entry(
                at=lease_services.now(),
                pool=pool,
                kind="receipt",
                who="leases",
                what=reason("audit.lease-cost", lease=lease.called(), cost=str(lease.cost)),
                why=reason("audit.node-seconds", seconds=lease.node_seconds or 0),
                lease=lease.id,
                nodes=lease.nodes,
            )
        )
        made.append(document)
    billed = result(run, "Settle").get("unleased")
    ran = NodeTime.from_json(billed) if isinstance(billed, Mapping) else None
    if ran is not None and ran.time:
        at = instant.read(str(proof["at"])) if proof.get("at") else lease_services.now()
        document = receipts.unleased_receipt(pool, at, ran, proof)
        lease_services.ledger.bill_unleased(
            pool, at, document, ran, _unleased(pool, ran, at, lease_services.now())
        )
        made.append(document)
    return receipts.named(pool, made)


def _gpu_use(lease: Lease, lease_services: LeaseServices) -> dict[str, object]:
    """Hours used beside hours paid, if the lab reads what its GPUs do and the pool's types have as many GPUs each."""
    paid = _paid_gpu_seconds(lease, lease_services.capacity.lab)
    if lease_services.capacity.lab.guard.idle_by != "gpu" or paid is None:
        return {}
    use = lease_services.ledger.gpu_use(lease.pool, lease.id)
    return {"gpu_use": to_document(use.hours(paid))}


def _seats(lease: Lease, lease_services: LeaseServices) -> dict[str, object]:
    """The seats of a window that states them: asked, and used by the guard's sweeps."""
    asked = lease_services.capacity.lab.seats_of(lease.window)
    paid = _paid_gpu_seconds(lease, lease_services.capacity.lab)
    if asked is None or paid is None:
        return {}
    return {"seats": to_document(lease_services.ledger.seat_use(lease.pool, lease.id).of(asked, paid))}


def _paid_gpu_seconds(lease: Lease, lab: Lab) -> int | None:
    """None where the types of its nodes are not known, or have not as many GPUs each."""
    types = lease.instance_types or (lab.pools[lease.pool].types if lease.pool in lab.pools else ())
    gpus = {kind.gpus if kind else 0 for kind in map(gpu_type, types)}
    return None if len(gpus) != 1 or gpus == {0} else (lease.node_seconds or 0) * gpus.pop()


def _unleased(pool: str, ran: NodeTime, closed: datetime, now: datetime) -> Entry:
    return Entry(
        at=now,
        pool=pool,
        kind="receipt",
        who="leases",
        what=reason("audit.unleased-cost", cost=str(ran.cost)),
        why=reason("audit.node-seconds", seconds=ran.seconds),
        details={
            "node_seconds": str(ran.seconds),
            "closed": instant.written(closed),
            **{name: value for name, value in ran.cost.to_json().items() if name != "exact"},
        },
    )


def _lives(pool: str, lease_services: LeaseServices) -> tuple[NodeLife, ...]:
    """When each node started and ended. If AWS does not answer, the receipt goes without them."""
    try:
        return nodes_lives(
            lease_services.capacity, pool, lease_services.capacity.see(pool), lease_services.now()
        )
    except LamplighterError as error:
        _logger.warning("the receipt has no nodes' lives: %s", error)
        return ()


def _hand_over(pool: str, lease_services: LeaseServices) -> None:
    """Decides on leases that open at this moment: they keep the running nodes, or do not open."""
    leases, now = lease_services.ledger.leases(pool), lease_services.now()
    closing.wait_for_successor(leases, now)
    for lease in [*due(leases, now), *opening.ahead(leases, now)]:
        try:
            admitted(open_command(lease), lease_services)
        except LamplighterError as error:
            # A lease that was granted ahead keeps the nodes until its own run decides.
            if lease.state is LeaseState.PLANNED and isinstance(error, TryLater | OutsideFailed):
                raise
            _logger.warning("%s is not handed over to: %s", lease.id, error)


def _move_nearer(pool: str, lease_services: LeaseServices) -> None:
    """Moves the failsafe nearer. If it fires right now, it stays as it is and nobody waits."""
    try:
        lease_services.arm(pool)
    except TryLater as later:
        _logger.info("the failsafe stays where it is: %s", later)


def _keep_the_moved_end(lease_id: str | None, leases: list[Lease], lease_services: LeaseServices) -> None:
    """After a close that came for an earlier end: makes sure that the new end has its schedules."""
    for lease in leases:
        if lease.id == lease_id and lease.in_force(lease_services.now()):
            lease_services.schedule_end(lease)


def _ended(run: Mapping[str, object], pool: str, lease_services: LeaseServices) -> list[Lease]:
    """The leases that this run ended, as the ledger has them now."""
    named = result(run, "RestoreExperiments").get("closing")
    names = {str(name) for name in named} if isinstance(named, list) else set()
    return [lease for lease in lease_services.ledger.leases(pool) if lease.id in names]


def _without_receipt(pool: str, named: Collection[str], lease_services: LeaseServices) -> list[Lease]:
    """Other recently closed leases without a receipt: the run that ended them has failed."""
    since = lease_services.now() - RECEIPT_OWED
    return [
        lease
        for lease in lease_services.ledger.leases(pool)
        if lease.state is LeaseState.CLOSED
        and lease.id not in named
        and lease.closed is not None
        and lease.closed >= since
        and lease_services.ledger.receipt(pool, lease.id, lease.closed) is None
    ]


def _settle_once(
    pool: str, closed: datetime, own: Collection[str], terms: Terms, lease_services: LeaseServices
) -> NodeTime:
    """Counts nodes past or without a lease, then closes every lease that is closing; `own` are of this run.

    Gives what no receipt says yet.
    """
    count_beyond(pool, closed, lease_services, "leases")
    leases = lease_services.ledger.leases(pool)
    # A lease that began to close after the proof has a run and a proof of its own: the proof left its nodes running.
    # Its end is kept without the parts of its second.
    ending = [
        lease
        for lease in leases
        if lease.state is LeaseState.CLOSING
        and (lease.id in own or lease.closes < closed.replace(microsecond=0))
    ]
    if ending:
        ran = metered(pool, leases, min(lease.opens for lease in ending), closed, lease_services)
        for lease in ending:
            _settle_lease(lease, ran.of_leases.get(lease.id, {}), closed, terms, lease_services)
    return lease_services.ledger.pool(pool).unbilled or NodeTime.nothing(terms.budget.currency)


def _settle_lease(
    lease: Lease, ran: TimeOfTypes, closed: datetime, terms: Terms, lease_services: LeaseServices
) -> None:
    whole = terms.as_granted(lease).paid(ran)
    if lease.overrun:
        whole += lease.overrun
    settled = replace(lease, closed=closed, node_seconds=whole.seconds, cost=whole.cost)
    why = Entry(
        at=lease_services.now(),
        pool=lease.pool,
        kind="closed",
        who="leases",
        what=reason("audit.lease-closed", lease=lease.called()),
        why=_ran(lease, whole),
        lease=lease.id,
        nodes=lease.nodes,
    )
    budget = lease_services.ledger.budget(lease.period, terms.budget.currency)
    lease_services.ledger.settle(settled, budget, why)


def _ran(lease: Lease, whole: NodeTime) -> Reason:
    """How long a lease ran and what it cost, its overrun included."""
    cost, hold, past = str(whole.cost), str(lease.hold), lease.overrun
    if past is None:
        return reason("audit.settled", seconds=whole.seconds, cost=cost, hold=hold)
    if lease.replaced or lease.taken:
        return reason(
            "audit.settled.overrun-or-replaced",
            seconds=whole.seconds,
            past=past.seconds,
            cost=cost,
            hold=hold,
        )
    return reason("audit.settled.overrun", seconds=whole.seconds, past=past.seconds, cost=cost, hold=hold)
