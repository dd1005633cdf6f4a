"""Whatever leases run, in whatever order they are read: a class has its running seats, a close takes its own."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.classes.objects import hard
from lamplighter.domain.classes.target import targets
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.builders.leases import EIGHT, lease
from tests.unit.classes.labs import TIMES, lab, window

SHARED = {"sharing": {"replicas": 4, "rename": True}}
LAB = lab(
    window("a", 2, pool="gpu"),
    window("b", 3, pool="gpu", gpu=SHARED),
    window("c", 5, "gpu-202", pool="big"),
    {"name": "free", **TIMES, "pool": "gpu"},
    pools={"gpu": {"max_nodes": 2, "fallback": "big"}, "big": {"max_nodes": 2}},
)
SEATS = {one.name: (one.class_.namespace, one.seats or 0) for one in LAB.windows if one.class_}
leases = st.lists(
    st.builds(
        lambda number, name, pool, state, opens, length: replace(
            lease(f"{name}-1", opens, opens + length), id=f"{name}-{number}", pool=pool, state=state
        ),
        st.integers(0, 10**6),
        st.sampled_from(["a", "b", "c", "free", "gone"]),
        st.sampled_from(["gpu", "big"]),
        st.sampled_from(list(LeaseState)),
        st.integers(-60, 60),
        st.integers(1, 120),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


def seats(known: list[Lease]) -> dict[str, int]:
    return {target.terms.namespace: target.seats for target in targets(LAB, known, EIGHT)}


@given(leases, st.randoms(use_true_random=False))
def test_a_class_has_the_seats_of_its_running_leases(known: list[Lease], chance) -> None:
    expected = dict.fromkeys(("gpu-101", "gpu-202"), 0)
    for one in known:
        if one.in_force(EIGHT) and one.window in SEATS:
            namespace, number = SEATS[one.window]
            expected[namespace] += number
    assert seats(known) == expected
    shuffled = list(known)
    chance.shuffle(shuffled)
    assert targets(LAB, shuffled, EIGHT) == targets(LAB, known, EIGHT)
    for target in targets(LAB, known, EIGHT):
        # Each seat is one of some resource, of each at most one, and no entry is left open at a close.
        assert max(target.gpus.values()) <= target.seats <= sum(target.gpus.values())
        assert target.seats or set(hard(target).values()) == {"0"}


@given(leases, st.data())
def test_a_close_takes_its_own_seats_and_no_others(known: list[Lease], data: st.DataObject) -> None:
    if not known:
        return
    ended = data.draw(st.sampled_from(known))
    after = [replace(one, state=LeaseState.CLOSING) if one is ended else one for one in known]
    own = SEATS.get(ended.window or "") if ended.in_force(EIGHT) else None
    for namespace, before in seats(known).items():
        assert seats(after)[namespace] == before - (own[1] if own and own[0] == namespace else 0)
    later = EIGHT + timedelta(days=1)
    assert all(target.seats == 0 for target in targets(LAB, known, later))
