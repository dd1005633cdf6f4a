"""How long there is to answer Slack, and what is said when that is over."""

from collections.abc import Mapping

from lamplighter import clock

TOO_SLOW = (
    "The lab could not do this just now, and nothing more was started. Try again, or ask for its status."
)


class GaveUp(Exception):
    """Slack was answered meanwhile: nothing more may be begun."""


class Patience:
    """How long there is to answer, in seconds; given up it begins nothing more.

    `last_word` is what Slack is told where nothing better is known by then.
    """

    def __init__(self, seconds: float, last_word: Mapping[str, object]) -> None:
        self._over = clock.monotonic() + seconds
        self._given_up = False
        self._last_word = last_word

    def left(self) -> float:
        """Seconds that are left; 0 where none are."""
        return max(0.0, self._over - clock.monotonic())

    def give_up(self) -> None:
        """Slack is answered now."""
        self._given_up = True

    def check(self) -> None:
        """Ask right before anything is written or started; raises GaveUp."""
        if self._given_up or not self.left():
            raise GaveUp

    def say_at_the_end(self, said: Mapping[str, object]) -> None:
        """Something better to say by then."""
        self._last_word = said

    def last_word(self) -> Mapping[str, object]:
        """What Slack is told when nothing better is known."""
        return self._last_word
