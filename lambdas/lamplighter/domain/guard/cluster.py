"""Others in the cluster: a lab that claims the pool, and an autoscaler that would remove its nodes."""

from collections.abc import Iterator

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.reasons.reason import reason


def claims(facts: PoolFacts) -> Iterator[Breach]:
    """Another lab claims the pool's capacity: the guard reports it and does not fight."""
    if facts.claimed_by is not None:
        yield Breach(
            Rule.SECOND_CLAIM,
            reason("guard.second-claim", lab=facts.claimed_by, pool=facts.pool),
            GuardAction.SAY,
        )


def unprotected(facts: PoolFacts) -> Iterator[Breach]:
    """Leased nodes without the annotation that keeps autoscalers away."""
    if facts.unprotected and facts.staying <= facts.target.nodes:
        yield Breach(
            Rule.NODE_UNPROTECTED,
            reason("guard.unprotected", pool=facts.pool, names=facts.unprotected),
            GuardAction.PROTECT,
        )
