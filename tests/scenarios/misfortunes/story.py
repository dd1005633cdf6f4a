"""Makes a test from a story: all stories are played together, and each is judged on its own."""

from collections.abc import Callable

from tests.scenarios.misfortunes.day import Day
from tests.scenarios.misfortunes.pool import Pool, Story

#: The attribute of a test that holds (pool, story).
STORY = "lamplighter_story"


def story(pool: str) -> Callable[[Callable[[Pool], Story]], Callable[[Day], None]]:
    """The story of a pool; the test with its name asserts what the story asserts."""

    def register(tell: Callable[[Pool], Story]) -> Callable[[Day], None]:
        def test(day: Day) -> None:
            outcome = day.outcomes[pool]
            if outcome.error is not None:
                raise outcome.error
            assert outcome.told, f"the story of pool {pool} was not told to its end"

        test.__name__, test.__doc__ = tell.__name__, tell.__doc__
        test.__module__ = tell.__module__
        setattr(test, STORY, (pool, tell))
        return test

    return register
