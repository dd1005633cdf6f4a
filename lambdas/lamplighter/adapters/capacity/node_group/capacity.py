"""The port for node groups: EKS holds the size, an Auto Scaling group starts and ends the instances."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.border import border
from lamplighter.adapters.capacity.node_group.autoscaling import ACTIVITY_PAGES, AutoScaling
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.domain.capacity import kinds
from lamplighter.domain.capacity.calls import TimedCall, timed
from lamplighter.domain.capacity.evidence import NOW, Controller, Make, Part, Seen
from lamplighter.domain.capacity.node_group import off_switch
from lamplighter.domain.capacity.node_group import seen as neutral
from lamplighter.domain.capacity.node_group.evidence import NodeGroup
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.capacity.unlisted import unlisted, unsure
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.domain.capacity.port import Awaited
    from lamplighter.domain.capacity.shortage import Shortage
    from lamplighter.domain.capacity.zero import ZeroProof
    from lamplighter.lab.model import Lab


@border
class NodeGroupCapacity:
    """The node groups of a lab. Each client is made on first use."""

    def __init__(self, lab: "Lab") -> None:
        self._lab = lab

    @cached_property
    def nodegroups(self) -> NodeGroups:
        return NodeGroups(self._lab.cluster_name)

    @cached_property
    def autoscaling(self) -> AutoScaling:
        return AutoScaling()

    @cached_property
    def instances(self) -> Instances:
        return Instances()

    def connect(self, *, instances: bool) -> None:
        """Make the clients of EKS and Auto Scaling now, and with `instances` that of EC2."""
        self.nodegroups, self.autoscaling  # noqa: B018 -- cached_property keeps them
        if instances:
            self.instances.connect()

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        """What EKS, Auto Scaling and EC2 have now, asked in this order."""
        seen = known or Seen(kinds.NODE_GROUP)
        name = self._name(pool)
        node_group: NodeGroup | None = None
        if Part.SIZE in parts or Part.MAKE in parts:
            node_group = self.nodegroups.read(name)
            seen = _with_sizes(seen, node_group)
        if Part.MEMBERS in parts:
            seen = replace(seen, controller=self._group(name, node_group))
        if Part.INSTANCES in parts:
            tags = kinds.identity(self._lab, pool).tags
            found = self.instances.tagged(tags, f"{self._lab.cluster_name}/{name}")
            seen = neutral.with_parked(replace(seen, instances=found))
            if Part.MEMBERS in parts:
                seen = self._with_unlisted(seen)
        if Part.MAKE in parts and node_group is not None:
            seen = replace(seen, make=self._make(node_group))
        if Part.INTERRUPTIONS in parts and self._lab.pools[pool].spot:
            known_ids = [instance.id for instance in seen.instances]
            seen = replace(seen, interruptions=self.instances.taken(known_ids, name))
        if Part.CHANGE in parts:
            update = self.nodegroups.rolling(name)
            seen = replace(seen, change=neutral.replacing(update)) if update else seen
        if Part.LATEST in parts or Part.HISTORY in parts:
            pages = ACTIVITY_PAGES if Part.HISTORY in parts else 1
            seen = self._with_activities(seen, node_group, pages)
        return seen

    def _with_unlisted(self, seen: Seen) -> Seen:
        """The same, with the members that the group's list lacks."""
        group, now = seen.controller, clock.now()
        listed = {each.instance for each in seen.members}
        alone = [
            one
            for one in unlisted(seen.instances, listed, now)
            if group is not None and one.controller == group.name
        ]
        if group is None or not alone:
            return seen
        try:
            members = self.autoscaling.members(group.name, [one.id for one in alone])
        except (OutsideFailed, TryLater):
            return replace(seen, unsure=unsure(alone, now))
        return neutral.with_members(seen, members)

    def bar(self, pool: str, until: datetime) -> None:
        """Nothing: AWS has no bar for a node group. Its size alone starts instances."""

    def order(
        self, pool: str, size: int, seen: Seen, *, maximum: int | None = None, insist: bool = False
    ) -> str | None:
        """Order the size from EKS, or where EKS stays busy, a smaller one from the Auto Scaling group.

        Returns EKS's update id.
        """
        name, group = self._name(pool), seen.controller
        if size and group is not None and group.rebalances and self._lab.pools[pool].spot:
            self.autoscaling.keep_at_risk(group.name)
        if maximum is not None:
            return self.nodegroups.bound(name, maximum, size)
        behind = group is not None and group.size < size
        if group is not None and behind and self._lab.pools[pool].zones[1:]:
            self.autoscaling.keep_zones(group)
        if seen.exists and (seen.ordered != size or seen.minimum > 0 or behind):
            try:
                return self.nodegroups.scale(name, size)
            except TryLater:
                if group is None or size >= group.size or not insist:
                    raise
        if group is not None:
            self.autoscaling.lower(group, size)
        return None

    def remove(
        self,
        pool: str,  # noqa: ARG002 -- the ids tell which instances are meant
        instances: Sequence[str],
        why: Removal,
        seen: Seen,
    ) -> None:
        """Remove instances through their Auto Scaling group, strays through EC2."""
        listed = {member.instance for member in seen.staying}
        staying = [instance for instance in instances if instance in listed]
        match why:
            case Removal.FEWER:
                for instance in staying:
                    self.autoscaling.remove(instance)
            case Removal.REPLACED:
                for instance in staying:
                    self.autoscaling.replace(instance)
            case Removal.STRAY:
                self.instances.terminate(instances)
            case Removal.DRAINED if seen.controller is not None:
                for instance in instances:
                    self.autoscaling.end_drain(seen.controller.name, instance)
            case Removal.DRAINED:
                return

    def troubles(self, pool: str, awaited: "Awaited", seen: Seen) -> "Shortage | None":
        """Why fewer nodes came, by the scaling activities, EKS's update and the group's health."""
        from lamplighter.domain.capacity.node_group.shortage import explain  # noqa: PLC0415 -- only while nodes come

        if not seen.exists:
            return None
        activities = self.autoscaling.activities(seen.controller.name) if seen.controller else ()
        return explain(
            wanted=awaited.wanted,
            have=awaited.have,
            desired=seen.ordered,
            health=seen.health,
            activities=activities,
            update=self.nodegroups.update(self._name(pool), awaited.order) if awaited.order else None,
            ordered=awaited.since,
            now=awaited.now,
        )

    def off_switch(self, pool: str, first: datetime, seen: Seen) -> tuple[TimedCall, ...]:
        """EKS at the first, second and last instant, the Auto Scaling group at the third."""
        name = self._name(pool)
        if seen.controller is None:
            raise TryLater(reason("lease.no-scaling-group", group=name))
        return timed(first, off_switch.calls(self._lab.cluster_name, name, seen.controller.name))

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> "ZeroProof":
        """The proof of this kind."""
        return kinds.zero(seen, at, kubernetes_nodes, justified)

    def _name(self, pool: str) -> str:
        return kinds.identity(self._lab, pool).name

    def _group(self, name: str, node_group: NodeGroup | None) -> Controller | None:
        """The Auto Scaling group behind a node group: the one that EKS names, else the one with EKS's tags."""
        named = node_group.group if node_group else None
        found = self.autoscaling.group(named) if named else None
        return found or self.autoscaling.group_of(self._lab.cluster_name, name)

    def _make(self, node_group: NodeGroup) -> Make:
        types, template = node_group.instance_types, node_group.template
        named = self.instances.template_type(*template) if template and not types else None
        return Make(types or ((named,) if named else ()), node_group.ami_type, node_group.disk_gib)

    def _with_activities(self, seen: Seen, node_group: NodeGroup | None, pages: int) -> Seen:
        # Who only reads the size and the history may have no right to read the Auto Scaling group.
        group = seen.controller.name if seen.controller else node_group and node_group.group
        if not group:
            return seen
        found = self.autoscaling.activities(group, pages)
        raised = None
        if seen.controller is not None:
            raised = neutral.raised_by(seen.ordered if seen.exists else None, seen.controller, found)
        return replace(seen, activities=tuple(map(neutral.activity, found)), raised_by=raised)


def _with_sizes(seen: Seen, node_group: NodeGroup | None) -> Seen:
    if node_group is None:
        return replace(seen, exists=False, ordered=0, minimum=0, maximum=0, change=None, health=())
    return replace(
        seen,
        exists=True,
        ordered=node_group.desired,
        minimum=node_group.minimum,
        maximum=node_group.maximum,
        change=neutral.change(node_group),
        health=node_group.health,
    )
