"""What AWS's quotas bound: the pools of a lab, and the failsafe's locks on one role."""

import json
from collections import Counter
from collections.abc import Iterator

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.lab.model import Lab
from lamplighter.labfile.rules.parts import Misfit

MOST_POOLS = 40
"""With the node groups that are always on. A stack may have 500 resources, and a node group of the lab is eight
(CloudFormation user guide, "Quotas", 2026-11)."""
INLINE = 10_240
"""Characters of a role's inline policies together (IAM user guide, "IAM and AWS STS quotas", 2026-11)."""


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in how much a lab has."""
    groups = len(lab.cluster.node_groups)
    if len(lab.pools) + groups > MOST_POOLS:
        beside = f" and {groups} under cluster.node_groups" if groups else ""
        text = f"are {len(lab.pools)}{beside}, and a lab has at most {MOST_POOLS} together; make two labs of them"
        yield Misfit(("pools",), text, (("cluster", "node_groups"),))
    locks: Counter[str] = Counter()
    for pool in lab.pools_with("launch bar"):
        role = launching_role(lab, pool)
        if role is not None:
            document = lock.document(identity(lab, pool).tags)
            locks[role] += len(json.dumps(document, separators=(",", ":")))
    for role, needed in locks.items():
        if needed > INLINE:
            text = (
                f"need locks of {needed} characters on the role {role}, and IAM takes {INLINE} in inline policies"
                " of a role; write fewer NodePools or shorter names"
            )
            yield Misfit(("pools",), text, (("name",),))
