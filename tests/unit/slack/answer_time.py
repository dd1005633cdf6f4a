"""The seconds of a request handler in a test: they pass only where its code waits, or where the lab hangs.

No real second passes, so a busy machine changes no answer. `make bench` measures the real seconds of an answer.
"""

import queue
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from lamplighter import clock
from lamplighter.application.slack import receiving
from tests.steady.hang import HANG_SECONDS

_HANGS = object()


class AnswerTime:
    """`seconds` have passed so far. `until_let_go` hangs, until the test calls `let_go.set()`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        self.let_go = threading.Event()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: self.seconds, sleep=self._pass))
        monkeypatch.setattr(
            receiving, "queue", SimpleNamespace(SimpleQueue=self._new_queue, Empty=queue.Empty)
        )

    def until_let_go(self) -> None:
        """Blocks the thread of an answer: whoever waits for it waits in vain, for as long as it is ready to."""
        self._answers.put(_HANGS)
        assert self.let_go.wait(HANG_SECONDS)

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds

    def _new_queue(self) -> SimpleNamespace:
        answers = self._answers = queue.SimpleQueue()

        def get(timeout: float) -> Any:
            answer = answers.get(timeout=HANG_SECONDS)
            if answer is _HANGS:
                self._pass(timeout)
                raise queue.Empty
            return answer

        return SimpleNamespace(put=answers.put, get=get)
