"""Which lease a person means by a pool, by an id or by nothing: the same typed in a shell and in Slack.

A lease granted ahead is meant by its id alone: what runs now is what people speak of without naming it.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.errors import BadInput, Refused


def lease_meant(
    what: str | None,
    leases: Iterable[Lease],
    pools: Collection[str],
    verb: str,
    *,
    now: datetime,
    closing: bool = False,
    or_else: str = "",
) -> Lease:
    """The lease with that id, or the only one that runs on the pool, or in the lab.

    With `closing` also one that is being closed. Raises BadInput for an unknown word, and where several run;
    Refused where none does.
    """
    known = [lease for lease in leases if lease.granted or (closing and lease.state is LeaseState.CLOSING)]
    by_id = next((lease for lease in known if lease.id == what), None)
    if by_id is not None:
        return by_id
    if what is not None and what not in pools:
        raise BadInput(
            f"'{what[:80]}' is neither a pool nor a lease; pools: {', '.join(pools)}, "
            f"leases: {_named(known) or 'none'}"
        )
    here = [lease for lease in known if what in (None, lease.pool)]
    running = [lease for lease in here if lease.opens <= now]
    where = f" on pool {what}" if what else ""
    if len(running) == 1:
        return running[0]
    if running:
        raise BadInput(f"several leases run{where}, name one of {_named(running)}{or_else}")
    ahead = f"; granted ahead: {_named(here)}" if here else ""
    raise Refused(f"there is no running lease{where} to {verb}{ahead}")


def pool_meant(named: str | None, pools: Sequence[str]) -> str:
    """The named pool, or the only one; BadInput where it is not there, or several are and none is named."""
    if named is None:
        if len(pools) == 1:
            return pools[0]
        raise BadInput(f"POOL: the lab has {len(pools)} pools, name one of {', '.join(pools)}")
    if named not in pools:
        raise BadInput(f"POOL: there is no pool '{named[:80]}', the lab has {', '.join(pools)}")
    return named


def window_meant(named: str, windows: Sequence[str]) -> str:
    """The window of that name; BadInput where the lab has none such."""
    if named not in windows:
        there = f"the lab has {', '.join(windows)}" if windows else "the lab has none"
        raise BadInput(f"WINDOW: there is no window '{named[:80]}', {there}")
    return named


def _named(leases: list[Lease]) -> str:
    return ", ".join(f"{lease.id} ({lease.owner})" for lease in leases)
