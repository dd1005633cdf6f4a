"""Step FallBack, and a lease that moves: a pool without capacity gives its lease to a fallback pool.

The other pool grants it like any other lease, with its own budget, failsafe and bar (granting.py). The same write
closes the lease here. domain/granting/fallback.py says when that is right.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application import environment
from lamplighter.application.leases.granting import admitted
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.run import pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.granting import fallback
from lamplighter.domain.granting.fallback import FallbackDecision, FallbackStep
from lamplighter.domain.granting.grant import GrantDecision
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.schedule import Start, start_name
from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import reason


def fall_back(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Step FallBack: moves a lease without a node to the first fallback pool that takes it, or says why none does.

    Returns `{"moved", "step", "pool", "reason"}`. Called again after the lease has moved, it starts what is missing.
    """
    pool, granted = pool_of(run, lease_services.capacity.lab), result(run, "Admit").get("lease")
    named = str(granted["id"]) if isinstance(granted, Mapping) else ""
    lease = lease_services.ledger.lease(pool, named)
    if lease is None:
        decided = FallbackDecision(FallbackStep.STAY, reason("lease.state.unknown"))
    elif lease.moved_to is not None:
        to = lease.moved_to.pool
        decided = FallbackDecision(FallbackStep.MOVE, fallback.moved_to(lease, to), to)
        # A button has a run of its own.
        if lease_services.ledger.command(to, fallback.command(lease, to, lease_services.now()).id):
            _move(lease, to, lease_services)
    else:
        decided = _decide(lease, lease_services)
    before = read(result(run, "FallBack").get("reason"))
    if (
        lease is not None
        and decided.step in {FallbackStep.ASK, FallbackStep.NOTHING}
        and not fallback.alike(decided.reason, before)
    ):
        what = reason("audit.fallback", lease=lease.called())
        lease_services.ledger.append_audit(
            Entry(
                lease_services.now(), pool, "fallback", "leases", what, decided.reason, lease.id, lease.nodes
            )
        )
    return {
        "moved": decided.step is FallbackStep.MOVE,
        "step": decided.step.value,
        "pool": decided.pool,
        "reason": document(decided.reason),
    }


def _decide(lease: Lease, lease_services: LeaseServices) -> FallbackDecision:
    from lamplighter.application.leases.outlook import outlook  # noqa: PLC0415 -- most leases have their nodes

    ledger, now = lease_services.ledger, lease_services.now()
    lab = environment.as_kept(lease_services.capacity.lab, ledger)
    answers = {
        other: outlook(other, ledger, lab, now).opening(fallback.command(lease, other, now))
        for other in fallback.chain(lab, lease.pool)
    }
    while True:
        decided = fallback.decide(lease, [*answers.items()], now, ask=lab.pools[lease.pool].fallback_ask)
        if decided.step is not FallbackStep.MOVE or decided.pool is None:
            return decided
        refusal = _move(lease, decided.pool, lease_services)
        if refusal is None:
            return decided
        answers[decided.pool] = refusal


def _move(lease: Lease, pool: str, lease_services: LeaseServices) -> GrantDecision | None:
    """Opens the lease's place on another pool; the refusal, if more speaks against it than the outlook knows."""
    command = fallback.command(lease, pool, lease_services.now())
    answer = admitted(command, lease_services)
    if answer["outcome"] != "granted":
        return GrantDecision("refused", read(answer["reason"]))
    open_lab = lease_services.workflow_arns.open_lab
    Workflows().start(Start(open_lab, start_name(command.id), command))
    return None
