"""The deploy mark: a deploy that changes a pool's capacity and the leases of the pool exclude each other.

The deploy sets the mark before it reads the leases. A step that raises a size reads the mark after its lease was
granted (sizes.py). So one of the two always sees the other.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum

from lamplighter import clock
from lamplighter.adapters.aws.calls import error_code
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.pool import DeployMark
from lamplighter.errors import LamplighterError, OutsideFailed, Refused
from lamplighter.reasons.reason import Value, reason

_logger = logging.getLogger(__name__)

WRITTEN_WITHIN = timedelta(minutes=15)
"""From the mark to the change CloudFormation takes a minute or two; replacing an empty group takes a few more."""


class Write(StrEnum):
    """How a deploy changes a pool."""

    CHANGE = "change"
    TAKE_AWAY = "take away"


def hold_still(pool: str, write: Write) -> None:
    """From now on nobody may raise the pool. Raises Refused, and changes nothing, while a lease holds it.

    A pool that an earlier step or the way back finds marked was empty then, and still is.
    """
    try:
        with _if_there_is_a_ledger():
            if not marked(pool):
                ledger = _ledger()
                _refuse_if_held(ledger.leases(pool), write)
                ledger.mark_deploy(pool, DeployMark(clock.now() + WRITTEN_WITHIN, empty=True))
    except Refused:
        let_go(pool)
        raise


def marked(pool: str) -> bool:
    """Sets or renews the pool's mark; returns whether no lease has had a node since it was first set."""
    ledger, now = _ledger(), clock.now()
    before = ledger.deploy_mark(pool)
    empty = before is not None and before.stands(now) and before.empty
    ledger.mark_deploy(pool, DeployMark(now + WRITTEN_WITHIN, empty=empty))
    return empty


def justified(pool: str) -> int:
    """The nodes that leases justify and whose order may be under way. From now on nobody may raise the pool."""
    from lamplighter.application.capacity.services import deployed  # noqa: PLC0415 -- brings the lab's model

    with _if_there_is_a_ledger():
        return 0 if marked(pool) else deployed().target(pool, None).nodes
    return 0


def let_go(pool: str) -> None:
    """Removes the mark, so that waiting steps continue. If this fails, the mark ends by itself."""
    try:
        _ledger().end_deploy(pool)
    except LamplighterError as error:
        if not (isinstance(error, OutsideFailed) and _is_no_ledger(error)):
            _logger.warning("the mark of pool %s stands until it is over: %s", pool, error)


def _refuse_if_held(leases: list[Lease], write: Write) -> None:
    # A lease that is granted for later can wait for a change, but not for the removal of its pool.
    holding = [lease for lease in leases if _holds(lease) or (write is Write.TAKE_AWAY and lease.granted)]
    if holding:
        last = max(holding, key=lambda lease: lease.closes)
        held: dict[str, Value] = {
            "pool": last.pool,
            "lease": last.called(),
            "id": last.id,
            "until": last.closes,
        }
        if write is Write.TAKE_AWAY:
            raise Refused(reason("deploy.pool-held.removed", **held))
        raise Refused(reason("deploy.pool-held.changed", **held))


def refuse_change(pool: str) -> None:
    """Raises Refused while a lease holds the pool. It sets no mark; the gate checks again."""
    with _if_there_is_a_ledger():
        _refuse_if_held(_ledger().leases(pool), Write.CHANGE)


def refuse_fewer(pool: str, most: int) -> None:
    """Raises Refused if at any instant granted leases have more nodes than `most`."""
    now, leases = clock.now(), list[Lease]()
    with _if_there_is_a_ledger():
        leases = _ledger().leases(pool)
    for at in sorted({now, *(lease.opens for lease in leases if lease.opens > now)}):
        there = [lease for lease in leases if lease.in_force(at)]
        have = sum(lease.nodes for lease in there)
        if have > most:
            last = max(there, key=lambda lease: lease.closes)
            raise Refused(
                reason(
                    "deploy.too-few-nodes",
                    pool=pool,
                    most=most,
                    nodes=have,
                    lease=last.called(),
                    id=last.id,
                    until=last.closes,
                )
            )


def _holds(lease: Lease) -> bool:
    return lease.in_force(clock.now()) or lease.state is LeaseState.CLOSING


@contextmanager
def _if_there_is_a_ledger() -> Iterator[None]:
    """At a first deploy there is no ledger and no lease: ignores the missing table."""
    try:
        yield
    except OutsideFailed as error:
        if not _is_no_ledger(error):
            raise


def _is_no_ledger(error: OutsideFailed) -> bool:
    return (
        isinstance(error.__cause__, Exception) and error_code(error.__cause__) == "ResourceNotFoundException"
    )


def _ledger() -> Ledger:
    return Ledger(ENVIRONMENT.ledger_table)
