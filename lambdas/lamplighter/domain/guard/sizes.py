"""The sizes of a pool we own: what somebody changed behind our back is put back."""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts, waited_for
from lamplighter.domain.pool.evidence import NodeGroup

DEPLOY_TAKES = timedelta(minutes=10)
"""A deploy changes the node group first and tells the guard then; a maximum by itself starts nothing."""
FORGOTTEN_AFTER = timedelta(minutes=30)


def sizes(facts: PoolFacts) -> Iterator[Breach]:
    """A minimum that would start nodes by itself, or another maximum than the lab's."""
    nodegroup = facts.nodegroup
    if not facts.ours or nodegroup is None or waited_for(facts):
        return
    other_maximum = nodegroup.maximum != facts.max_nodes and nodegroup.desired <= facts.max_nodes
    if nodegroup.minimum > 0:
        yield Breach(Rule.SIZES_CHANGED, _said(facts, nodegroup, maximum=other_maximum), Action.RESTORE_SIZES)
    elif other_maximum:
        noted = facts.last_said(Rule.SIZES_CHANGED, Action.NOTE)
        reason = _said(facts, nodegroup, maximum=True)
        if noted is None or facts.now - noted >= FORGOTTEN_AFTER:
            yield Breach(Rule.SIZES_CHANGED, f"{reason}; a deploy may be about to explain it", Action.NOTE)
        elif facts.now - noted >= DEPLOY_TAKES:
            yield Breach(Rule.SIZES_CHANGED, reason, Action.RESTORE_SIZES)


def _said(facts: PoolFacts, nodegroup: NodeGroup, *, maximum: bool) -> str:
    drift = []
    if nodegroup.minimum > 0:
        drift.append(f"minimum {nodegroup.minimum} instead of 0")
    if maximum:
        drift.append(f"maximum {nodegroup.maximum} instead of {facts.max_nodes}")
    return f"somebody changed the sizes of pool {facts.pool}: {' and '.join(drift)}"
