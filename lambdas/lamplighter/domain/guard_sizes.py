"""The sizes of a pool we own: what somebody changed behind our back is put back."""

from collections.abc import Iterator

from lamplighter.domain.breach import Action, Breach, Rule
from lamplighter.domain.guard_facts import PoolFacts, waited_for


def sizes(facts: PoolFacts) -> Iterator[Breach]:
    """A minimum that would start nodes by itself, or a maximum beyond the lab's."""
    nodegroup = facts.nodegroup
    if not facts.ours or nodegroup is None or waited_for(facts):
        return
    drift: list[str] = []
    if nodegroup.minimum > 0:
        drift.append(f"minimum {nodegroup.minimum} instead of 0")
    if nodegroup.maximum > facts.max_nodes and nodegroup.desired <= facts.max_nodes:
        drift.append(f"maximum {nodegroup.maximum} instead of {facts.max_nodes}")
    if drift:
        yield Breach(
            Rule.SIZES_CHANGED,
            f"somebody changed the sizes of pool {facts.pool}: {' and '.join(drift)}",
            Action.RESTORE_SIZES,
        )
