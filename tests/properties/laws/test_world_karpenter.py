"""The world's Karpenter does what the recording of the real one shows: the same stages in order, in like times.

A new recording is one command, `python -m tests.karpenter_recording`; this test then compares the world with it.
"""

import random
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.lab.model import Lab
from tests.karpenter_recording.recording import Moment, lives, moments
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import Machines
from tests.world.capacity.karpenter import Karpenter
from tests.world.capacity.node_pools import NodePools
from tests.world.capacity.supply import Site
from tests.world.kubernetes.kubernetes import Kubernetes
from tests.world.kubernetes.node_pool_objects import Claim, NodePoolObjects

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAME = "recorded-gpu"
CAME = ("created", "Launched", "Registered", "Initialized")
WENT = ("leaving", "Drained", "VolumesDetached", "InstanceTerminating", "gone")
DENIES = (
    '{"Statement": [{"Effect": "Deny", "Action": ["ec2:CreateFleet"], "Condition": {"StringEquals": {}}}]}'
)


class Day:
    """One NodePool of its own, with the recorder's orders. `moments` are what was seen, as in the recording."""

    def __init__(self, seed: int) -> None:
        self.queue, chance = EventQueue(START), random.Random(seed)
        self.machines = Machines(self.queue, chance)
        lab = Lab.model_validate(
            {
                "name": "recorded",
                "cluster": {"karpenter": {}},
                "pools": {"gpu": {"kind": "karpenter", "drain": "1m"}},
            }
        )
        self.kubernetes = Kubernetes(self.queue, chance, self.machines)
        site = Site(
            self.queue, chance, self.machines, lab, lambda _s, _o, act, _given=str: act(), self.kubernetes
        )
        self.pools = NodePools(site)
        self.pools.create("gpu", 2)
        self.begun, self.moments = START, list[Moment]()
        self._numbers: dict[str, int] = {}
        self._known: set[tuple[str, str]] = set()
        self.pools.heard.kept_back = lambda _pool: self.note("refused by the bar")
        self._look()

    @property
    def karpenter(self) -> Karpenter:
        return self.pools.karpenter

    @property
    def objects(self) -> NodePoolObjects:
        return self.pools.objects

    def begin(self) -> None:
        """A new event: its moments count from now."""
        self.begun, self.moments = self.queue.now, []

    def note(self, what: str, claim: int | None = None, says: str = "") -> None:
        at = (self.queue.now - self.begun).total_seconds()
        self.moments.append(Moment(round(at, 1), what, claim, says))

    def bar(self, *, shut: bool) -> None:
        self.note("the bar is shut" if shut else "the bar is open")
        until = self.queue.now + timedelta(hours=-1 if shut else 8)
        self.objects.bars[NAME].data = {"notAfter": until.isoformat()}

    def write(self, **spec: object) -> None:
        for key, value in spec.items():
            self.note(f"writes {key} {value['nodes'] if isinstance(value, dict) else value}")
        self.objects.write(NAME, {"spec": spec})

    def run(self, seconds: float) -> None:
        self.queue.run_until(self.queue.now + timedelta(seconds=seconds))

    def until(self, what: str, times: int = 1, within: float = 420.0) -> None:
        """Until it was seen so often."""
        for _ in range(int(within * 10)):
            if sum(moment.what == what for moment in self.moments) >= times:
                return
            self.run(0.1)
        raise AssertionError(f"{what} was not seen {times} times: {self.moments}")

    def empty(self) -> None:
        while self.objects.claims:
            self.run(1.0)
        self.run(0.1)

    def oldest(self) -> Claim:
        return next(iter(self.objects.claims.values()))

    def shortage(self, *, on: bool) -> None:
        self.machines.troubles.capacity = 0 if on else None

    def _look(self) -> None:
        """Notes what is new, every tenth of a second."""
        for name in [*self.objects.claims]:
            self._numbers.setdefault(name, len(self._numbers) + 1)
        for name, number in self._numbers.items():
            claim = self.objects.claims.get(name)
            seen = ["created"] if claim else ["created", "leaving", "gone"]
            if claim is not None:
                seen += [*claim.stages]
                seen += ["Unauthorized"] if claim.trouble else []
                seen += ["leaving"] if claim.deleted else []
            for what in sorted(seen, key=_order):
                if (name, what) not in self._known:
                    self._known.add((name, what))
                    self.note(what, number)
        for _at, event in self.objects.events:
            if (event["metadata"]["name"], "event") not in self._known:
                self._known.add((event["metadata"]["name"], "event"))
                self.note(event["reason"], says=event["message"])
        self.queue.after(0.1, self._look)


