"""Removes single nodes: those of a type that no lease was granted for, and leased Spot nodes that AWS takes.

domain/guard/other_types.py and spot.py choose them. In the place of a Spot node another one is started and proven, or
the lease goes on with fewer. Each step may run again: a node that leaves is not removed twice, a run has one name, and
the lease records the node last, with the notice.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.capacity.sizes import still_writing
from lamplighter.application.guard.services import GuardServices
from lamplighter.clock import sleep
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing import holds
from lamplighter.domain.capacity.evidence import SIZES, Part
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.granting.handing_on import proof_run
from lamplighter.domain.guard import announcements
from lamplighter.domain.guard.breach import Breach, GuardAction
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import LamplighterError, TryLater
from lamplighter.reasons.reason import reason

WARNING = "EC2 Spot Instance Interruption Warning"
ATTEMPTS, PAUSE_SECONDS = 5, 2.0
"""Within the two minutes: the pool may have another writer for seconds."""
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")


def is_of_others(event: Mapping[str, object], guard_services: GuardServices) -> bool:
    """Whether an event is EC2's warning about an instance that no Spot pool has. EC2 tells of all of the account."""
    if event.get("detail-type") != WARNING:
        return False
    detail = event.get("detail")
    instance = detail.get("instance-id") if isinstance(detail, Mapping) else None
    if not isinstance(instance, str) or _INSTANCE.fullmatch(instance) is None:
        return True
    capacity = guard_services.capacity
    try:
        return not any(
            one.id == instance
            for pool in capacity.lab.spot_pools
            for one in capacity.see(pool, {Part.INSTANCES}).instances
        )
    except LamplighterError:
        return False


def give_up(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Do it, and tell it in the same write; False where it was done before, or the lease is over."""
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(PAUSE_SECONDS)
        try:
            done = _give_up(guard_services, facts.pool, breach)
        except (Conflict, TryLater):
            continue
        if done:
            guard_services.notify(facts.pool, announcements.of_taken(facts.pool, breach))
        return done
    raise TryLater(reason("lease.pool-changes", pool=facts.pool))


def _give_up(guard_services: GuardServices, pool: str, breach: Breach) -> bool:
    capacity, fewer = guard_services.capacity, breach.action is GuardAction.GO_ON_WITH_FEWER
    with capacity.ledger.writing(pool, guard_services.holder, capacity.now()) as fence:
        lease = capacity.ledger.lease(pool, breach.lease or "")
        if lease is None or not lease.in_force(capacity.now()) or {*breach.instances} & {*lease.taken}:
            return False
        if fewer and len(breach.instances) >= lease.wanted:
            return False
        seen = capacity.see(pool, SIZES)
        still_writing(capacity, fence)
        if seen.controller is not None:
            why = Removal.FEWER if fewer else Removal.REPLACED
            capacity.of(pool).remove(pool, breach.instances, why, seen)
        if not fewer:
            name, state = proof_run(lease, breach.instances, breach.reason, capacity.now())
            guard_services.workflows.start_with(guard_services.open_lab, name, json.dumps(state))
        _record(guard_services, lease, breach, breach.instances if fewer else ())
    return True


def _record(guard_services: GuardServices, lease: Lease, breach: Breach, without: Sequence[str]) -> None:
    services, ledger = guard_services.lease_services, guard_services.capacity.ledger
    terms, now = services.terms(lease.pool), services.now()
    after = holds.fewer(lease, len(without), terms, now) if without else lease
    said = announcements.of_taken(lease.pool, breach)
    ledger.rehold(
        lease,
        replace(after, taken=(*lease.taken, *breach.instances)),
        pool=ledger.pool(lease.pool),
        budget=ledger.budget(lease.period, terms.budget.currency),
        why=Entry(
            at=now,
            pool=lease.pool,
            kind="announced",
            who="guard",
            what=said.subject,
            why=breach.reason,
            lease=lease.id,
            nodes=after.wanted,
            details={
                "notice": said.kind,
                "rule": breach.rule.value,
                "action": breach.action.value,
                "instances": ",".join(breach.instances),
            },
        ),
    )


def remove(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """As the only writer of the pool, lower its size by these nodes: a node in their place would be of the same type.

    Where pods bring the nodes, the size is only a limit and stays: the leases still need it.
    """
    capacity, pool = guard_services.capacity, facts.pool
    with capacity.ledger.writing(pool, guard_services.holder, capacity.now()) as fence:
        seen = capacity.see(pool, SIZES)
        listed = {member.instance for member in seen.members}
        why = Removal.REPLACED if seen.dynamic else Removal.FEWER
        still_writing(capacity, fence)
        for reason, instances in (
            (why, [each for each in breach.instances if each in listed]),
            (Removal.STRAY, [each for each in breach.instances if each not in listed]),
        ):
            if instances and seen.controller is not None:
                capacity.of(pool).remove(pool, instances, reason, seen)
    return True
