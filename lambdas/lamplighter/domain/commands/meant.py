"""Which lease a person means by a pool, by an id or by nothing; the same in a shell and in Slack.

Without an id a person means a running lease. A lease that was granted ahead needs its id.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.errors import BadInput, Refused
from lamplighter.reasons.reason import Said, reason


def lease_meant(
    what: str | None,
    leases: Iterable[Lease],
    pools: Collection[str],
    verb: str,
    *,
    now: datetime,
    closing: bool = False,
    or_else: Said = "",
) -> Lease:
    """The lease with that id, or the only running lease on the pool or in the lab.

    With `closing` also a lease that is closing. Raises BadInput for an unknown word, and if several leases run;
    Refused if none runs. `or_else` is more advice for several leases.
    """
    known = [lease for lease in leases if lease.granted or (closing and lease.state is LeaseState.CLOSING)]
    by_id = next((lease for lease in known if lease.id == what), None)
    if by_id is not None:
        return by_id
    if what is not None and what not in pools:
        leases_there = _named(known) or reason("command.none")
        raise BadInput(
            reason("command.no-pool-nor-lease", word=what[:80], pools=", ".join(pools), leases=leases_there)
        )
    here = [lease for lease in known if what in (None, lease.pool)]
    running = [lease for lease in here if lease.opens <= now]
    if len(running) == 1:
        return running[0]
    where = reason("command.on-pool", pool=what) if what else reason("command.in-lab")
    if running:
        several = reason("command.several-leases", where=where, leases=_named(running))
        raise BadInput(reason("command.or-else", reason=several, advice=or_else) if or_else else several)
    if here:
        raise Refused(reason("command.lease-ahead", verb=verb, where=where, leases=_named(here)))
    raise Refused(reason("command.no-lease", verb=verb, where=where))


def pool_meant(named: str | None, pools: Sequence[str]) -> str:
    """The named pool, or the only one. Raises BadInput for an unknown pool, or if several exist and none is named."""
    if named is None:
        if len(pools) == 1:
            return pools[0]
        raise BadInput(reason("command.name-a-pool", count=len(pools), pools=", ".join(pools)))
    if named not in pools:
        raise BadInput(reason("command.no-such-pool", pool=named[:80], pools=", ".join(pools)))
    return named


def window_meant(named: str, windows: Sequence[str]) -> str:
    """The window of that name. Raises BadInput if the lab has no such window."""
    if named not in windows:
        if not windows:
            raise BadInput(reason("command.no-windows", window=named[:80]))
        raise BadInput(reason("command.no-such-window", window=named[:80], windows=", ".join(windows)))
    return named


def _named(leases: list[Lease]) -> str:
    return ", ".join(f"{lease.id} ({lease.owner})" for lease in leases)
