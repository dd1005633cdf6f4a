"""The port for NodePools: Karpenter or EKS Auto Mode starts and ends instances, the API server bars their starts."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.border import border
from lamplighter.adapters.capacity.node_pool.claims import Claims
from lamplighter.adapters.capacity.node_pool.events import claim_events
from lamplighter.adapters.capacity.node_pool.launch_bar import LaunchBar
from lamplighter.adapters.capacity.node_pool.lock import Lock
from lamplighter.adapters.capacity.node_pool.node_pools import NodePools
from lamplighter.adapters.kubernetes.connection import Connection, connect
from lamplighter.adapters.kubernetes.nodes import delete_by_instance
from lamplighter.domain.capacity import kinds
from lamplighter.domain.capacity.calls import TimedCall, timed
from lamplighter.domain.capacity.evidence import NOW, Bar, Claim, Instance, Part, Seen
from lamplighter.domain.capacity.node_pool import ending, interruptions, launch_bar, off_switch, probe, sizing
from lamplighter.domain.capacity.node_pool import seen as neutral
from lamplighter.domain.capacity.node_pool.kind import KARPENTER, NodePoolKind
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.domain.capacity.node_pool.shortage import explain
from lamplighter.domain.capacity.port import Removal
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Reason, reason

if TYPE_CHECKING:
    from lamplighter.domain.capacity.node_pool.evidence import NodePool
    from lamplighter.domain.capacity.port import Awaited
    from lamplighter.domain.capacity.shortage import Shortage
    from lamplighter.domain.capacity.zero import ZeroProof
    from lamplighter.lab.model import Lab

MACHINE = "FAILSAFE_MACHINE_ARN"


@border
class NodePoolCapacity:
    """The NodePools of one kind in a lab. The connection and each client are made on first use."""

    def __init__(self, lab: "Lab", kind: NodePoolKind) -> None:
        self._lab, self._kind = lab, kind

    @cached_property
    def kubernetes(self) -> Connection:
        return connect(self._lab.cluster_name)

    @cached_property
    def instances(self) -> Instances:
        return Instances()

    @property
    def node_pools(self) -> NodePools:
        return NodePools(self.kubernetes)

    @property
    def claims(self) -> Claims:
        return Claims(self.kubernetes)

    def connect(self, *, instances: bool) -> None:
        """Make the client of EC2 now. Kubernetes is asked for on first use: most events need none."""
        if instances:
            self.instances.connect()

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        """What Kubernetes and EC2 have now, asked in this order."""
        seen = known or Seen(self._kind.code)
        name = self._name(pool)
        if not {Part.SIZE, Part.MEMBERS, Part.MAKE}.isdisjoint(parts):
            seen = self._with_node_pool(pool, seen, parts)
        if Part.BAR in parts:
            seen = replace(seen, bar=self._standing_bar(pool))
        if Part.INSTANCES in parts or (Part.HISTORY in parts and not seen.instances):
            tags, subject = kinds.identity(self._lab, pool).tags, f"{self._lab.cluster_name}/{name}"
            found = self.instances.tagged(tags, subject, self._kind.started_tag)
            more: tuple[Claim, ...] = ()
            # EC2 is enough where no claim was read: Kubernetes is not asked.
            if Part.MEMBERS in parts and seen.controller is not None and self._kind is KARPENTER:
                more, not_said = self.claims.unlisted(name, seen.claims, found)
                seen = replace(seen, unsure=not_said)
            if more or not all(claim.instance for claim in seen.claims):
                seen = neutral.with_named(seen, more, found, self._server_now())
            seen = replace(seen, instances=_by_claims(found, seen.claims, name))
        if Part.INTERRUPTIONS in parts:
            found_events = claim_events(self.kubernetes, name)
            seen = replace(seen, interruptions=interruptions.interruptions(found_events, seen.claims))
        if Part.LATEST in parts or Part.HISTORY in parts:
            seen = replace(seen, activities=neutral.activities(seen.instances))
        return seen

    def bar(self, pool: str, until: datetime) -> None:
        """Move the launch bar, and read it back by a claim that the API server does not keep.

        OutsideFailed where the answer is another than it must be: no policy stands, or it does not follow.
        """
        bar, now = self._bar(pool), clock.now()
        standing = bar.read()
        shut = until <= now and not standing.unreadable and (standing.until or now) <= now
        if not shut and standing.until != until.replace(microsecond=0):
            bar.write(until)
        wrong = self._wrong_bar(pool, until)
        if wrong is not None:
            raise OutsideFailed(wrong, "launch bar", launch_bar.policy_name(self._lab))

    def order(
        self,
        pool: str,
        size: int,
        seen: Seen,
        *,
        maximum: int | None = None,
        insist: bool = False,  # noqa: ARG002 -- a NodePool is never busy with another change
    ) -> str | None:
        """Write the size. What a living controller was refused before, it tries anew.

        Zero is always written: where the size was misread as zero, nothing else would tell.
        """
        staying = neutral.staying(seen.claims)
        if maximum is None and size and seen.ordered == size and not _unfinished(seen, size, staying):
            return None
        node_pool = self.node_pools.read(self._name(pool))
        if node_pool is None:
            return None
        # What somebody else's pods brought, and no lease, has no size of ours.
        if size == 0 and maximum is None and not staying and sizing.never_sized(node_pool):
            return None
        if size > 0 and size >= seen.ordered:
            self._unlock(pool)
        if maximum is None and size and node_pool.static and node_pool.replicas == size:
            self.node_pools.write(node_pool.name, sizing.anew(node_pool, size, len(staying), clock.now()))
        else:
            self.node_pools.write(node_pool.name, [sizing.to(node_pool, size, maximum)])
        if size == 0 and (maximum is None or not node_pool.static):
            # Karpenter ends the claims of a static one too, but where it is dead nobody would know that they go.
            self._end(pool, staying)
        return None

    def remove(self, pool: str, instances: Sequence[str], why: Removal, seen: Seen) -> None:
        """Remove instances by their claims; strays in EC2, where the kind allows it."""
        if not instances or (why is not Removal.STRAY and seen.controller is None):
            return
        if why is Removal.STRAY and self._kind is KARPENTER:
            self.instances.terminate(instances)
            return
        # Read anew: a second try takes none twice.
        every = self.claims.of(self._name(pool))
        claims = [claim for claim in every if claim.instance in instances]
        node_pool = self.node_pools.read(self._name(pool))
        match why:
            case Removal.FEWER if node_pool is not None:
                self._fewer(pool, node_pool, neutral.staying(claims), len(neutral.staying(every)))
            case Removal.REPLACED if node_pool is not None:
                self._end(pool, neutral.staying(claims))
            case Removal.STRAY:
                self._end_managed(instances, claims)
            case Removal.DRAINED:
                self._end_drained(claims, seen)

    def troubles(self, pool: str, awaited: "Awaited", seen: Seen) -> "Shortage | None":
        """Why fewer nodes came, by the claims' own conditions and the events about refused launches."""
        if not seen.exists or awaited.have >= awaited.wanted:
            return None
        return explain(awaited, seen, claim_events(self.kubernetes, self._name(pool)))

    def off_switch(self, pool: str, first: datetime, seen: Seen) -> tuple[TimedCall, ...]:  # noqa: ARG002 -- by name
        """The lab's state machine, on one rail at each instant."""
        may = off_switch.may_switch_off(self._lab, pool)
        calls = off_switch.calls(os.environ[MACHINE], pool, self._kind.code, may_switch_off=may)
        return timed(first, calls)

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> "ZeroProof":
        """The proof of this kind."""
        return kinds.zero(seen, at, kubernetes_nodes, justified)

    def _server_now(self) -> datetime:
        """The API server's time, by which its objects are dated."""
        return self.kubernetes.server_time or clock.now()

    def _name(self, pool: str) -> str:
        return self._lab.node_pool_name(pool)

    def _bar(self, pool: str) -> LaunchBar:
        return LaunchBar(self.kubernetes, launch_bar.parameter_name(self._lab, pool))

    def _with_node_pool(self, pool: str, seen: Seen, parts: Collection[Part]) -> Seen:
        node_pool = self.node_pools.read(self._name(pool))
        dynamic = node_pool is not None and not node_pool.static
        claims = seen.claims
        if Part.MEMBERS in parts or dynamic:
            # Where the NodePool exists, a cluster without claims of any kind is none that can be believed.
            claims = self.claims.of(self._name(pool), served=node_pool is not None)
        seen = replace(seen, claims=claims)
        if Part.SIZE in parts or Part.MAKE in parts:
            theirs = self._lab.pools[pool].existing is not None
            most = self._lab.pools[pool].max_nodes if theirs else None
            seen = neutral.with_sizes(seen, node_pool, claims, most)
        if Part.MEMBERS in parts:
            seen = replace(seen, controller=neutral.controller(seen, node_pool, claims, self._server_now()))
        if Part.MAKE in parts and node_pool is not None:
            seen = replace(seen, make=neutral.make(node_pool))
        return seen

    def _standing_bar(self, pool: str) -> Bar:
        bar = self._bar(pool).read()
        if self._lab.mode(pool) != "enforce":
            # Only where `arm` has the guard enforce before a deploy has the bar follow does anybody use the answer.
            return replace(bar, wrong=self._only_noting(pool, bar.until))
        return replace(bar, wrong=self._wrong_bar(pool, bar.until))

    def _only_noting(self, pool: str, until: datetime | None) -> Reason | None:
        """That the API server takes a claim at a shut bar; None where it refuses, or where the bar is open."""
        node_pool = self.node_pools.read(self._name(pool))
        if node_pool is None or (until is not None and until > clock.now()):
            return None
        named = self._lab.pools[pool].types
        takes = self.claims.admitted(dict(probe.claim(node_pool, named)), launch_bar.policy_name(self._lab))
        return reason("guard.bar.only-notes", pool=pool) if takes else None

    def _wrong_bar(self, pool: str, until: datetime | None) -> Reason | None:
        """That the API server takes or refuses a claim against the bar; None where it follows, or where none acts."""
        node_pool = self.node_pools.read(self._name(pool))
        # The API server only notes what the bar of a watched pool would refuse.
        if node_pool is None or self._lab.mode(pool) != "enforce":
            return None
        policy, claims, named = launch_bar.policy_name(self._lab), self.claims, self._lab.pools[pool].types
        opens = until is not None and until > clock.now()
        takes = claims.admitted(dict(probe.claim(node_pool, named)), policy)
        if takes and not opens:
            return reason("guard.bar.missing", pool=pool, policy=policy)
        if opens and not takes:
            return reason("guard.bar.does-not-open", pool=pool, policy=policy, until=until or "")
        # Where it is open, a pass alone proves nothing: there may be no bar.
        ours = self._lab.pools[pool].existing is None
        if opens and ours and claims.admitted(dict(probe.claim(node_pool, named, ends=False)), policy):
            return reason("guard.bar.missing", pool=pool, policy=policy)
        return None

    def _unlock(self, pool: str) -> None:
        """Remove the lock of a failsafe that fired. IAM takes a moment: `troubles` waits for it."""
        role = launching_role(self._lab, pool)
        if role is not None:
            Lock(role).remove(self._lab.node_pool_name(pool))

    def _fewer(self, pool: str, node_pool: "NodePool", claims: Sequence[Claim], of: int) -> None:
        """Limit, claims, size, in this order: so these very nodes go, and none comes in their place."""
        if not claims:
            return
        size = sizing.fewer(node_pool, len(claims), of)
        self.node_pools.write(node_pool.name, [sizing.before_fewer(node_pool, size)])
        self._end(pool, claims)
        self.node_pools.write(node_pool.name, sizing.after_fewer(node_pool, size))

    def _end(self, pool: str, claims: Sequence[Claim]) -> None:
        """Delete claims. A pod of a NodePool that somebody else made could hold one for a day, or for ever."""
        for claim in claims:
            limit = ending.limit(claim, self._lab.pools[pool].last_grace, clock.now())
            if limit is not None:
                self.claims.end_by(claim.name, limit)
            self.claims.delete(claim.name)

    def _end_drained(self, claims: Sequence[Claim], seen: Seen) -> None:
        """Their controller waits for no pod any longer. What it has not ended although it was time, EC2 ends."""
        for claim in claims:
            if claim.ends_at is None or claim.ends_at > clock.now():
                self.claims.end_by(claim.name, clock.now())
        if self._kind is KARPENTER:
            overdue = {member.instance for member in seen.members if member.overdue}
            self.instances.terminate([claim.instance for claim in claims if claim.instance in overdue])

    def _end_managed(self, instances: Sequence[str], claims: Sequence[Claim]) -> None:
        """AWS lets nobody terminate instances of Auto Mode: they end with their claim or their node."""
        for claim in claims:
            self.claims.end_by(claim.name, clock.now())
            self.claims.delete(claim.name)
        alone = {*instances} - {claim.instance for claim in claims}
        if alone:
            delete_by_instance(self.kubernetes, alone)


def _unfinished(seen: Seen, size: int, staying: Sequence[Claim]) -> bool:
    """Whether claims are missing, or IAM denies one. A lock may be what denies it: IAM's denial keeps the claim."""
    return seen.exists and (len(staying) < size or bool(neutral.denied(staying)))


def _by_claims(found: Sequence[Instance], claims: Sequence[Claim], name: str) -> tuple[Instance, ...]:
    """An instance that has not joined yet has no tag of its claim: the claim itself names it."""
    listed = {claim.instance for claim in claims}
    return tuple(
        replace(instance, controller=name)
        if instance.controller is not None or instance.id in listed
        else instance
        for instance in found
    )
