"""Karpenter, for the static NodePools of a world: what makes claims, launches their instances and ends them.

It stands for the real controller and for that of EKS Auto Mode. Orders of stages and delays are those of the recording
of the real one (tests/karpenter_recording), which tests/properties/laws/test_world_karpenter.py compares. It is as
inconvenient as Karpenter may be: of several claims it ends any.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import Machine, Machines
from tests.world.aws.roles import Roles
from tests.world.capacity.supply import Heard
from tests.world.kubernetes.node_pool_objects import Claim, NodePoolObjects

#: Seconds, shortest and longest.
LAUNCHES = (0.1, 1.5)
REGISTERS = (0.1, 1.0)
INITIALIZES = (2.0, 20.0)
NOTICES = (0.1, 1.5)
ENDS = (5.0, 8.0)
EVICTS = (5.0, 40.0)
BACK_OFF, LONGEST_BACK_OFF = 0.005, 1000.0
LONGEST_RETRY = 60.0
LOOKS, AT_THE_LIMIT, COLLECTS, DRAIN_LOOKS = 60.0, 30.0, 120.0, 10.0
SHUT = timedelta(minutes=3)
LAUNCHED_WITHIN, REGISTERED_WITHIN = timedelta(minutes=5), timedelta(minutes=15)
CODES = {
    "InsufficientInstanceCapacity": "We currently do not have sufficient g4dn.xlarge capacity in the zone requested",
    "VcpuLimitExceeded": "You have requested more vCPU capacity than your current vCPU limit of 8 allows",
}
ALL_SHUT = (
    "creating instance, insufficient capacity, all requested instance types were unavailable during launch"
)
DENIED = (
    "Error creating fleet request: User is not authorized to perform this operation because no identity-based policy "
    "allows it"
)
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
NEVER = 1e6
"""Seconds after which a node joins that never does."""


@dataclass
class Followed:
    """A NodePool as Karpenter follows it, with what its instances are tagged and launched by."""

    name: str
    pool: str
    grace: timedelta
    tags: dict[str, str]
    role: str | None
    """The role that launches its instances."""
    managed: bool
    """Whether it is one of EKS Auto Mode."""
    started_tag: str
    failures: int = 0
    """How many creations in a row admission has refused."""
    looks: int = 0
    """The number of the next look that is due; those with a smaller one are cut short."""
    shut_until: datetime | None = None
    """Until then no launch is tried, after a shortage."""


@dataclass
class Health:
    """The controller's present failures, and those of what it starts. A history changes them."""

    alive: bool = True
    joins: bool = True
    """Whether the instances that it starts ever become nodes."""
    forgets: bool = False
    """EC2 starts an instance, and the answer is lost: no claim has it."""
    code: str = "InsufficientInstanceCapacity"
    """Why EC2 has no more instances, where there is a shortage."""


