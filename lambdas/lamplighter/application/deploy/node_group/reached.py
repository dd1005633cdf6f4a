"""Whether each adopted node group is no other lab's own, and the lab's roles and rules name its Auto Scaling group."""

from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.application.environment import lab
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason


def all_groups_are_reached() -> None:
    """Fails if another lab's stack creates the node group of an adopted pool: that lab's guard never leaves it.

    Fails also if our roles and rules do not name its Auto Scaling group: it would have half a failsafe.
    """
    for pool, settings in lab().pools.items():
        if settings.existing is None or not settings.has("group"):
            continue
        found = NodeGroups(lab().cluster_name).read(settings.existing)
        if found is not None and found.lab not in {"", lab().name}:
            raise BadInput(
                reason("deploy.group-of-another-lab", pool=pool, group=settings.existing, lab=found.lab)
            )
        if found is not None and found.group and not lab().reaches(pool, found.group):
            raise BadInput(
                reason(
                    "deploy.other-scaling-group",
                    pool=pool,
                    given=settings.auto_scaling_group or reason("deploy.left-out"),
                    group=settings.existing,
                    scaling_group=found.group,
                )
            )
