"""Which pools may miss what while one call of our code fails. What is not here goes on as if nothing had happened."""

import re
from collections.abc import Sequence

NODE_GROUPS, KARPENTER, AUTO_MODE = "node-group", "karpenter", "auto-mode"
NODE_POOLS = (KARPENTER, AUTO_MODE)
EVERY_KIND = (NODE_GROUPS, *NODE_POOLS)
INSTANCES = "ec2.describe_instances"
Kinds = Sequence[str]
#: By how a call begins: the kinds whose pools may miss the nodes of their leases, and those that the guard may miss.
#: The longest beginning counts.
NEEDED: dict[str, tuple[Kinds, Kinds]] = {
    # Nothing is decided without the ledger, and nothing is ended without knowing what runs.
    "dynamodb.": (EVERY_KIND, EVERY_KIND),
    INSTANCES: (EVERY_KIND, EVERY_KIND),
    "ec2.": ((KARPENTER,), (KARPENTER,)),
    # Without Kubernetes a node group has no proven GPUs, and the guard knows its size all the same.
    "eks.describe_cluster": (EVERY_KIND, NODE_POOLS),
    "kubernetes.": (EVERY_KIND, NODE_POOLS),
    "eks.": ((NODE_GROUPS,), (NODE_GROUPS,)),
    "autoscaling.": ((NODE_GROUPS,), (NODE_GROUPS,)),
    # No pool opens before its failsafe stands.
    "scheduler.": (EVERY_KIND, ()),
    "iam.": (NODE_POOLS, ()),
    "stepfunctions.": (EVERY_KIND, ()),
    "lambda.": (EVERY_KIND, ()),
}
ONLY_SOURCES = frozenset(
    {
        INSTANCES,
        "autoscaling.describe_scaling_activities",
        "kubernetes.GET v1",
        "events.put_events",
        "dynamodb.get_item",
        "dynamodb.query",
    }
)
"""What ran and until when, whether an event was taken, and what was counted, is known by these answers alone."""
LIED_ABOUT = re.compile(r"law (4|8) ")
"""What cannot be true after a false answer of one of them."""
ZERO_ON = re.compile(r"law 7 at .* zero was proven on (\S+) with ")
"""What EC2's list alone says of a NodePool: a list that lacks an instance, and does not say so, proves zero."""


def needed_by(call: str) -> tuple[Kinds, Kinds]:
    """The kinds whose leases need a call, such as `eks.describe_cluster`, and those whose guard needs it."""
    begins = max(filter(call.startswith, NEEDED), key=len, default=None)
    return NEEDED[begins] if begins else ((), ())
