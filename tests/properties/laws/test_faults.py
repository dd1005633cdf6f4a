"""Any call to the outside may fail in any way, or answer anything: one at a time, and two at a time.

The calls are those that our functions make in an evening without faults, so a new one is tried by itself.
tests/world/fault_story.py says which pools may miss a call, and what must hold for them and for all others.
test_faults_of_answers.py has the functions that an evening does not call.
"""

import random
from functools import cache

import pytest

from tests.lengths import SEED
from tests.properties.histories import histories
from tests.world.fault_story import RESERVED, Evening, names_of
from tests.world.faults import DISTORTIONS, Fault, kinds

KINDS_OF_POOLS = (
    ("karpenter", "node-group"), ("node-group", "node-group"), ("auto-mode", "karpenter"), (RESERVED, "karpenter"),
)  # fmt: skip
BRIEF, PARTS = 12, 10
EVENINGS = histories(BRIEF, share=4)
ONE_IN = 4
"""In one of so many evenings two calls fail."""


@cache
def calls() -> tuple[tuple[tuple[str, str], str, str], ...]:
    """Every call that a function makes in an evening: the kinds of its pools, the function, and the call."""
    found = []
    for of_pools in KINDS_OF_POOLS:
        evening = Evening(of_pools)
        assert evening.broken() == []
        found += [(of_pools, *made) for made in sorted(evening.world.functions.known)]
    return tuple(found)


def evening(number: int, of: int) -> Evening:
    """One of so many evenings: together they go through all calls in their order."""
    chance = random.Random(f"{SEED} {number}")
    of_pools, function, call = calls()[((SEED or 0) + number * len(calls()) // of) % len(calls())]
    faults = [_fault(function, call, chance)]
    if chance.randrange(ONE_IN) == 0:
        faults.append(_fault(*chance.choice([each[1:] for each in calls() if each[0] == of_pools]), chance))
    return Evening(of_pools, faults, late=chance.random() < 0.5)


def _fault(function: str, call: str, chance: random.Random) -> Fault:
    of = chance.choice(((), (), names_of("big"), names_of("gpu")))
    # A call fails in many ways, and lies in few: those have broken most laws.
    kind = chance.choice((DISTORTIONS, kinds(call))[chance.randrange(2)])
    return Fault(call, kind, chance.choice((None, function)), of)


#: What broke a law once, or would without a fence, each while two pools had a lease.
BROKE = {
    "the end of a node is not kept, and EC2 forgets it: it ran until somebody counted": Fault(
        "dynamodb.batch_write_item", "error InternalServerError"
    ),
    "a NodePool that the API server shows to nobody: its zero was proven": Fault(
        "kubernetes.GET nodepools", "error 401"
    ),
    "a cluster that cannot be described: no pool was judged": Fault(
        "eks.describe_cluster", "error ThrottlingException"
    ),
    "claims that cannot be read: no pool was judged": Fault(
        "ssm.get_parameters", "error ThrottlingException"
    ),
    "instances of other types: the steps failed in ways that nobody knew": Fault(
        "ec2.describe_instances", "types"
    ),
    "a node's label of 5,000 digits: the wait for GPUs failed in a way that nobody knew": Fault(
        "kubernetes.GET nodes", "numbers", "cluster"
    ),
    "schedules without a name that is text: the planner failed in a way that nobody knew": Fault(
        "scheduler.list_schedules", "types", "planner"
    ),
    "a NodePool's size of 31 digits: the guard ordered as many nodes": Fault(
        "kubernetes.GET nodepools", "numbers"
    ),
    "an Auto Scaling group of other names: the failsafe was armed for one, and leased nodes were strays": Fault(
        "autoscaling.describe_auto_scaling_groups", "texts"
    ),
}
#: Each broke a law where it began before the first lease.
BROKE_EARLY = {
    "a list of claims without items: every leased node was a stray": Fault("kubernetes.GET v1", "empty"),
    "claims that are no list: the same": Fault("kubernetes.GET v1", "types", "guard"),
    "a NodePool's size that reads 0: nobody ordered zero, and it was proven": BROKE[
        "a NodePool's size of 31 digits: the guard ordered as many nodes"
    ],
}


def broke(fault: Fault, *, late: bool = True) -> list[str]:
    """What does not hold with it, in an evening of a NodePool and a node group."""
    return Evening(("karpenter", "node-group"), [fault], late=late).broken()


@pytest.mark.parametrize("fault", BROKE.values(), ids=BROKE)
def test_what_broke_a_law_once_breaks_none(fault: Fault) -> None:
    assert broke(fault) == []


@pytest.mark.parametrize("fault", BROKE_EARLY.values(), ids=BROKE_EARLY)
def test_what_broke_a_law_early_breaks_none(fault: Fault) -> None:
    assert broke(fault, late=False) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(BRIEF))
def test_no_answer_breaks_a_law(number: int) -> None:
    played = evening(number, BRIEF)

    assert played.broken() == [], played.faults


@pytest.mark.long
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("part", range(PARTS))
def test_none_of_thousands_breaks_a_law(part: int) -> None:
    for number in range(part, EVENINGS, PARTS):
        played = evening(number, EVENINGS)
        broken = played.broken()

        assert broken == [], (
            f"evening {number} of seed {SEED}: {played.kinds}, {played.faults}, late {played.late}"
        )
