"""How long there is to answer Slack, and what Slack is told once that time is over."""

from collections.abc import Callable, Mapping

from lamplighter import clock


class GaveUp(Exception):
    """Slack got an answer already: this run must begin nothing more."""


class Deadline:
    """The seconds that are left for an answer. Once they are over, nothing more is begun.

    `last_word` makes the answer for a run that has nothing better to say by then.
    """

    def __init__(self, seconds: float, last_word: Callable[[], Mapping[str, object]]) -> None:
        self._over = clock.monotonic() + seconds
        self._given_up = False
        self._last_word = last_word

    def left(self) -> float:
        """The seconds that are left; 0 where none are."""
        return max(0.0, self._over - clock.monotonic())

    def give_up(self) -> None:
        """Slack is answered now."""
        self._given_up = True

    def check(self) -> None:
        """Raises GaveUp where the time is over. Call it right before anything is written or started."""
        if self._given_up or not self.left():
            raise GaveUp

    def say_at_the_end(self, answer: Mapping[str, object]) -> None:
        """Sets a better answer for the end."""
        self._last_word = lambda: answer

    def last_word(self) -> Mapping[str, object]:
        """The answer where nothing better is known."""
        return self._last_word()
