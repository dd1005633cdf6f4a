"""The guard: compares what a pool's leases justify with what really runs, and says what is wrong.

Level-triggered and pure: a sweep's facts give breaches, each with its rule, its reason and what is to
be done. It may shrink, never grow, and never takes a node that a lease justifies. Doing it is left to
lamplighter/application/guard/acts.py; in watch mode a breach is said and nothing is done.

To add a rule: name it in breach.py (`Rule`, and an `Action` where none fits), write it as a function from
`PoolFacts` to breaches in the file of its family beside this one and put it into RULES below, in order of urgency.
What it has to know and PoolFacts has not is a new field there, with a default that means "not asked", read in
application/guard/facts.py only for pools where the answer can matter. A new action gets a function in
application/guard/acts.py. Then a line in docs/reference/operation/guard-rules.md, and in docs/alarms.py what to do.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.budget import reached
from lamplighter.domain.guard.cluster import claims, unprotected
from lamplighter.domain.guard.curfew import curfew
from lamplighter.domain.guard.experiments import experiments
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.failsafe import failsafe
from lamplighter.domain.guard.leak import leak
from lamplighter.domain.guard.leases import idle, too_long
from lamplighter.domain.guard.nodes import leases_past_their_end, shortfall, strays, surplus
from lamplighter.domain.guard.runs import closings, openings
from lamplighter.domain.guard.sizes import sizes

GuardRule = Callable[[PoolFacts], Iterator[Breach]]

RULES: tuple[GuardRule, ...] = (
    claims,
    experiments,
    leases_past_their_end,
    surplus,
    strays,
    failsafe,
    curfew,
    too_long,
    idle,
    reached,
    openings,
    closings,
    sizes,
    shortfall,
    unprotected,
    leak,
)
"""Every rule, most urgent first."""
OURS = frozenset(
    {
        Action.PAGE,
        Action.RECOVER,
        Action.REARM,
        Action.DISARM,
        Action.NOTE,
        Action.PROTECT,
        Action.RESTORE,
        Action.SWITCH_CURFEW,
    }
)
"""What is done in watch mode too: a lease there needs its failsafe, and no node is touched."""
OF_LEASES = frozenset({Rule.LEASE_PAST_ITS_END, Rule.OPENING_ABANDONED, Rule.CLOSING_ABANDONED})
"""Ending a lease is ours on a watched pool too: we opened it, and its nodes came with it."""


def sweep(facts: PoolFacts) -> tuple[Breach, ...]:
    """Everything that is wrong with the pool, most urgent first."""
    return tuple(breach for rule in RULES for breach in judge(rule, facts))


def judge(rule: GuardRule, facts: PoolFacts) -> tuple[Breach, ...]:
    """What is wrong with the pool by one rule."""
    return tuple(breach if facts.acting else _only_said(breach, facts) for breach in rule(facts))


def _only_said(breach: Breach, facts: PoolFacts) -> Breach:
    if breach.action in OURS or breach.action is Action.SAY:
        return breach
    if breach.rule in OF_LEASES and facts.claimed_by is None:
        return breach
    why = "watching only" if facts.claimed_by is None else f"lab {facts.claimed_by} claims it too"
    return replace(
        breach,
        reason=f"{breach.reason}; {why}, so nothing is done (would {breach.action.value})",
        action=Action.SAY,
    )
