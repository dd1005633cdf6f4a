"""The slowest of equal nodes, by a measured bus bandwidth, and how far it is behind the others.

A floor finds a broken node; a node above it that is slower than all others slows every job that waits for it.
"""

from collections.abc import Mapping
from decimal import Decimal

from lamplighter.reasons.reason import Reason, reason

#: Of fewer nodes, or of a smaller distance, it is chance.
LEAST_NODES = 3
PERCENT = 10


def stragglers(bandwidths: Mapping[str, Decimal]) -> dict[str, Reason]:
    """For each node that is at least 10 % behind the median of the others and the slowest: the sentence about it.

    Two nodes of a slow pair have the same figure and are both told.
    """
    if len(bandwidths) < LEAST_NODES:
        return {}
    slowest = min(bandwidths.values())
    others = sorted(figure for figure in bandwidths.values() if figure > slowest)
    if not others:
        return {}
    usual = others[len(others) // 2]
    behind = round((1 - slowest / usual) * 100)
    if behind < PERCENT:
        return {}
    return {
        node: reason("check.straggler", bandwidth=str(slowest), usual=str(usual), behind=behind)
        for node, figure in bandwidths.items()
        if figure == slowest
    }
