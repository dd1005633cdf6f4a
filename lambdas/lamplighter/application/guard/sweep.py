"""A sweep: the guard judges every pool and acts on each breach, every five minutes and on AWS's events.

An event only starts a sweep. The sweep reads everything itself and believes nothing that the event says.
"""

import logging
from dataclasses import replace
from datetime import timedelta

from lamplighter.application import metrics
from lamplighter.application.capacity.reservations import note_reservation
from lamplighter.application.failures import going_on
from lamplighter.application.guard.acts import act
from lamplighter.application.guard.controllers import found_faults
from lamplighter.application.guard.dead_letters import page_dead_letters
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.money import count
from lamplighter.application.guard.overrides import give_back_forgotten
from lamplighter.application.guard.proof import end_drains
from lamplighter.application.guard.schedules import reconcile
from lamplighter.application.guard.services import GuardServices, gather_lab
from lamplighter.application.guard.stirs import stir
from lamplighter.application.guard.unsent_pages import send_again
from lamplighter.application.metrics import Metric
from lamplighter.domain.capacity.evidence import ENDS_WITHIN
from lamplighter.domain.guard.breach import Breach
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import RULES, judge
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.document import document
from lamplighter.values.instant import clock_time

_logger = logging.getLogger(__name__)


PLANNED_WITHIN = timedelta(hours=3)
"""The planner runs every hour, and plans 36 of them."""


def sweep_all(guard_services: GuardServices) -> dict[str, object]:
    """One sweep of all pools. A failure in one pool or rule does not stop the others."""
    lab_facts = gather_lab(guard_services)
    breaches: list[dict[str, object]] = []
    leases: dict[str, tuple[Lease, ...]] = {}
    failures = list(lab_facts.failures)
    with going_on(failures, "Karpenter"):
        lab_facts = replace(lab_facts, controller_faults=found_faults(guard_services))
    for pool in guard_services.capacity.lab.pools:
        with going_on(failures, f"pool {pool}"):
            _read_reservation(guard_services, pool)
            facts = gather(guard_services, pool, lab_facts)
            leases[pool] = facts.leases
            breaches += _put_right(guard_services, facts, failures)
            stir(guard_services, facts, failures)
            send_again(guard_services, facts)
    with going_on(failures, "schedules"):
        reconcile(guard_services, lab_facts, leases)
    with going_on(failures, "GPU settings"):
        give_back_forgotten(guard_services, leases)
    with going_on(failures, "dead letters"):
        page_dead_letters(guard_services)
    failures += guard_services.unread
    if failures:
        raise OutsideFailed("; ".join(failures))
    if _is_planned(guard_services):
        guard_services.heartbeat()
    return {"breaches": breaches}


def _read_reservation(guard_services: GuardServices, pool: str) -> None:
    """Read it at every sweep. After a change the planner plans the windows anew and moves the ends of leases."""
    if guard_services.capacity.lab.pools[pool].reservation is None:
        return
    with guard_services.reading(f"pool {pool}, reservation"):
        if note_reservation(guard_services.capacity, pool, guard_services.reservations(), "guard"):
            guard_services.wake_planner()


def _is_planned(guard_services: GuardServices) -> bool:
    """Whether the planner ran lately; where it did not, the sweep sends no heartbeat."""
    planned = guard_services.capacity.ledger.planned_at()
    if planned is not None and guard_services.capacity.now() - planned < PLANNED_WITHIN:
        return True
    _logger.error("the planner last ran at %s", clock_time(planned) if planned else "no time")
    return False


def _put_right(
    guard_services: GuardServices, facts: PoolFacts, failures: list[str]
) -> list[dict[str, object]]:
    """Act on each breach by itself: one that cannot be corrected now is left to the next sweep."""
    done_about: list[dict[str, object]] = []
    breaches: list[Breach] = []
    for rule in RULES:
        with going_on(failures, f"pool {facts.pool}, rule {rule.__name__}"):
            breaches += judge(rule, facts)
    for breach in breaches:
        done = False
        with going_on(failures, f"pool {facts.pool}, {breach.rule.value}"):
            try:
                done = act(guard_services, facts, breach)
            except TryLater as later:
                _logger.info("the next sweep sees to %s: %s", breach.rule.value, later)
        done_about.append(
            {
                "pool": facts.pool,
                "rule": breach.rule.value,
                "action": breach.action.value,
                "reason": document(breach.reason),
                "done": done,
            }
        )
    if facts.acting:
        with going_on(failures, f"pool {facts.pool}, draining"):
            only = None if not facts.target.nodes else _past_all_grace(guard_services, facts)
            end_drains(guard_services, facts.pool, facts.seen, only)
    if done_about:
        metrics.count(Metric.BREACHES, len(done_about), guard_services.capacity.lab.name, pool=facts.pool)
    _count(guard_services, facts, failures)
    return done_about


def _past_all_grace(guard_services: GuardServices, facts: PoolFacts) -> list[str]:
    """Instances beside leased ones whose claims were deleted so long ago that no pod on them has time left.

    Pods bring and leave the nodes of a dynamic NodePool: there they may take their time. Nodes of another type than the
    leases were granted for leave because the guard removed them.
    """
    others = [each.id for each in facts.of_other_types]
    if facts.seen.dynamic:
        return others
    time = guard_services.capacity.lab.pools[facts.pool].last_grace + ENDS_WITHIN
    past = [claim.instance for claim in facts.seen.claims if claim.left and facts.now - claim.left >= time]
    return past + others


def _count(guard_services: GuardServices, facts: PoolFacts, failures: list[str]) -> None:
    """Count money last, so that counting never delays a close."""
    with going_on(failures, f"pool {facts.pool}, counting"):
        count(guard_services.lease_services, facts.pool, facts.leases, facts.seen, facts.now)