def _order(what: str) -> int:
    every = ("created", "Unauthorized", *CAME[1:], *WENT)
    return every.index(what)


@pytest.fixture(params=range(2), ids=lambda seed: f"seed {seed}")
def day(request: pytest.FixtureRequest) -> Day:
    return Day(request.param)


def opened(day: Day, nodes: int = 1) -> Day:
    """A NodePool with so many nodes, and an open bar."""
    day.bar(shut=False)
    day.write(replicas=nodes)
    day.until("Initialized", nodes)
    day.begin()
    return day


def after(found: list[Moment] | tuple[Moment, ...], first: str, then: str) -> float:
    """The seconds from the first of these to the first that follows of those."""
    begun = next(moment.at for moment in found if moment.what == first)
    return next(moment.at for moment in found if moment.what == then and moment.at >= begun) - begun


def like(day: Day, event: str, first: str, then: str, *, times: float = 2.0, add: float = 5.0) -> None:
    """The world takes about as long as the recording: at most so many times as long, and some seconds, or as short."""
    here, there = after(day.moments, first, then), after(moments(event), first, then)
    assert there / times - add <= here <= there * times + add, (first, then, here, there)


def paths(found: list[Moment] | tuple[Moment, ...]) -> list[list[str]]:
    return list(lives(tuple(found)).values())


def test_a_shut_bar(day: Day) -> None:
    day.bar(shut=True)
    day.write(replicas=1)
    day.until("refused by the bar", 13)
    day.bar(shut=False)
    day.run(6)
    assert "created" not in [moment.what for moment in day.moments]
    day.write(replicas=0)
    day.write(replicas=1)
    day.until("Initialized")

    refused = "refused by the bar"
    here = [moment.at for moment in day.moments if moment.what == refused]
    there = [moment.at for moment in moments("shut-bar") if moment.what == refused]
    assert len(here) == len(there)
    assert here[-1] == pytest.approx(there[-1], abs=15)
    assert paths(day.moments) == paths(moments("shut-bar")) == [list(CAME)]
    for first, then in (
        ("writes replicas 0", "created"),
        ("created", "Launched"),
        ("Launched", "Registered"),
    ):
        like(day, "shut-bar", first, then)


def test_a_pool_that_grows(day: Day) -> None:
    opened(day)
    day.write(replicas=2)
    day.until("Initialized")

    assert paths(day.moments) == paths(moments("grow"))
    for first, then in (
        ("writes replicas 2", "created"),
        ("Launched", "Registered"),
        ("Registered", "Initialized"),
    ):
        like(day, "grow", first, then, add=20)


def test_an_extension(day: Day) -> None:
    opened(day)
    day.bar(shut=False)
    day.run(90)
    assert paths(day.moments) == paths(moments("extend")) == []


def test_one_very_node_goes(day: Day) -> None:
    opened(day, nodes=2)
    oldest = day.oldest()
    day.write(limits={"nodes": "1"})
    day.objects.delete(oldest)
    day.write(replicas=1)
    day.until("gone")
    day.write(limits={"nodes": "2"})
    day.run(75)

    assert oldest.name not in day.objects.claims
    assert paths(day.moments) == paths(moments("shrink"))
    like(day, "shrink", "leaving", "Drained")
    like(day, "shrink", "InstanceTerminating", "gone", add=30)


