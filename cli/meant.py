"""Which lease a person means by `[POOL|LEASE]`: the same for every verb that is about one lease.

A lease granted ahead is meant by its id alone: what runs now is what people speak of without naming it.
"""

from cli.deployment import Deployment
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.errors import BadInput, Refused


def lease(
    found: Deployment, what: str | None, verb: str, *, closing: bool = False, or_else: str = ""
) -> Lease:
    """The lease with that id, or the only one that runs on the pool, or in the lab.

    With `closing` also one that is being closed. Raises BadInput for an unknown word, and where several run;
    Refused where none does.
    """
    known = [
        lease
        for pool in found.lab.pools
        for lease in found.ledger.leases(pool)
        if lease.granted or (closing and lease.state is LeaseState.CLOSING)
    ]
    by_id = next((lease for lease in known if lease.id == what), None)
    if by_id is not None:
        return by_id
    if what is not None and what not in found.lab.pools:
        raise BadInput(
            f"'{what[:80]}' is neither a pool nor a lease; pools: {', '.join(found.lab.pools)}, "
            f"leases: {_named(known) or 'none'}"
        )
    here = [lease for lease in known if what in (None, lease.pool)]
    running = [lease for lease in here if lease.opens <= found.now]
    where = f" on pool {what}" if what else ""
    if len(running) == 1:
        return running[0]
    if running:
        raise BadInput(f"several leases run{where}, name one of {_named(running)}{or_else}")
    ahead = f"; granted ahead: {_named(here)}" if here else ""
    raise Refused(f"there is no running lease{where} to {verb}{ahead}")


def _named(leases: list[Lease]) -> str:
    return ", ".join(f"{lease.id} ({lease.owner})" for lease in leases)
