"""Work on a thread of its own while its starter continues; its result or error comes later."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundThread(Generic[Result]):
    """The work starts at once. Its thread is a daemon: it never keeps the process alive."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._outcome: list[Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> Result:
        """Waits for the work. Raises its error."""
        self._thread.join()
        if self._error:
            raise self._error
        return self._outcome[0]

    def ended(self, seconds: float) -> bool:
        """Whether it ends, successfully or not, within this many real seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._outcome.append(self._work())
        except BaseException as error:  # noqa: BLE001 (raised where the result is asked for)
            self._error = error