@dataclass
class Karpenter:
    """The controller of all NodePools; `reachable` tells whether the API server answers it."""

    objects: NodePoolObjects
    queue: EventQueue
    chance: random.Random
    machines: Machines
    roles: Roles
    heard: Heard
    reachable: Callable[[], bool]
    holds: Callable[[Machine], bool]
    """Whether a pod on the machine may not be evicted."""
    health: Health = field(default_factory=Health)
    followed: dict[str, Followed] = field(default_factory=dict)
    """By NodePool."""
    _waiting: list[Callable[[], None]] = field(default_factory=list)
    _cold: datetime | None = None
    """Until then its caches are empty, after a start."""
    _collecting: bool = False
    _lost: list[Machine] = field(default_factory=list)
    """Instances of which it never heard."""

    def __post_init__(self) -> None:
        self.objects.sized = lambda name: self._look_at(name, self.chance.uniform(0.01, 0.2))
        self.objects.leaves = self._leaves
        self.objects.controller_runs = lambda: self.health.alive
        self.objects.deleted = lambda claim: self._after(0.05, lambda: self._begins_to_end(claim))

    # --- whether it runs -------------------------------------------------------------------------------

    def _up(self) -> bool:
        return self.health.alive and self.reachable()

    def _after(self, seconds: float, deed: Callable[[], None]) -> None:
        """What it does then, or as soon as it runs again."""
        self.queue.after(seconds, lambda: self._when_up(deed))

    def _when_up(self, deed: Callable[[], None]) -> None:
        if self._up():
            deed()
            return
        if not self._waiting:
            self.queue.after(DRAIN_LOOKS, self._return)
        self._waiting.append(deed)

    def _return(self) -> None:
        if not self._up():
            self.queue.after(DRAIN_LOOKS, self._return)
            return
        waiting, self._waiting = self._waiting, []
        # Claims that are made before it knows the cluster fail, and are made again a minute later.
        if self.chance.random() < 0.5:
            self._cold = self.queue.now + timedelta(seconds=12)
        for deed in waiting:
            self._after(self.chance.uniform(1.0, 10.0), deed)

    # --- how many claims there are ---------------------------------------------------------------------

    def _look_at(self, name: str, seconds: float, number: int | None = None) -> None:
        """Looks at the size of a NodePool then. One with a number is cut short by any other look."""
        of = self.followed[name]
        if number is None:
            self._after(seconds, lambda: self._size(name))
            return
        of.looks = number
        self._after(seconds, lambda: self._size(name) if of.looks == number else None)

    def _again(self, of: Followed, seconds: float) -> None:
        self._look_at(of.name, seconds, of.looks + 1)

    def _size(self, name: str) -> None:
        of, claims = self.followed[name], self.objects.of(name)
        of.looks += 1
        staying = [claim for claim in claims if claim.deleted is None]
        missing = self.objects.replicas(name) - len(staying)
        for claim in self._victims(staying)[: max(0, -missing)]:
            self.objects.delete(claim)
        room = self.objects.limit(name) - len(claims)
        for _ in range(min(missing, room)):
            if not self._claimed(of):
                return
        if missing > 0:
            self._again(of, AT_THE_LIMIT if room <= 0 else LOOKS)

    def _victims(self, claims: list[Claim]) -> list[Claim]:
        """Without an instance first, then without pods; of the others any."""
        shuffled = self.chance.sample(claims, len(claims))
        return sorted(shuffled, key=lambda claim: (claim.machine is not None, _works(claim)))

    def _claimed(self, of: Followed) -> bool:
        """Makes a claim, if admission takes it; else it waits twice as long as the last time."""
        if self.objects.refusal(of.name) is not None:
            self.heard.kept_back(of.pool)
            wait = min(BACK_OFF * 2**of.failures, LONGEST_BACK_OFF)
            of.failures = min(of.failures + 1, 30)
            self._again(of, wait)
            return False
        of.failures = 0
        name = f"{of.name}-{self.machines.number():05x}"
        claim = Claim(name, of.name, of.pool, self.queue.now, of.grace)
        self.objects.claims[name] = claim
        self.heard.started(of.pool, name)
        self._after(self.chance.uniform(*LAUNCHES), lambda: self._launch(of, claim))
        return True

    # --- how a claim becomes a node --------------------------------------------------------------------

    def _launch(self, of: Followed, claim: Claim) -> None:
        now = self.queue.now
        if not self._is_there(claim) or claim.machine is not None or claim.deleted is not None:
            return
        if now - claim.created >= LAUNCHED_WITHIN:
            self.objects.delete(claim)
            return
        if self._cold is not None and now < self._cold:
            self._fails(claim, "NodeClassNotReady", "NodeClassRef not ready, resolving cluster CIDR")
            return
        if self.roles.denies(of.role, of.tags):
            claim.trouble = ("Unauthorized", DENIED)
            claim.tries += 1
            self._after(min(2.0 ** (claim.tries - 1), LONGEST_RETRY), lambda: self._launch(of, claim))
            return
        if of.shut_until is not None and now < of.shut_until:
            self._fails(claim, "InsufficientCapacityError", ALL_SHUT)
            return
        if not self.machines.available(of.pool):
            of.shut_until, code = now + SHUT, self.health.code
            said = f"creating instance, insufficient capacity, with fleet error(s), {code}: {CODES[code]}"
            self._fails(claim, "InsufficientCapacityError", said)
            self.heard.event()
            return
        if self.health.forgets:
            self._lose(of)
            claim.tries += 1
            self._after(min(2.0**claim.tries, LONGEST_RETRY), lambda: self._launch(of, claim))
            return
        machine = self._start(of)
        claim.machine, claim.trouble = machine, None
        claim.stages["Launched"] = now
        self._after(
            (REGISTERED_WITHIN - (now - claim.created)).total_seconds(), lambda: self._gives_up(claim)
        )

    def _start(self, of: Followed) -> Machine:
        machine = self.machines.start(of.pool, of.name)
        machine.tags, machine.managed = dict(of.tags), of.managed
        machine.taints = [UNREGISTERED]
        if of.managed:
            machine.tags[of.started_tag] = "true"
        if not self.health.joins:
            machine.joins_after = NEVER
        return machine

    def _lose(self, of: Followed) -> None:
        """EC2 starts an instance that no claim ever has: it belongs to no lease, and Karpenter ends it later."""
        machine = self.machines.stray(of.pool, of.name)
        machine.tags, machine.managed = dict(of.tags), of.managed
        machine.joins_after = NEVER
        self._lost.append(machine)
        if not self._collecting:
            self._collecting = True
            self._after(COLLECTS, self._collect)

    def _fails(self, claim: Claim, reason: str, said: str) -> None:
        """A launch that nothing comes of: an event, and the claim goes."""
        self.objects.tell(claim, reason, said)
        self.objects.delete(claim)

    def runs(self, machine: Machine) -> None:
        """An instance runs; a while later it is a node."""
        claim = self._claim_of(machine)
        if claim is not None and machine.joins_after < NEVER:
            self._after(machine.joins_after + self.chance.uniform(*REGISTERS), lambda: self._registers(claim))
        if not machine.stray:
            self.heard.event()

    def _registers(self, claim: Claim) -> None:
        machine = claim.machine
        if not self._is_there(claim) or claim.deleted is not None or machine is None or not machine.alive:
            return
        claim.stages["Registered"] = self.queue.now
        machine.taints, machine.held = [], True
        of = self.followed[claim.node_pool]
        if not of.managed:
            machine.tags[of.started_tag] = claim.name
        self._after(self.chance.uniform(*INITIALIZES), lambda: self._initializes(claim))

    def _initializes(self, claim: Claim) -> None:
        if self._is_there(claim) and claim.deleted is None:
            claim.stages["Initialized"] = self.queue.now

    def _gives_up(self, claim: Claim) -> None:
        if self._is_there(claim) and claim.deleted is None and "Registered" not in claim.stages:
            self.objects.delete(claim)

    # --- how it ends -----------------------------------------------------------------------------------

    def _leaves(self, claim: Claim) -> None:
        if claim.machine is not None and claim.machine.alive:
            self.heard.retired(claim.pool, claim.machine)

    def _begins_to_end(self, claim: Claim) -> None:
        assert claim.deleted is not None
        claim.ends_at = claim.ends_at or claim.deleted + claim.grace
        if claim.machine is None:
            self._after(1.0, lambda: self._goes(claim))
        elif "Registered" not in claim.stages:
            self._ends(claim)
        else:
            evicted = EVICTS if claim.machine.working else ENDS
            self._after(self.chance.uniform(*evicted), lambda: self._drains(claim))

    def _drains(self, claim: Claim) -> None:
        """A pod that may not be evicted holds the node until the claim's grace is over."""
        machine, now = claim.machine, self.queue.now
        assert machine is not None
        late = claim.ends_at is not None and now >= claim.ends_at
        if machine.alive and machine.working and self.holds(machine) and not late:
            self._after(DRAIN_LOOKS, lambda: self._drains(claim))
            return
        self._ends(claim)

    def _ends(self, claim: Claim) -> None:
        machine, now = claim.machine, self.queue.now
        assert machine is not None
        if "Registered" in claim.stages:
            claim.stages |= {"Drained": now, "VolumesDetached": now}
        claim.stages["InstanceTerminating"] = now
        if machine.ended is not None:
            self._goes(claim)
        else:
            self.machines.shut_down(machine)

    def shuts_down(self, machine: Machine) -> None:
        """EC2 tells of an instance that somebody ends; without its message Karpenter looks later."""
        claim = self._claim_of(machine)
        if claim is not None and claim.deleted is None:
            lost = self.machines.troubles.events_lost
            wait = COLLECTS if lost else self.chance.uniform(*NOTICES)
            self._after(wait, lambda: self.objects.delete(claim))

    def ended(self, machine: Machine) -> None:
        """Its claim and its node go with the instance, once Karpenter has seen it."""
        claim = self._claim_of(machine)
        if claim is not None and "InstanceTerminating" in claim.stages:
            self._after(self.chance.uniform(*ENDS), lambda: self._goes(claim))
        elif claim is None:
            machine.held = False
        self.heard.event()

    def _goes(self, claim: Claim) -> None:
        if self.objects.claims.pop(claim.name, None) is None:
            return
        if claim.machine is not None:
            claim.machine.held = False
        # Often the news of it comes before the claim is out of its own cache: then the next look finds it.
        wait = 0.1 if self.chance.random() < 0.5 else self.chance.uniform(1.0, LOOKS)
        self._look_at(claim.node_pool, wait)

    # --- instances without a claim ---------------------------------------------------------------------

    def _collect(self) -> None:
        """Every two minutes Karpenter looks for instances with its tags that no claim has."""
        self._collecting = False
        lost, self._lost = self._lost, []
        for machine in lost:
            if machine.alive:
                self.machines.shut_down(machine)

    def _claim_of(self, machine: Machine) -> Claim | None:
        return next((claim for claim in self.objects.claims.values() if claim.machine is machine), None)

    def _is_there(self, claim: Claim) -> bool:
        return self.objects.claims.get(claim.name) is claim


def _works(claim: Claim) -> bool:
    return claim.machine is not None and claim.machine.working
