"""What is written to a NodePool for an order or a removal, as merge patches. Pure.

The size of a static NodePool is `replicas`. Of a dynamic one it is `limits.nodes`: pods bring the nodes, and a limit
removes none, so that an order of fewer also ends claims. The limit of a dynamic pool's owner is kept in an annotation.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from lamplighter.domain.capacity.node_pool.evidence import NodePool

Patch = Mapping[str, object]

KEPT = "lamplighter/kept-limit"
WRITTEN = "lamplighter/written-limit"
STANDS_AFTER = timedelta(minutes=1)
"""A static NodePool is looked at every minute. One that waits longer waits for a refused start, up to 1,000 s."""


def ordered(node_pool: NodePool, claims: int) -> int:
    """The size that is ordered. A dynamic one that the lab never sized is as large as it is."""
    if node_pool.replicas is not None:
        return node_pool.replicas
    if node_pool.written_limit is None:
        return claims
    # The owner's limit, written over the lab's, orders nothing by itself: pods would have to come, and pass the bar.
    return max(node_pool.written_limit, claims)


def never_sized(node_pool: NodePool) -> bool:
    """Whether it is a dynamic one that the lab never sized."""
    return not node_pool.static and node_pool.written_limit is None


def maximum(node_pool: NodePool) -> int | None:
    """The most nodes that it may have; None where nobody has set a limit."""
    return node_pool.limit if node_pool.kept_limit is None else node_pool.kept_limit or None


def written_over(node_pool: NodePool) -> bool:
    """Whether somebody wrote another limit over the lab's, as GitOps does."""
    return node_pool.written_limit is not None and node_pool.limit != node_pool.written_limit


def to(node_pool: NodePool, size: int, most: int | None = None) -> Patch:
    """Exactly this size; with `most` another maximum as well."""
    if node_pool.static:
        if most is not None:
            return _patch(replicas=size, limit=most, annotations={KEPT: None})
        if node_pool.kept_limit is not None:
            # A removal was cut off before it gave the limit back.
            return _patch(replicas=size, limit=node_pool.kept_limit, annotations={KEPT: None})
        return _patch(replicas=size)
    kept = node_pool.limit if node_pool.kept_limit is None else node_pool.kept_limit
    notes = {KEPT: str(most if most is not None else kept or 0), WRITTEN: str(size)}
    return _patch(limit=size, annotations=notes)


def anew(node_pool: NodePool, size: int, claims: int, now: datetime) -> tuple[Patch, ...]:
    """Has Karpenter try at once what it was refused before: only a change of `replicas` cuts its wait short.

    Nothing where the size was written just now, or all of it is there. It never asks for fewer nodes than there are.
    """
    lately = node_pool.sized_at is not None and now - node_pool.sized_at < STANDS_AFTER
    if not node_pool.static or node_pool.replicas != size or claims >= size or lately:
        return ()
    return _patch(replicas=claims), to(node_pool, size)


def fewer(node_pool: NodePool, taken: int, of: int) -> int:
    """The size without `taken` chosen claims `of` those that stay.

    A removal that was cut off after some of its claims left the size of a static NodePool as it was, and the limit of a
    dynamic one as it shall be: then the claims tell how many are left.
    """
    size = node_pool.replicas if node_pool.replicas is not None else node_pool.limit or 0
    less, left = max(0, size - taken), of - taken
    if not node_pool.static:
        return max(less, min(size, left))
    return less if node_pool.kept_limit is None else min(less, left)


def before_fewer(node_pool: NodePool, size: int) -> Patch:
    """Before chosen claims are deleted: no room for others in their place."""
    if not node_pool.static:
        return to(node_pool, size)
    kept = node_pool.limit if node_pool.kept_limit is None else node_pool.kept_limit
    return _patch(limit=size, annotations={KEPT: str(kept or 0)})


def after_fewer(node_pool: NodePool, size: int) -> tuple[Patch, ...]:
    """After chosen claims are deleted: the size without them, and then the limit of before."""
    if not node_pool.static:
        return ()
    kept = node_pool.limit if node_pool.kept_limit is None else node_pool.kept_limit or None
    return _patch(replicas=size), _patch(limit=kept, annotations={KEPT: None})


_KEEP = -1


def _patch(
    *,
    replicas: int | None = None,
    limit: int | None = _KEEP,
    annotations: Mapping[str, str | None] | None = None,
) -> Patch:
    spec: dict[str, object] = {}
    if replicas is not None:
        spec["replicas"] = replicas
    if limit != _KEEP:
        spec["limits"] = {"nodes": None if limit is None else str(limit)}
    return {**({"metadata": {"annotations": dict(annotations)}} if annotations else {}), "spec": spec}
