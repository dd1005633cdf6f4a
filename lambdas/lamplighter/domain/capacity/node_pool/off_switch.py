"""What brings a NodePool to zero with none of our code: the state machine `<lab>-failsafe`, one rail at each instant.

The first two calls go through Kubernetes. The later ones pass it by: EC2 ends Karpenter's instances. AWS lets nobody
end those of Auto Mode, so there the later ones bar its launches, or switch Auto Mode off where the lab allows that.
stacks/constructs/failsafe/ draws the machine.
"""

import json
from enum import Enum
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.calls import Call
from lamplighter.domain.capacity.node_pool.kind import KARPENTER

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

MACHINE = "failsafe"
"""The name of the state machine behind the lab's."""


class Rail(Enum):
    """A way to zero, as the machine's input names it."""

    KUBERNETES = "kubernetes"
    """The NodePool to zero replicas, and its claims deleted."""
    EC2 = "ec2"
    """A lock on the controller's launches, then the instances ended by tag."""
    LOCK = "lock"
    """The lock alone, then Kubernetes once more."""
    SWITCH_OFF = "switch-off"
    """Auto Mode switched off, which ends every node of it."""


def call(machine: str, pool: str, rail: Rail) -> Call:
    """The start of the machine, by its ARN, on one rail."""
    return Call(machine, {"pool": pool, "rail": rail.value})


def pool_of(document: str) -> str | None:
    """The pool of a run, by its input; None for the input of nobody of ours."""
    try:
        given = json.loads(document)
    except ValueError:
        return None
    return str(given["pool"]) if isinstance(given, dict) and "pool" in given else None


def rails(kind: str, *, may_switch_off: bool = False) -> tuple[Rail, ...]:
    """The rails of the four instants, by the code of the pool's kind."""
    past = Rail.EC2 if kind == KARPENTER.code else Rail.LOCK
    last = Rail.SWITCH_OFF if past is Rail.LOCK and may_switch_off else past
    return Rail.KUBERNETES, Rail.KUBERNETES, past, last


def calls(machine: str, pool: str, kind: str, *, may_switch_off: bool = False) -> tuple[Call, ...]:
    """The four calls of a failsafe, in their order."""
    return tuple(call(machine, pool, rail) for rail in rails(kind, may_switch_off=may_switch_off))


def curfew(kind: str) -> tuple[str, str]:
    """The names of the two rails in the names of a curfew's schedules."""
    first, _, past, _ = rails(kind)
    return first.value, past.value


def may_switch_off(lab: "Lab", pool: str) -> bool:
    """Whether the lab lets its failsafe switch Auto Mode off for this pool."""
    mode = lab.cluster.auto_mode
    return lab.pools[pool].kind != KARPENTER.code and mode is not None and mode.switch_off
