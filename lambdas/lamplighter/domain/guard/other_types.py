"""Law 4: nodes of a type that no running lease was granted for. No lease pays for them, and the guard removes them.

Without a lease nothing may run, whatever its type: nodes.py has that rule.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.reasons.reason import Reason, first_of, reason


def other_types(facts: PoolFacts) -> Iterator[Breach]:
    """A breach for each such type. Without its controller a node would come back: the guard only pages."""
    stays = {member.instance for member in facts.seen.staying} | {stray.id for stray in facts.strays}
    found = sorted((each.type, each.id) for each in facts.of_other_types if each.id in stays)
    for kind, instances in groupby(found, key=itemgetter(0)):
        ids = tuple(name for _, name in instances)
        yield Breach(
            Rule.OTHER_INSTANCE_TYPE,
            _finding(facts, kind, ids),
            GuardAction.PAGE if facts.seen.controller is None else GuardAction.REMOVE,
            target=facts.target.nodes,
            instances=ids,
            subject=kind,
        )


def _finding(facts: PoolFacts, kind: str, ids: tuple[str, ...]) -> Reason:
    price, named = facts.prices.get(kind), first_of(ids)
    types = tuple(sorted(facts.granted_types))
    if price is None:
        return reason("guard.other-type.unpriced", instances=named, pool=facts.pool, type=kind, types=types)
    return reason(
        "guard.other-type", instances=named, pool=facts.pool, type=kind, price=str(price), types=types
    )
