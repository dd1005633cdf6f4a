"""The day of misfortunes: one cloud, one clock, every selected story played once before the first is judged."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.cloud import Cloud
from tests.scenarios.misfortunes.day import Day
from tests.scenarios.misfortunes.story import STORY

LAB = Path(__file__).with_name("lab.yaml")
#: A slow machine deploys for minutes. The stories' first windows open at five past eight, and the planner's hour,
#: counted from the deploy, falls into the window in which the planner must die.
DEPLOYED, BEGINS = (datetime(2026, 12, 1, *at, tzinfo=UTC) for at in ((7, 50), (7, 58)))


@pytest.fixture(scope="package")
def day(request: pytest.FixtureRequest) -> Iterator[Day]:
    """The played day; the tests read its outcomes."""
    stories: dict[str, Callable] = {}
    for item in request.session.items:
        play = getattr(getattr(item, "function", None), STORY, None)
        if play is not None:
            pool, tell = play
            assert pool not in stories, f"two stories are told of pool {pool}"
            stories[pool] = tell
    with Cloud(LAB, start=DEPLOYED, progress=print) as cloud:
        cloud.up()
        played = Day(cloud)
        played.lose_events()
        played.play(stories, BEGINS)
        yield played
