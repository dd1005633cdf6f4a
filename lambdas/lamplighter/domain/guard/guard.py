"""The guard: compares what a pool's leases justify with what really runs, and finds what is wrong.

It judges the present state and is pure: a sweep's facts give breaches, each with its rule, its reason and what to do.
It may shrink a pool, never grow it, and never takes a node that a lease justifies. application/guard/acts.py does what
a breach asks for. In watch mode the guard reports a breach and does nothing.

To add a rule: name it in breach.py (`Rule`, and a `GuardAction` where none fits). Write it as a function from
`PoolFacts` to breaches in the file of its family beside this one. Put it into RULES below, in order of urgency.
What it has to know and PoolFacts lacks is a new field there. Its default means "not asked", and
application/guard/facts.py reads it only for pools where the answer can matter. A new action gets a function in
application/guard/acts.py, and each reason a text in data/texts/<language>/guard.json. Then add a line in
docs/reference/operation/guard-rules.md, and in docs/alarms.py what to do.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.budget import reached
from lamplighter.domain.guard.cluster import claims, unprotected
from lamplighter.domain.guard.curfew import curfew
from lamplighter.domain.guard.experiments import experiments
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.failsafe import failsafe
from lamplighter.domain.guard.leak import leak
from lamplighter.domain.guard.leases import idle, too_long
from lamplighter.domain.guard.node_pools.controllers import controllers
from lamplighter.domain.guard.node_pools.interruptions import interruptions
from lamplighter.domain.guard.node_pools.launch_bar import launch_bar
from lamplighter.domain.guard.node_pools.lives import lives
from lamplighter.domain.guard.node_pools.outside import outside
from lamplighter.domain.guard.nodes import leases_past_their_end, shortfall, strays, surplus
from lamplighter.domain.guard.other_types import other_types
from lamplighter.domain.guard.runs import closings, openings
from lamplighter.domain.guard.sizes import sizes
from lamplighter.domain.guard.spot import taken
from lamplighter.reasons.reason import Reason, reason

GuardRule = Callable[[PoolFacts], Iterator[Breach]]

RULES: tuple[GuardRule, ...] = (
    claims,
    taken,
    experiments,
    leases_past_their_end,
    other_types,
    surplus,
    strays,
    failsafe,
    launch_bar,
    curfew,
    too_long,
    idle,
    reached,
    openings,
    closings,
    sizes,
    shortfall,
    controllers,
    outside,
    unprotected,
    interruptions,
    lives,
    leak,
)
"""Every rule, most urgent first."""
ALSO_WHILE_WATCHING = frozenset(
    {
        GuardAction.PAGE,
        GuardAction.RECOVER,
        GuardAction.REARM,
        GuardAction.DISARM,
        GuardAction.NOTE,
        GuardAction.PROTECT,
        GuardAction.RESTORE,
        GuardAction.SWITCH_CURFEW,
        GuardAction.SAY,
    }
)
"""What the guard does in watch mode too: a lease there needs its failsafe, and none of these touches a node."""
OF_LEASES = frozenset(
    {
        Rule.LEASE_PAST_ITS_END,
        Rule.OPENING_ABANDONED,
        Rule.CLOSING_ABANDONED,
        Rule.NODE_INTERRUPTED,
    }
)
"""The guard ends a lease on a watched pool too, and replaces a node that AWS takes from it: the lab opened it, and its
nodes came with it."""
ACTS = {
    GuardAction.CLOSE: reason("guard.act.close"),
    GuardAction.TERMINATE: reason("guard.act.terminate"),
    GuardAction.REMOVE: reason("guard.act.remove"),
    GuardAction.RESTORE_SIZES: reason("guard.act.restore-sizes"),
    GuardAction.SCALE_BACK: reason("guard.act.scale-back"),
    GuardAction.WARN: reason("guard.act.warn"),
    GuardAction.MARK_LEAKED: reason("guard.act.mark-leaked"),
}
"""How a reason names what the guard does not do on a pool that it only watches."""


def sweep(facts: PoolFacts) -> tuple[Breach, ...]:
    """Everything that is wrong with the pool, most urgent first."""
    return tuple(breach for rule in RULES for breach in judge(rule, facts))


def judge(rule: GuardRule, facts: PoolFacts) -> tuple[Breach, ...]:
    """What is wrong with the pool by one rule."""
    return tuple(breach if facts.acting else _only_said(breach, facts) for breach in rule(facts))


def _only_said(breach: Breach, facts: PoolFacts) -> Breach:
    if breach.action in ALSO_WHILE_WATCHING:
        return breach
    if breach.rule in OF_LEASES and facts.taken_over_by is None:
        return breach
    return replace(breach, reason=_why_nothing_is_done(breach, facts), action=GuardAction.SAY)


def _why_nothing_is_done(breach: Breach, facts: PoolFacts) -> Reason:
    action = ACTS.get(breach.action, reason("guard.act.other"))
    if facts.taken_over_by is None and breach.rule is Rule.MORE_NODES_THAN_LEASES:
        # A close orders what the other leases justify: it does not know who added nodes meanwhile.
        ends = facts.target.in_force[0].closes
        return reason("guard.ends-with-a-lease", finding=breach.reason, action=action, at=ends)
    if facts.taken_over_by is None:
        return reason("guard.only-watched", finding=breach.reason, action=action)
    return reason("guard.claimed-too", finding=breach.reason, lab=facts.taken_over_by, action=action)
