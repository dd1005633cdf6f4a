"""The sizes of a pool: the guard puts back what somebody changed of one that the lab created, and reports the rest."""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.capacity.evidence import ANY_NUMBER, Seen
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts, waited_for
from lamplighter.reasons.reason import Reason, Sentences, Value, reason

DEPLOY_TAKES = timedelta(minutes=10)
"""A deploy changes the capacity first and tells the guard then. A larger maximum alone starts nothing."""
FORGOTTEN_AFTER = timedelta(minutes=30)


def sizes(facts: PoolFacts) -> Iterator[Breach]:
    """A minimum that would start nodes, another maximum than the lab's, or a limit that somebody wrote over it."""
    seen = facts.seen
    if seen.raised_by is not None and seen.exists and facts.staying <= facts.target.nodes:
        # No node came of it: the launch bar holds, whatever the limit is.
        yield Breach(Rule.SIZES_CHANGED, seen.raised_by, GuardAction.SAY)
    if not facts.ours or not seen.exists or waited_for(facts):
        return
    other_maximum = seen.maximum != facts.max_nodes and seen.ordered <= facts.max_nodes
    if seen.minimum > 0:
        yield Breach(
            Rule.SIZES_CHANGED,
            _with_minimum(facts, seen, other_maximum=other_maximum),
            GuardAction.RESTORE_SIZES,
        )
    elif other_maximum:
        noted = facts.last_reported(Rule.SIZES_CHANGED, GuardAction.NOTE)
        changed = reason(
            "guard.sizes.maximum", pool=facts.pool, maximum=_shown(seen.maximum), most=facts.max_nodes
        )
        if noted is None or facts.now - noted >= FORGOTTEN_AFTER:
            may_be_a_deploy = Sentences((changed, reason("guard.sizes.deploy")))
            yield Breach(Rule.SIZES_CHANGED, may_be_a_deploy, GuardAction.NOTE)
        elif facts.now - noted >= DEPLOY_TAKES:
            yield Breach(Rule.SIZES_CHANGED, changed, GuardAction.RESTORE_SIZES)


def _with_minimum(facts: PoolFacts, seen: Seen, *, other_maximum: bool) -> Reason:
    if not other_maximum:
        return reason("guard.sizes.minimum", pool=facts.pool, minimum=seen.minimum)
    return reason(
        "guard.sizes.both",
        pool=facts.pool,
        minimum=seen.minimum,
        maximum=_shown(seen.maximum),
        most=facts.max_nodes,
    )


def _shown(maximum: int) -> Value:
    return maximum if maximum < ANY_NUMBER else reason("guard.raised.no-limit")
