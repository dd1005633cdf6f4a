"""Windows that state seats: how many nodes they open with, and why not as many as they ask."""

import pytest

from cli.plan.check import summary
from lamplighter.lab.model import Lab
from tests.unit.lab.read_labs import lab, problems

WINDOW = "days: [tue], start: '20:00', end: '22:00'"


def with_seats(seats: int, *, pool: str = "", keys: str = "", window: str = "") -> str:
    return f"pools: {{gpu: {{max_nodes: 6{pool}}}}}\n{keys}windows: [{{name: class, seats: {seats}{window}, {WINDOW}}}]"


@pytest.mark.parametrize(("asked", "nodes"), [
    ({"seats": 6}, 6),
    ({"seats": 24, "pool": ", seats_per_gpu: 4"}, 6),
    ({"seats": 21, "pool": ", seats_per_gpu: 4"}, 6),
    ({"seats": 20, "pool": ", seats_per_gpu: 4"}, 5),
    ({"seats": 24, "keys": "gpu: {share: 4}\n"}, 6),
    ({"seats": 24, "window": ", gpu: {sharing: {strategy: mps, replicas: 8}}"}, 3),
    ({"seats": 16, "pool": ", instance_type: g6.12xlarge", "keys": "gpu: {share: 2}\n"}, 2),
    # One p4d.24xlarge has 8 GPUs of 7 slices.
    ({"seats": 112, "pool": ", instance_type: p4d.24xlarge, ami_type: AL2023_x86_64_NVIDIA",
      "keys": "gpu: {mig: 1g.5gb}\n"}, 2),
    # The pool's word stands over the sharing.
    ({"seats": 24, "pool": ", seats_per_gpu: 8", "keys": "gpu: {share: 4}\n"}, 3),
])  # fmt: skip
def test_nodes_follow_from_seats(asked: dict[str, object], nodes: int) -> None:
    found = lab(with_seats(**asked))  # type: ignore[arg-type]

    assert found.nodes_of(found.windows[0]) == nodes
    assert Lab.from_json(found.to_json()) == found


@pytest.mark.parametrize(("asked", "problem"), [
    ({"seats": 2, "window": ", nodes: 2"}, "is given beside nodes, keep one of the two"),
    ({"seats": 25, "pool": ", seats_per_gpu: 4"},
     "is 25, which needs 7 nodes of 1 x 4 seats, and pool gpu may have 6; write at most 24, or more max_nodes"),
    ({"seats": 2, "pool": ", instance_type: g99.xlarge, price_per_hour: '1'"},
     "needs the number of GPUs of a node, and that of type g99.xlarge is not known; write nodes"),
])  # fmt: skip
def test_seats_that_do_not_fit_are_refused_with_the_sum(asked: dict[str, object], problem: str) -> None:
    [found] = problems(with_seats(**asked))  # type: ignore[arg-type]

    assert found == f"windows.0.seats: {problem} (window class)"


def test_of_an_adopted_pool_the_type_must_be_stated() -> None:
    theirs = "cluster: {existing: c}\npools: {gpu: {existing: ng, max_nodes: 2}}\n"

    [found] = problems(f"{theirs}windows: [{{name: class, seats: 2, {WINDOW}}}]")

    assert "pool gpu, whose type is left to AWS, is not known; write its instance_type, or nodes" in found


def test_check_says_how_many_nodes_the_seats_are_and_why() -> None:
    shared = "\n".join(summary(lab(with_seats(24, keys="gpu: {share: 4}\n"))))
    stated = "\n".join(summary(lab(with_seats(24, pool=", seats_per_gpu: 4"))))

    assert "24 seats = 6 nodes of g5.xlarge (4 seats for each GPU, shared by 4 pods (time-slicing))" in shared
    assert "24 seats = 6 nodes of g5.xlarge (4 seats for each GPU, seats_per_gpu)" in stated
