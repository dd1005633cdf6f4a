"""Work in a fiber of its own while its starter continues; its result or error comes later."""

from collections.abc import Callable
from typing import Generic, TypeVar

from local.clock import VirtualClock

Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """The work begins next, when its starter waits on the clock."""

    def __init__(self, clock: VirtualClock, name: str, work: Callable[[], Result]) -> None:
        self._clock = clock
        self._work = work
        self._outcome: list[Result] = []
        self._error: BaseException | None = None
        self.ended = False
        clock.spawn(name, self._run)

    def result(self) -> Result:
        """Lets time pass until the work has ended. Raises its error."""
        self._clock.wait_until(None, lambda: self.ended)
        if self._error is not None:
            raise self._error
        return self._outcome[0]

    def _run(self) -> None:
        try:
            self._outcome.append(self._work())
        except BaseException as error:  # noqa: BLE001 (raised where the result is asked for)
            self._error = error
        self.ended = True
