"""Refused launches of a NodePool: the code inside decides, the first event has it, and other pools do not count."""

from typing import Any

from tests.node_pool_snapshots import (
    DENIED,
    NODE_POOL,
    QUOTA,
    SHORTAGE,
    capacity_error,
    claim,
    condition,
    empty,
    node_class,
    node_pool,
    pool_of,
)
from tests.snapshots import Document, at, event, train
from tests.unit.diagnosis.table import UNREAD, given, table

CODES = (
    (SHORTAGE, "no-capacity"),
    (QUOTA, "vcpu-quota"),
    ("UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration", "no-capacity"),
    ("InsufficientFreeAddressesInSubnet: not enough free addresses in subnet", "no-addresses"),
    ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", "vcpu-quota"),
)


def told_by(*events: Document, now: float = 20, **parts: Any) -> Document:
    return given(empty(now), events=[*events], **parts)


def refused(refusal: Document) -> str:
    return f"InsufficientCapacityError: {refusal['message']}"


def of_another(**parts: Any) -> Document:
    """Another pool is refused, interrupted and waited for."""
    return told_by(
        capacity_error(SHORTAGE, 1, name="other-x7k2p"),
        event("NodeClaim", "other-abc01", "SpotInterrupted", "Spot interruption warning was triggered", 1),
        event("Pod", "else", "FailedScheduling", f"NodeClaim other-x7k2p nominated for this pod failed: {QUOTA}"),
        now=2, more={"nodepools": [node_pool("other")]},
        nodeclaims=[claim(0, condition("Launched", "Unknown", "Unauthorized", DENIED), pool="other")], **parts,
    )  # fmt: skip


LONG = f"{'l' * 30}-{'g' * 32}"


def of_a_long_name() -> Document:
    return told_by(capacity_error(QUOTA, 1, name=f"{LONG[:58]}x7k2p"), now=2, expected={"nodepool": LONG},
                   nodepools=[node_pool(LONG)], ec2nodeclasses=[node_class(name=LONG)])  # fmt: skip


def of_two_names() -> Document:
    names = {"lab-big-gpu": 100, "lab-gpu": 10}
    bars = [{"metadata": {"name": name, "namespace": "lamplighter"}, "data": {"notAfter": at(minute)}}
            for name, minute in names.items()]  # fmt: skip
    return given(empty(), expected={"nodepool": UNREAD}, nodepools=[node_pool(name, replicas=1) for name in names],
                 ec2nodeclasses=[node_class(name="lab-gpu")], configmaps=bars)  # fmt: skip


def unscheduled(own: str, other: str) -> Document:
    """A pod that waits, and what Karpenter says about each NodePool."""
    words = f"{other}; {own}"
    said = event("Pod", "train-0", "FailedScheduling", words, 19, namespace="lab")
    return given(told_by(said | {"reportingComponent": "karpenter"}), train(number=None))


LATER = [capacity_error("", 15 + n / 10, name=f"{NODE_POOL}-aaaa{n}") for n in range(9)]
SIZE_0 = f"0 of 1 expected instances are there; the desired size of {NODE_POOL} is 0: nobody asked for more"
ANY = node_pool(replicas=None)
OVER = f"all available instance types exceed limits for nodepool (NodePool={NODE_POOL})"
TOO_SMALL = f"no instance type has enough resources, requirements=karpenter.sh/nodepool In [{NODE_POOL}]"
TAINTED = "did not tolerate taint (taint=team=ml:NoSchedule)"


test_a_launch_is_refused = table(
    *((f"{cause} by {inner[:20]}, also as the later ones", told_by(capacity_error(inner, 15), *LATER),
       [(cause, NODE_POOL, refused(capacity_error(inner, 15)), refused(LATER[-1]))]) for inner, cause in CODES),
    ("by a code from just before the order, while Karpenter does not ask again",
     told_by(capacity_error(QUOTA, -1), capacity_error("", 0.5), now=2), ["vcpu-quota"]),
    ("by the last code from before, in whatever order they are listed", told_by(capacity_error(QUOTA, -1),
     capacity_error(SHORTAGE, -2, name=f"{NODE_POOL}-aaaa0"), capacity_error("", 0.5), now=2), ["vcpu-quota"]),
    ("not by one of longer ago", told_by(capacity_error(QUOTA, -3.5), capacity_error("", 0.5), now=2), ["no-capacity"]),
    ("not by a quota that was raised", told_by(capacity_error(QUOTA, 2), capacity_error(SHORTAGE, 18)),
     ["no-capacity"]),
    ("by two codes of now", told_by(capacity_error(QUOTA, 17), capacity_error(SHORTAGE, 18)), ["vcpu-quota",
     "no-capacity"]),
    ("not as another pool", of_another(), ["instance-launch"]),
    ("not as another pool where the name was not read", of_another(expected={"nodepool": UNREAD}), ["instance-launch"]),
    ("by a claim whose name the API server cut", of_a_long_name(), ["vcpu-quota"]),
    ("of two NodePools that end alike, the shorter name", of_two_names(), [("launch-barred", "lab-gpu")]),
    ("not once the shortage is over",
     given(pool_of(), events=[capacity_error(SHORTAGE, 0.2), capacity_error("", 0.3)]), []),
    ("by pods where its nodes come with them", told_by(capacity_error(SHORTAGE, 15), nodepools=[ANY]), ["no-capacity"]),
    ("not without pods", given(empty(), nodepools=[ANY]), []),
    ("not where nobody raised the replicas", given(empty(), nodepools=[node_pool(replicas=0)]),
     [("unknown", NODE_POOL, SIZE_0)]),
    *((f"in Karpenter's words about this pool alone: {own[:22]}", unscheduled(own, other), [("unknown", NODE_POOL,
       f"0 of 1 expected instances are there; (reported by karpenter) {own}")])
      for own, other in ((OVER, TAINTED), (TOO_SMALL, OVER.replace(NODE_POOL, f"{NODE_POOL}2")))),
    *((f"not as a healthy pool, of Auto Mode: {auto}", pool_of(auto=auto), []) for auto in (False, True)),
)  # fmt: skip


def claimed(*conditions: Document, now: float = 20, **parts: Any) -> Document:
    return given(empty(now), nodeclaims=[claim(0, *conditions)], **parts)


def denied(policies: Any = UNREAD) -> Document:
    parts = {} if policies is UNREAD else {"controller_policies": policies}
    return claimed(condition("Launched", "Unknown", "Unauthorized", DENIED), **parts)


OF_CLAIM = ("launch-denied", f"{NODE_POOL}-abc01", f"Unauthorized: {DENIED}")
LOCKED = (
    "the failsafe's lock lamplighter-lock-gpu-lab-gpu is on Karpenter's role; the next opening removes it"
)
REGISTERS = condition("Registered", "Unknown", "NodeNotFound")


test_a_claim = table(
    ("is denied", denied(), [OF_CLAIM]),
    ("is denied by the lock of the failsafe", denied({"PolicyNames": ["lamplighter-lock-gpu-lab-gpu", "other"]}),
     [(*OF_CLAIM, LOCKED)]),
    *((f"is denied, not by {policies}", denied(policies), [OF_CLAIM]) for policies in (
        {"PolicyNames": ["lamplighter-lock-gpu-lab-big"]}, {"PolicyNames": "odd"}, [], ["lamplighter-lock-gpu"])),
    ("is on its way", claimed(condition("Launched", "Unknown", "Launched"), now=0.5), ["instance-launch"]),
    ("boots", claimed(condition("Launched", minute=0.1), REGISTERS, now=0.5), ["node-join"]),
)  # fmt: skip
