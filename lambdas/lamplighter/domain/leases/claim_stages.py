"""The stages of a lease's NodeClaims, from the instants at which their conditions became true.

- claim-launched: the condition Launched. It begins with the creation of the claim.
- claim-registered: Registered, when the node has joined and the controller has labelled it.
- claim-initialized: Initialized, when the node is ready, without startup taints, and offers what the claim requests.
  https://karpenter.sh/docs/concepts/nodeclaims/
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from lamplighter.domain.capacity.evidence import Claim
from lamplighter.domain.leases.progress import ClaimStage, Noted, in_turn

CONDITIONS: Mapping[ClaimStage, str] = {
    ClaimStage.LAUNCHED: "Launched",
    ClaimStage.REGISTERED: "Registered",
    ClaimStage.INITIALIZED: "Initialized",
}


def claim_stages(claims: Iterable[Claim], opens: datetime, most: int) -> dict[ClaimStage, Noted]:
    """The stages of the claims that were created since the lease opened, `most` of them at most.

    Nodes that ran before have nothing to pass. A claim that somebody deleted is replaced by another.
    """
    # Kubernetes keeps whole seconds.
    since = opens.replace(microsecond=0)
    began: dict[str, datetime] = {}
    ends: dict[str, dict[ClaimStage, datetime]] = {}
    for claim in claims:
        if claim.created is None or claim.created < since or claim.leaving:
            continue
        began[claim.name] = claim.created
        ends[claim.name] = {
            stage: claim.stages[condition]
            for stage, condition in CONDITIONS.items()
            if condition in claim.stages
        }
    return in_turn(began, ends, list(ClaimStage), most)
