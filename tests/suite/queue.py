"""Runs parts, some at the same time, and prints for each when it begins and how long it took.

The output of a failed part is printed whole, at its end, so that outputs do not mix.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence

from tests.suite.parts import Part
from tests.suite.running import Ended, Running

#: Seconds between two lines that say what still runs.
SAID_EVERY = 60.0


def run(
    parts: Sequence[Part],
    at_once: int = 1,
    last: Sequence[Part] = (),
    passed: Callable[[Ended], None] = lambda _: None,
) -> int:
    """Runs all parts in this order, so many at once, and those of `last` if all others passed and no test was left.

    Calls `passed` after each part that passed. Returns 1 if a part failed.
    """
    suite = _Suite(parts, passed)
    threads = [threading.Thread(target=suite.run, daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(SAID_EVERY)
                if thread.is_alive():
                    suite.say_what_runs()
        if not suite.failed() and not suite.not_begun():
            suite.add(last)
            suite.run()
    finally:
        suite.running.end()
    return suite.sum_up()


class _Suite:
    def __init__(self, parts: Sequence[Part], passed: Callable[[Ended], None]) -> None:
        self.running = Running()
        self._passed = passed
        self._waiting = list(parts)
        self._names = [part.name for part in parts]
        self._begun = time.monotonic()
        self._since: dict[str, float] = {}
        self._ended: list[Ended] = []
        self._lock = threading.Lock()

    def add(self, parts: Sequence[Part]) -> None:
        self._waiting += parts
        self._names += [part.name for part in parts]

    def run(self) -> None:
        """Runs the waiting parts one after another, also after a failed one."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                part = self._waiting.pop(0)
                self._since[part.name] = time.monotonic()
                _say(f"{part.name}: begins")
            ended = self.running.run(part)
            with self._lock:
                del self._since[part.name]
                self._ended.append(ended)
                _say_end(ended)
                if ended.passed:
                    self._passed(ended)

    def failed(self) -> list[str]:
        """The names of the parts that failed, could not run or have not ended."""
        passed = {ended.part.name for ended in self._ended if ended.passed}
        return [name for name in self._names if name not in passed]

    def not_begun(self) -> int:
        """How many tests were left when the time of the run was over."""
        return sum(ended.not_begun for ended in self._ended)

    def say_what_runs(self) -> None:
        with self._lock:
            for name, since in self._since.items():
                _say(f"{name}: for {_minutes(time.monotonic() - since)} now")

    def sum_up(self) -> int:
        failed = self.failed()
        whole = _minutes(time.monotonic() - self._begun)
        processor = _minutes(sum(ended.processor for ended in self._ended))
        left = f"; NOT BEGUN: {number} tests" if (number := self.not_begun()) else ""
        failures = f"; FAILED: {'; '.join(failed)}" if failed else ""
        _say(f"All: {whole}, {processor} of a processor{left}{failures}")
        return 1 if failed else 0


def _say_end(ended: Ended) -> None:
    took = f"{_minutes(ended.real)}, {_minutes(ended.processor)} of a processor"
    if ended.part.shown or not ended.passed:
        _say(f"{ended.part.name}: its output\n{ended.output.rstrip()}")
    else:
        for reason, number in ended.skipped.items():
            _say(f"{ended.part.name}: skipped {number}: {reason}")
        for line in ended.not_in_key:
            _say(f"{ended.part.name}: {line}")
    result = ended.last_line if ended.passed else "FAILED, see above"
    _say(f"{ended.part.name}: {took}: {result}")


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
