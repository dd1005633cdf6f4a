"""What is written to a NodePool for an order or a removal, and the maximum that the guard sees of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.capacity.evidence import ANY_NUMBER, Seen
from lamplighter.domain.capacity.node_pool import sizing
from lamplighter.domain.capacity.node_pool.evidence import NodeClass, NodePool
from lamplighter.domain.capacity.node_pool.seen import raised_by, with_sizes
from lamplighter.reasons.reason import in_english

NOW = datetime(2026, 11, 20, 20, tzinfo=UTC)
CLASS = NodeClass("karpenter.k8s.aws", "EC2NodeClass", "lab-gpu")
STATIC = NodePool("lab-gpu", CLASS, replicas=2, limit=2)
DYNAMIC = NodePool("theirs", CLASS, limit=5)


def after(node_pool: NodePool, *patches: sizing.Patch) -> NodePool:
    """The NodePool with these merge patches."""
    for patch in patches:
        spec: Any = patch["spec"]
        metadata: Any = patch.get("metadata", {})
        notes = metadata.get("annotations", {})
        if "limits" in spec:
            limit = spec["limits"]["nodes"]
            node_pool = replace(node_pool, limit=None if limit is None else int(limit))
        if "replicas" in spec:
            node_pool = replace(node_pool, replicas=spec["replicas"])
        if sizing.KEPT in notes:
            kept = notes[sizing.KEPT]
            node_pool = replace(node_pool, kept_limit=None if kept is None else int(kept))
        if sizing.WRITTEN in notes:
            node_pool = replace(node_pool, written_limit=int(notes[sizing.WRITTEN]))
    return node_pool


def test_taking_one_node_lowers_the_limit_first_and_gives_it_back_last() -> None:
    before = after(STATIC, sizing.before_fewer(STATIC, sizing.fewer(STATIC, 1, 2)))
    assert (before.replicas, before.limit, sizing.maximum(before)) == (2, 1, 2)

    first, last = sizing.after_fewer(STATIC, sizing.fewer(STATIC, 1, 2))
    assert (after(before, first).replicas, after(before, first).limit) == (1, 1)
    assert after(before, first, last) == replace(STATIC, replicas=1)


def test_a_removal_that_was_cut_off_keeps_the_maximum_and_the_next_order_gives_the_limit_back() -> None:
    cut_off = after(STATIC, sizing.before_fewer(STATIC, sizing.fewer(STATIC, 1, 2)))
    assert after(cut_off, sizing.to(cut_off, 1)) == replace(STATIC, replicas=1)


@pytest.mark.parametrize("node_pool", [replace(STATIC, replicas=3, limit=3), replace(DYNAMIC, limit=3)])
def test_a_removal_of_two_that_was_cut_off_after_the_first_ends_at_the_same_size(node_pool: NodePool) -> None:
    """Of three claims one is deleted; then nobody answers, and the second try finds two that stay."""
    cut_off = after(node_pool, sizing.before_fewer(node_pool, sizing.fewer(node_pool, 2, 3)))

    size = sizing.fewer(cut_off, 1, 2)

    assert size == 1
    again = after(cut_off, sizing.before_fewer(cut_off, size), *sizing.after_fewer(cut_off, size))
    assert (again.replicas if again.static else again.limit) == 1
    assert sizing.maximum(again) == 3


@pytest.mark.parametrize("node_pool", [replace(STATIC, replicas=3, limit=3), replace(DYNAMIC, limit=3)])
def test_a_removal_leaves_room_for_what_is_still_to_start(node_pool: NodePool) -> None:
    assert sizing.fewer(node_pool, 1, 2) == 2


def test_a_size_that_waits_for_a_refused_start_is_asked_for_anew_and_never_below_what_is_there() -> None:
    [fewer, again] = sizing.anew(STATIC, 2, 1, NOW)
    assert after(STATIC, fewer).replicas == 1
    assert after(STATIC, fewer, again) == STATIC


@pytest.mark.parametrize(
    ("size", "claims", "minutes"),
    [(2, 2, None), (2, 0, 0.5), (1, 0, None)],
    ids=["all are there", "written just now", "another size"],
)
def test_a_size_is_not_asked_for_anew_without_need(size: int, claims: int, minutes: float | None) -> None:
    sized_at = None if minutes is None else NOW - timedelta(minutes=minutes)
    assert sizing.anew(replace(STATIC, sized_at=sized_at), size, claims, NOW) == ()


def test_a_dynamic_pool_is_opened_and_closed_by_its_limit_and_keeps_its_owners() -> None:
    opened = after(DYNAMIC, sizing.to(DYNAMIC, 2))
    closed = after(opened, sizing.to(opened, 0))
    assert (opened.limit, sizing.ordered(opened, 0), sizing.maximum(opened)) == (2, 2, 5)
    assert (closed.limit, sizing.ordered(closed, 0), sizing.maximum(closed)) == (0, 0, 5)


def test_a_dynamic_pool_that_the_lab_never_sized_orders_what_it_has() -> None:
    assert sizing.ordered(DYNAMIC, 3) == 3
    assert not sizing.written_over(DYNAMIC)


def test_a_limit_that_somebody_wrote_over_the_labs_orders_nothing_and_is_told() -> None:
    closed = after(DYNAMIC, sizing.to(DYNAMIC, 0))

    back = replace(closed, limit=5)

    assert sizing.ordered(back, 0) == 0
    said = raised_by(back)
    assert said is not None
    assert in_english(said) == (
        "somebody set limits.nodes of NodePool theirs to 5, as GitOps does; the lab had written 0"
    )
    assert raised_by(closed) is None


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
