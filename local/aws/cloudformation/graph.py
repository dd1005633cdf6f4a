"""Work on things that depend on each other: as many at once as their order allows.

What the work is, and what a failure means, is the caller's.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

#: Some wait for minutes of virtual time (node groups, custom resources), so more than there are cores.
WORKERS = 24


def walk(before: Mapping[str, set[str]], work: Callable[[str], None]) -> dict[str, Exception]:
    """Do `work` on every name after all those that must come `before` it.

    A failure keeps what comes after from being begun and lets everything else under way end; the failures
    are returned by name.
    """
    waiting = {name: set(others) & set(before) for name, others in before.items()}
    running: dict[Future[None], str] = {}
    failures: dict[str, Exception] = {}
    with ThreadPoolExecutor(WORKERS, thread_name_prefix=threading.current_thread().name) as pool:
        while True:
            ready = sorted(name for name, others in waiting.items() if not others) if not failures else []
            for name in ready:
                del waiting[name]
                running[pool.submit(work, name)] = name
            if not running:
                return failures
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                error = future.exception()
                if isinstance(error, Exception):
                    failures[name] = error
                for others in waiting.values():
                    others.discard(name)


def reversed_order(before: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What must come before what when everything is taken away again."""
    after: dict[str, set[str]] = {name: set() for name in before}
    for name, others in before.items():
        for other in others & set(before):
            after[other].add(name)
    return after
