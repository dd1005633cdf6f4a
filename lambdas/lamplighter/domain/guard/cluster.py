"""Others in the cluster: a lab that claims the pool, and an autoscaler that would remove its nodes."""

from collections.abc import Iterator

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.reasons.reason import reason


def claims(facts: PoolFacts) -> Iterator[Breach]:
    """The claim on the pool's capacity names another lab: the guard does not fight one that took the pool over."""
    if facts.other_claim is not None:
        code = "guard.second-claim" if facts.taken_over_by else "guard.false-claim"
        yield Breach(
            Rule.SECOND_CLAIM, reason(code, lab=facts.other_claim.lab, pool=facts.pool), GuardAction.SAY
        )


def unprotected(facts: PoolFacts) -> Iterator[Breach]:
    """Leased nodes without the annotation that keeps autoscalers away."""
    if facts.unprotected and facts.staying <= facts.target.nodes:
        yield Breach(
            Rule.NODE_UNPROTECTED,
            reason("guard.unprotected", pool=facts.pool, names=facts.unprotected),
            GuardAction.PROTECT,
        )
