"""What a sweep knows of a healthy pool at eight in the evening, and how a test makes it another one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lamplighter.domain.capacity.calls import Call, timed
from lamplighter.domain.capacity.evidence import Controller, Instance, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.failsafe import failsafe_schedules
from lamplighter.domain.schedules.schedule import Schedule
from tests.builders import leases as any_leases
from tests.builders.leases import EIGHT, MINUTE, usd


def lease(name: str = "evening", nodes: int = 2, opens: int = -60, closes: int = 120, **more: Any) -> Lease:
    """alice's lease for her window, which has run for an hour."""
    return any_leases.lease(name, opens, closes, nodes=nodes, **{"owner": "alice", "hold": usd(1), **more})


def shots(first: datetime) -> tuple[Schedule, ...]:
    """A failsafe whose first schedule runs at this instant."""
    calls = Call("zero", {}), Call("zero", {}), Call("past", {}), Call("zero", {})
    return failsafe_schedules("gpu", timed(first, calls))


def instance(name: str, minutes: int = -30, group: str | None = "eks-gpu") -> Instance:
    launched = EIGHT + minutes * MINUTE
    return Instance(name, "g5.xlarge", "a", "running", launched, None, group, f"{name}.internal")


def pool(
    *leases: Lease,
    running: Sequence[str] = (),
    leaving: Sequence[str] = (),
    strays: Sequence[Instance] = (),
    desired: int | None = None,
) -> PoolFacts:
    """A healthy pool with these leases and nodes: the lab's own sizes, and the failsafe armed correctly."""
    members = tuple(Member(name, "a") for name in running)
    members += tuple(Member(name, "a", leaving=True, waits_for_drain=True) for name in leaving)
    wanted = desired if desired is not None else len(running)
    ends = [one.closes for one in leases if one.granted and one.opens <= EIGHT]
    failsafe = shots(max(ends) + 10 * MINUTE) if ends else ()
    return PoolFacts(
        pool="gpu",
        now=EIGHT,
        enforcing=True,
        ours=True,
        max_nodes=2,
        leases=leases,
        closing_since=None,
        seen=Seen(
            NODE_GROUP,
            exists=True,
            ordered=wanted,
            maximum=2,
            controller=Controller("eks-gpu", 0, 2, wanted, members),
            instances=(*(instance(name) for name in (*running, *leaving)), *strays),
        ),
        kubernetes_nodes=tuple(f"{name}.internal" for name in (*running, *leaving)),
        failsafe_wanted=failsafe,
        failsafe_found=failsafe,
    )


def seen(facts: PoolFacts, **different: Any) -> PoolFacts:
    """The same facts, with this seen differently."""
    return replace(facts, seen=replace(facts.seen, **different))


def after(facts: PoolFacts, age: timedelta) -> PoolFacts:
    """The same facts, as a sweep finds them so long after eight."""
    return replace(facts, now=EIGHT + age)


def earlier(
    rule: Rule, minutes: float, action: GuardAction = GuardAction.WARN, name: str | None = "evening"
) -> EarlierBreach:
    """What a sweep so many minutes after eight reported."""
    return EarlierBreach(rule, action, name, EIGHT + minutes * MINUTE)
