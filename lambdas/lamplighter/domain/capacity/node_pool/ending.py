"""How long the end of a NodeClaim may take, and when the lab limits it.

A claim ends when its pods have left, or when its grace is over: `terminationGracePeriod` of its NodePool. Without one,
Karpenter waits for ever. EKS Auto Mode then gives the claim 24 hours
(https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html, Termination Grace Period).
"""

from datetime import datetime, timedelta

from lamplighter.domain.capacity.evidence import Claim

LONGEST = timedelta(minutes=25)
"""The failsafe ends instances past Kubernetes half an hour after a lease, whatever a pod was promised."""
GIVEN_BY_AUTO_MODE = timedelta(hours=24)
"""The grace of a claim whose NodePool says none."""


def limit(claim: Claim, longest: timedelta, now: datetime) -> datetime | None:
    """The limit that a claim needs when it is deleted; None where its own is no later.

    A limit that stands counts more than the grace: the controller sets none beside it.
    """
    latest = now + longest
    in_time = claim.grace is not None and claim.grace <= longest
    if claim.ends_at is not None:
        in_time = claim.ends_at <= latest
    return None if in_time else latest
