"""How far the NodeClaims of a lease are, for people to see. No decision uses it: a failure is only logged."""

import logging
from collections.abc import Mapping

from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.run import Run
from lamplighter.errors import LamplighterError
from lamplighter.lab.model import Lab
from lamplighter.values import instant

_logger = logging.getLogger(__name__)


def note_claims(run: Run, lab: Lab, connection: Connection) -> None:
    """Note the stages of the lease's claims; nothing, and no call, for a pool whose kind has none."""
    admitted = run.result("Admit").get("lease")
    if not lab.pools[run.pool].has("claims") or not isinstance(admitted, Mapping):
        return
    # Loaded only for a pool with claims.
    from lamplighter.adapters.capacity import kinds  # noqa: PLC0415
    from lamplighter.domain.leases.claim_stages import claim_stages  # noqa: PLC0415

    try:
        claims = kinds.claims(lab, run.pool, connection)
    except LamplighterError as error:
        _logger.warning("how far the claims for %s are is not noted: %s", run.lease, error)
        return
    opens, nodes = instant.read(str(admitted["opens"])), int(str(admitted["nodes"]))
    run.note_claims(claim_stages(claims, opens, nodes))
