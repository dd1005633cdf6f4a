"""The schedules of the curfew: on where the guard enforces, off where it only watches, reported where they are missing.

The template creates them, and they run without our code. This rule only switches them to fit the pool's mode.
"""

from collections.abc import Iterator

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.reasons.reason import reason


def curfew(facts: PoolFacts) -> Iterator[Breach]:
    """Somebody changed the curfew of a pool, or the pool's mode changed."""
    missing = tuple(name for name, enabled in facts.curfew.items() if enabled is None)
    if missing:
        yield Breach(
            Rule.CURFEW_WRONG,
            reason("guard.curfew.missing", pool=facts.pool, names=missing),
            GuardAction.SAY,
        )
    wrong = tuple(name for name, enabled in facts.curfew.items() if enabled not in {None, facts.acting})
    if wrong:
        yield Breach(
            Rule.CURFEW_WRONG,
            reason("guard.curfew.off", pool=facts.pool, names=wrong)
            if facts.acting
            else reason("guard.curfew.on", pool=facts.pool, names=wrong),
            GuardAction.SWITCH_CURFEW,
        )
