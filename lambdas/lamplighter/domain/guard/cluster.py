"""Others who reach for the pool: another lab that claims it, a Cluster Autoscaler that would take its nodes."""

from collections.abc import Iterator

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.values.counted import counted


def claims(facts: PoolFacts) -> Iterator[Breach]:
    """The claim on the node group names another lab: said, and not fought over."""
    if facts.claimed_by is not None:
        yield Breach(
            Rule.SECOND_CLAIM,
            f"the node group of pool {facts.pool} is claimed by lab {facts.claimed_by} as well: "
            "one of the two has to let go of it",
            Action.SAY,
        )


def unprotected(facts: PoolFacts) -> Iterator[Breach]:
    """Leased nodes that do not say yet that no autoscaler may take them."""
    if facts.unprotected and facts.staying <= facts.target.nodes:
        yield Breach(
            Rule.NODE_UNPROTECTED,
            f"{counted(len(facts.unprotected), 'node')} of pool {facts.pool} would be taken by a Cluster Autoscaler "
            f"when idle: {', '.join(facts.unprotected)}",
            Action.PROTECT,
        )
