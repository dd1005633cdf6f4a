"""Which lease is meant by `[POOL|LEASE]`, among those of the deployed lab: the same for every verb about one lease."""

from cli.deployment import Deployment
from cli.look_after import known_names
from lamplighter.domain.commands.meant import lease_meant
from lamplighter.domain.leases.lease import OVER, Lease
from lamplighter.reasons.reason import Said


def lease(
    found: Deployment, what: str | None, verb: str, *, closing: bool = False, or_else: Said = ""
) -> Lease:
    """The lease with that id, or the only one that runs; errors as `lease_meant` raises them."""
    known = [each for pool in found.lab.pools for each in found.ledger.leases(pool)]
    known_names.note("leases", [each.id for each in known if each.state not in OVER])
    return lease_meant(what, known, found.lab.pools, verb, now=found.now, closing=closing, or_else=or_else)