def test_an_interruption(day: Day) -> None:
    """EC2 takes it back; what Karpenter does with the message is the same."""
    opened(day)
    [machine] = day.machines.of_pool("gpu")
    day.note("EC2 warns")
    day.machines.shut_down(machine)
    day.until("Initialized")
    day.run(120)

    gone, came = sorted(paths(day.moments), key=lambda path: path[0] == "created")
    recorded_gone, recorded_came = paths(moments("interruption"))
    assert (gone, came) == (recorded_gone, recorded_came)
    like(day, "interruption", "EC2 warns", "leaving")


def test_a_close(day: Day) -> None:
    opened(day)
    day.bar(shut=True)
    day.write(replicas=0)
    day.empty()

    assert paths(day.moments) == paths(moments("close"))
    like(day, "close", "writes replicas 0", "leaving")
    like(day, "close", "leaving", "Drained")
    like(day, "close", "InstanceTerminating", "gone", add=30)


def test_a_close_beside_a_pod_that_wants_no_disruption(day: Day) -> None:
    opened(day)
    [machine] = day.machines.of_pool("gpu")
    machine.working = machine.guarded = True
    day.bar(shut=True)
    day.write(replicas=0)
    day.empty()

    event = "close-beside-a-guarded-pod"
    assert paths(day.moments) == [path[len(CAME) :] for path in paths(moments(event))]
    like(day, event, "leaving", "Drained", times=1.3)


def test_a_denial(day: Day) -> None:
    role = day.karpenter.followed[NAME].role or ""
    day.pools.roles.put_role_policy(RoleName=role, PolicyName="lock", PolicyDocument=DENIES)
    day.run(120)
    day.begin()
    day.bar(shut=False)
    day.write(replicas=1)
    day.until("Unauthorized")
    day.run(20)
    day.pools.roles.delete_role_policy(RoleName=role, PolicyName="lock")
    day.note("IAM allows it again")
    day.until("Launched")
    day.bar(shut=True)
    day.write(replicas=0)
    day.empty()

    assert paths(day.moments) == paths(moments("denial"))
    like(day, "denial", "created", "Unauthorized")
    # IAM's own delay is in the world only.
    like(day, "denial", "IAM allows it again", "Launched", add=120)


@pytest.mark.parametrize(
    ("event", "code"), [("shortage", "InsufficientInstanceCapacity"), ("quota", "VcpuLimitExceeded")]
)
def test_a_shortage(day: Day, event: str, code: str) -> None:
    """Only the first event has the code of EC2; claims come and go; the end is noticed by the next try."""
    day.karpenter.health.code = code
    day.shortage(on=True)
    day.bar(shut=False)
    day.write(replicas=1)
    day.run(100)
    day.note("EC2 has instances again")
    day.shortage(on=False)
    day.until("Launched")

    said = [moment.says for moment in day.moments if moment.what == "InsufficientCapacityError"]
    shut = "all requested instance types were unavailable during launch"
    assert code in said[0]
    assert all(shut in each for each in said[1:])
    assert code in next(moment.says for moment in moments(event) if moment.says)
    assert {tuple(path) for path in paths(day.moments)[:-1]} == {("created", "leaving", "gone")}
    like(day, "shortage", "EC2 has instances again", "Launched", add=70)
    like(day, "shortage", "created", "gone", add=3)


def test_a_node_that_never_joins(day: Day) -> None:
    """Given up after a quarter of an hour, and the next one starts: all of them are paid."""
    day.karpenter.health.joins = False
    day.bar(shut=False)
    day.write(replicas=1)
    day.until("created", 2, within=1200)

    assert 895 < after(day.moments, "created", "leaving") < 910
    assert "Drained" not in [moment.what for moment in day.moments]


def test_while_it_is_dead_nothing_goes_and_afterwards_all_does(day: Day) -> None:
    opened(day)
    [machine] = day.machines.of_pool("gpu")
    day.karpenter.health.alive = False
    day.bar(shut=True)
    day.write(replicas=0)
    day.machines.shut_down(machine)
    day.run(600)
    assert day.objects.claims
    assert day.kubernetes.nodes() == [machine]

    day.karpenter.health.alive = True
    day.run(60)

    assert day.objects.claims == {}
    assert day.kubernetes.nodes() == []
    assert len(day.machines.machines) == 1
