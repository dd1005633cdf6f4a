"""The curfew's rails: on where the guard acts, off where it only watches, and said where they are gone.

They stand in the template and fire without us; this only keeps them as the pool's mode wants them.
"""

from collections.abc import Iterator

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts


def curfew(facts: PoolFacts) -> Iterator[Breach]:
    """What somebody did to the curfew of a pool, or what arming it changes."""
    missing = [name for name, enabled in facts.curfew.items() if enabled is None]
    if missing:
        yield Breach(
            Rule.CURFEW_WRONG,
            f"the curfew of pool {facts.pool} is not there any more ({', '.join(missing)}): a deploy makes it again",
            Action.SAY,
        )
    wrong = [name for name, enabled in facts.curfew.items() if enabled not in {None, facts.acting}]
    if wrong:
        now, wanted = ("off", "armed") if facts.acting else ("on", "only watched")
        yield Breach(
            Rule.CURFEW_WRONG,
            f"the curfew of pool {facts.pool} was switched {now} ({', '.join(wrong)}), and the pool is {wanted}",
            Action.SWITCH_CURFEW,
        )
