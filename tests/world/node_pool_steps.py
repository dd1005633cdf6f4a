"""What happens to NodePools alone: to their controller, their launch bar, their claims, and the failsafe's lock."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.node_pool import lock
from tests.world.capacity.karpenter import CODES, Followed, Karpenter
from tests.world.capacity.node_pools import NodePools
from tests.world.capacity.pools import Pools
from tests.world.kubernetes.node_pool_objects import NodePoolObjects

if TYPE_CHECKING:
    from tests.world.history import Play, Step

KINDS_OF_STEPS = (
    "karpenter-dies", "karpenter-dies", "never-joins", "bar-by-hand", "bar-by-hand", "locked", "claim-by-hand",
    "answers-lost", "guarded", "limit-by-hand", "quota", "shut-out",
)  # fmt: skip
NO_DATES = ("for ever", "2099-01-01T1:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00")
"""What somebody writes into a bar: no instant, one for Go alone, one for UTC alone, and one past every calendar."""
STILL_WAITS = timedelta(minutes=20)
"""A claim whose node never joins is given up after a quarter of an hour, and the next one joins a while later."""


class NodePoolSteps:
    """The steps of a history whose pools are NodePools. Most go on while the next steps happen."""

    def __init__(self, play: "Play") -> None:
        self._play, self._world, self._laws = play, play.world, play.laws

    def karpenter_dies(self, step: "Step") -> None:
        """The controller does nothing for a while: killed, starved or without its rights."""
        since, until = self._for(step.minutes)
        self._laws.dead.append((since, until))
        self._karpenter.health.alive = False
        self._later(step.minutes, lambda: self._lives_again(until))
        self._wait(step)

    def never_joins(self, step: "Step") -> None:
        """What starts in this time never becomes a node, and is paid for: no start-up program in its image."""
        since, until = self._for(step.minutes)
        self._laws.troubled.append((since, until + STILL_WAITS))
        self._karpenter.health.joins = False
        self._later(step.minutes, self._joins_again)
        self._wait(step)

    def answers_lost(self, step: "Step") -> None:
        """EC2 starts instances of which Karpenter never hears."""
        since, until = self._for(min(step.minutes, 7))
        self._laws.troubled.append((since, until + timedelta(minutes=3)))
        self._karpenter.health.forgets = True
        self._later(min(step.minutes, 7), self._hears_again)
        self._wait(step)

    def shut_out(self, step: "Step") -> None:
        """The API server answers only inside the cluster: Karpenter goes on, and our code learns nothing."""
        since, until = self._for(step.minutes)
        self._laws.troubled.append((since, until))
        self._world.kubernetes.health.shut_out = True
        self._later(step.minutes, self._lets_us_in)
        self._wait(step)

    def quota(self, step: "Step") -> None:
        """From now on a shortage is one of the account's quota, or of EC2."""
        self._karpenter.health.code = list(CODES)[step.number % len(CODES)]
        self._wait(step)

    def bar_by_hand(self, step: "Step") -> None:
        """Somebody deletes the bar's ConfigMap, opens it, shuts it, or writes one of `NO_DATES` there.

        From then on the cluster has a policy that takes it, if CEL reads an instant from it.
        """
        of = self._of(step)
        if of is not None:
            bar, now = self._objects.bars[of.name], self._world.now
            until = [None, now + timedelta(hours=8), now - timedelta(hours=1)]
            if step.number == 0:
                bar.data = None
            else:
                at = until[step.number] if step.number < len(until) else None
                other = NO_DATES[step.minutes % len(NO_DATES)]
                bar.data = {"notAfter": f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else other}
                bar.any_form = bar.any_form or at is None
            self._laws.barred_by_hand.setdefault(of.pool, []).append(now)
        self._wait(step)

    def locked(self, step: "Step") -> None:
        """The failsafe's lock is left on the role, while no lease runs: the next opening takes it off."""
        of = self._of(step)
        if of is not None and of.role and not self._play.truth.justified(of.pool, self._world.now):
            self._pools.roles.put_role_policy(
                RoleName=of.role,
                PolicyName=lock.policy_name(of.name),
                PolicyDocument=json.dumps(lock.document(of.tags)),
            )
        self._wait(step)

    def claim_by_hand(self, step: "Step") -> None:
        """Somebody deletes a claim, or its node. Another one comes."""
        of = self._of(step)
        claims = self._objects.of(of.name) if of else []
        if of is not None and claims:
            self._laws.meddled.setdefault(of.pool, []).append(self._world.now)
            self._laws.by_hand.setdefault(of.pool, []).append(self._world.now)
            claim = self._play.chance.choice(claims)
            self._laws.taken_by_hand.update([claim.machine.id] if claim.machine else [])
            self._objects.delete(claim)
        self._wait(step)

    def limit_by_hand(self, step: "Step") -> None:
        """Somebody lowers or raises the limit of a NodePool, and nothing else."""
        of = self._of(step)
        if of is not None:
            self._laws.meddled.setdefault(of.pool, []).append(self._world.now)
            self._objects.write(of.name, {"spec": {"limits": {"nodes": str(1 + step.number)}}})
        self._wait(step)

    def guarded(self, step: "Step") -> None:
        """From now on pods that want no disruption run on every node of the pool."""
        of = self._of(step)
        for machine in self._world.machines.of_pool(step.pool) if of else ():
            machine.guarded = True
            self._world.kubernetes.work_on(machine)
        self._wait(step)

    # --- what they are made of -------------------------------------------------------------------------

    @property
    def _pools(self) -> NodePools:
        supply = self._world.supply
        assert isinstance(supply, Pools)
        return supply.node_pools

    @property
    def _karpenter(self) -> Karpenter:
        return self._pools.karpenter

    @property
    def _objects(self) -> NodePoolObjects:
        return self._pools.objects

    def _of(self, step: "Step") -> Followed | None:
        """The NodePool of the step's pool, if it is one."""
        lab = self._world.lab
        return self._karpenter.followed.get(lab.node_pool_name(step.pool))

    def _for(self, minutes: int) -> tuple[datetime, datetime]:
        return self._world.now, self._world.now + timedelta(minutes=minutes)

    def _later(self, minutes: int, deed: Callable[[], None]) -> None:
        self._world.event_queue.after(minutes * 60.0, deed)

    def _lives_again(self, until: datetime) -> None:
        if all(end <= until for _, end in self._laws.dead if end is not None):
            self._karpenter.health.alive = True

    def _joins_again(self) -> None:
        self._karpenter.health.joins = True

    def _hears_again(self) -> None:
        self._karpenter.health.forgets = False

    def _lets_us_in(self) -> None:
        self._world.kubernetes.health.shut_out = False

    def _wait(self, step: "Step") -> None:
        self._world.run(timedelta(minutes=min(step.minutes, (0, 2, 8, 40)[step.number])))
