"""The controller of NodePools: what is wrong with it, and instances that it was told to end and has not.

Such an instance is ended only for its own sake: somebody has deleted its claim, so no lease counts it any more. A
lease that opens meanwhile has claims of its own.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.node_pool.controller import Health, does_not_run
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.domain.guard.facts import PoolFacts


def controllers(facts: "PoolFacts") -> Iterator[Breach]:
    """Each thing that is wrong with Karpenter. Leased nodes stay; no other starts, and the guard ends those that go."""
    for fault in facts.controller_faults:
        yield Breach(Rule.KARPENTER_NOT_READY, fault, GuardAction.SAY, subject=fault.code)


def not_ended(
    pool: str, instances: Sequence[str], health: Health | None, lease: str | None, *, by_ec2: bool
) -> Breach:
    """Instances that the guard ended in EC2; without `by_ec2` AWS lets nobody do that, and their pods lost their time.

    `health` is None where nobody can tell how the controller is.
    """
    names = tuple(sorted(instances))
    why = (health and does_not_run(health)) or reason("guard.karpenter.slow")
    return Breach(
        Rule.NODE_NOT_ENDED,
        reason("guard.not-ended", pool=pool, instances=names, why=why)
        if by_ec2
        else reason("guard.not-ended.by-nobody", pool=pool, instances=names),
        GuardAction.TERMINATE,
        lease=lease,
        instances=names,
        subject=",".join(names),
    )
