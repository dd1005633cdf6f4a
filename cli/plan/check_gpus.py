"""The notes of `check` on windows that are open together and ask for different GPU settings."""

from collections.abc import Iterable, Iterator

from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.gpu.sharing import offer
from lamplighter.lab.model import Lab


def overlapping(lab: Lab, opened: Iterable[PlannedWindow]) -> Iterator[str]:
    """A line for each pair of windows that are open together and cannot both have their settings.

    A pool's nodes are offered in one way at a time, and the operator has one ClusterPolicy for all pools.
    """
    if all(window.gpu is None for window in lab.windows):
        return
    told: set[tuple[str, str]] = set()
    still: list[PlannedWindow] = []
    for one in sorted(opened, key=lambda each: (each.opening, each.order)):
        still = [each for each in still if each.closing > one.opening]
        for earlier in still:
            pair = earlier.window, one.window
            if pair not in told and (what := _differ(lab, earlier, one)):
                told.add(pair)
                yield (
                    f"windows {earlier.window} and {one.window} are open together and {what}; what {earlier.window},"
                    f" which opens first, asks for stays, and {one.window} says so when it opens"
                )
        still.append(one)


def _differ(lab: Lab, earlier: PlannedWindow, later: PlannedWindow) -> str | None:
    if earlier.pool == later.pool:
        first, second = (offer(lab, one.pool, one.window) for one in (earlier, later))
        if first != second:
            return f"offer the GPUs of pool {earlier.pool} differently ({first.called}, {second.called})"
    changes = lab.gpu_overlay(earlier.window), lab.gpu_overlay(later.window)
    if all(changes) and changes[0] != changes[1]:
        return "change the GPU Operator differently"
    return None
