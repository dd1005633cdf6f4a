"""The seats of a pool: the number that the nodes showed, or the expected number, and its text."""

import pytest

from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.views.seats import Seats, seats
from lamplighter.lab.model import Lab
from tests.builders.leases import lease

LEASE = lease()
LAB = Lab.model_validate({"name": "lab", "pools": {"gpu": {"instance_type": "g4dn.12xlarge"}}})


@pytest.mark.parametrize(("made", "said"), [
    (Seats(4, Offer(), seen=True), "4"),
    (Seats(4, Offer(), seen=False), "expected 4"),
    (Seats(8, Offer(replicas=2, strategy="mps"), seen=True), "8 (shared by 2 pods (mps))"),
    (Seats(8, Offer(slices=2, mig="all-3g"), seen=False), "expected 8 (cut into 2 slices (all-3g))"),
])  # fmt: skip
def test_seats_say_how_gpus_are_shared_where_more_than_one_pod_has_one(made: Seats, said: str) -> None:
    assert str(made) == said


def test_what_programs_read_of_seats_is_this() -> None:
    assert Seats(14, Offer(2, "mps", mig="all-1g", slices=7), seen=True).to_json() == {
        "count": 14,
        "per_gpu": 14,
        "replicas": 2,
        "strategy": "mps",
        "slices": 7,
        "seen": True,
    }


def test_seats_are_as_nodes_showed_them_or_as_they_are_expected() -> None:
    expected = seats(LAB, "gpu", [LEASE], 2, [])
    assert expected is not None
    assert (expected.count, expected.seen) == (8, False)
    shown = [{"seats": 2, "offer": {"replicas": 9}}, {"seats": 6, "offer": {"replicas": 3}}, {}]
    assert seats(LAB, "gpu", [LEASE], 2, shown) == Seats(6, Offer(replicas=3), seen=True)
    assert seats(LAB, "gpu", [LEASE], 2, [{"seats": 1}]) == Seats(1, Offer(), seen=True)
    assert seats(LAB, "gpu", [LEASE], 2, [{"seats": 0}]) == expected
    assert seats(LAB, "gpu", [], 2, shown) is None
    unknown = Lab.model_validate(
        {"name": "lab", "pools": {"gpu": {"instance_type": "m5.large", "price_per_hour": "1"}}}
    )
    assert seats(unknown, "gpu", [LEASE], 2, []) is None
