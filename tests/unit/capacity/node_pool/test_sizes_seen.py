"""The maximum of a NodePool as the guard sees it: a limit that somebody removed or set to 0 is not the lab's."""

import pytest

from lamplighter.domain.capacity.evidence import ANY_NUMBER, Seen
from lamplighter.domain.capacity.node_pool.evidence import NodeClass, NodePool
from lamplighter.domain.capacity.node_pool.seen import with_sizes

CLASS = NodeClass("karpenter.k8s.aws", "EC2NodeClass", "lab-gpu")


def maximum(limit: int | None, most: int | None = None, kept: int | None = None) -> int:
    node_pool = NodePool("lab-gpu", CLASS, replicas=0, limit=limit, kept_limit=kept)
    return with_sizes(Seen("karpenter"), node_pool, (), most).maximum


@pytest.mark.parametrize(("limit", "seen"), [(2, 2), (0, 0), (None, ANY_NUMBER)])
def test_the_limit_of_the_labs_own_node_pool_is_seen_as_it_is(limit: int | None, seen: int) -> None:
    assert maximum(limit) == seen


def test_a_removal_that_goes_on_hides_no_limit() -> None:
    assert maximum(1, kept=2) == 2


@pytest.mark.parametrize("limit", [None, 0])
def test_a_node_pool_of_somebody_else_without_a_limit_has_the_labs(limit: int | None) -> None:
    assert maximum(limit, 2) == 2
