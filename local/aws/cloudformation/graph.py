"""Runs work on things that depend on each other, as much at once as their order allows.

The caller decides what the work is, and what a failure means.
"""

from collections.abc import Callable, Mapping
from functools import partial

from local.clock import VirtualClock

#: More than the number of cores, because some work waits for minutes of virtual time (node groups, custom resources).
AT_ONCE = 24


def walk(
    clock: VirtualClock, before: Mapping[str, set[str]], work: Callable[[str], None]
) -> dict[str, Exception]:
    """Does `work` on every name after all names that must come `before` it. Each runs as a fiber of its own.

    After a failure nothing that depends on it begins, and the rest that has begun runs to its end. Returns the failures
    by name.
    """
    waiting = {name: set(others) & set(before) for name, others in before.items()}
    ended: list[tuple[str, Exception | None]] = []
    failures: dict[str, Exception] = {}
    running = 0
    while True:
        ready = sorted(name for name, others in waiting.items() if not others) if not failures else []
        for name in ready[: AT_ONCE - running]:
            del waiting[name]
            running += 1
            clock.spawn(name, partial(_do, work, name, ended))
        if not running:
            return failures
        clock.wait_until(None, lambda: bool(ended))
        name, error = ended.pop(0)
        running -= 1
        if error is not None:
            failures[name] = error
        for others in waiting.values():
            others.discard(name)


def _do(work: Callable[[str], None], name: str, ended: list[tuple[str, Exception | None]]) -> None:
    try:
        work(name)
    except Exception as error:  # noqa: BLE001 (handed to whoever walks)
        ended.append((name, error))
    else:
        ended.append((name, None))


def reversed_order(before: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The order for deletion: which names must be deleted before which."""
    after: dict[str, set[str]] = {name: set() for name in before}
    for name, others in before.items():
        for other in others & set(before):
            after[other].add(name)
    return after
