"""Refuses a deploy that changes the currency of the budget while amounts of the period are in another currency.

Amounts of two currencies are never added, so such a lab could neither grant nor settle.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.domain.money.money import period_of
from lamplighter.errors import Refused
from lamplighter.reasons.reason import reason
from lamplighter.values import zones

_PERIODS = {
    "day": reason("money.per.day"),
    "week": reason("money.per.week"),
    "month": reason("money.per.month"),
}
COUNTED_WITHIN = timedelta(minutes=30)
"""The guard counts node time a quarter of an hour later, in a sweep of every five minutes."""


def refuse_another(pools: Iterable[str], *asked: Mapping[str, str]) -> None:
    """Raises Refused while the present period or a lease has money in another currency than the first of `asked`.

    `asked` are `Currency`, `Period` and `TimeZone` as the lab has them now, and as it had them before.
    """
    ledger, now, currency = Ledger(ENVIRONMENT.ledger_table), clock.now(), asked[0]["Currency"]
    for each in asked:
        zone = zones.zone(each["TimeZone"])
        period = period_of(now, each["Period"], zone)
        if now - period.begins < COUNTED_WITHIN:
            before = period_of(period.begins - timedelta(seconds=1), each["Period"], zone)
            last = ledger.budget(before.key, currency).used
            if last.currency != currency:
                raise Refused(
                    reason(
                        "deploy.currency.last-minutes",
                        currency=currency,
                        per=_PERIODS[each["Period"]],
                        period=before.key,
                        other=last.currency,
                        after=period.begins + COUNTED_WITHIN,
                    )
                )
        used = ledger.budget(period.key, currency).used
        if used.currency != currency:
            raise Refused(
                reason(
                    "deploy.currency.used",
                    currency=currency,
                    used=str(used),
                    per=_PERIODS[each["Period"]],
                    period=period.key,
                    after=period.ends,
                )
            )
    for pool in pools:
        unbilled = ledger.pool(pool).unbilled
        if unbilled is not None and unbilled.cost.currency != currency:
            raise Refused(
                reason("deploy.currency.unbilled", currency=currency, cost=str(unbilled.cost), pool=pool)
            )
        for lease in ledger.leases(pool):
            if _counts(lease) and lease.hold.currency != currency:
                raise Refused(
                    reason(
                        "deploy.currency.lease",
                        currency=currency,
                        lease=lease.called(),
                        id=lease.id,
                        pool=pool,
                        other=lease.hold.currency,
                        after=lease.closes,
                    )
                )


def _counts(lease: Lease) -> bool:
    """A planned lease does not count: it is planned anew in the lab's currency."""
    return lease.state not in OVER and lease.state is not LeaseState.PLANNED
