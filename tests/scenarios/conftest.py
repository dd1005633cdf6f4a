"""Which scenario goes before which, and the one embedded cloud of those that deploy and wreck.

There is one cloud a process: whoever starts a cloud of their own goes before the one that stays.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.cloud import Cloud
from tests.scenarios.lab_day import LabDay

LAB = Path(__file__).with_name("lab.yaml")
#: A day before the first window of that lab.
BEGINS = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
#: The longest comes first; of those on one cloud, what wrecks the lab last.
FIRST = "misfortunes"
ON_ONE_CLOUD = (
    "test_dead_for_a_day",
    "test_calendar_changes",
    "test_upgrade",
    "test_deploys",
    "test_all_functions_deleted",
)
#: Their cloud, while it runs.
_STARTED: list[Cloud] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.cloud)
        # How its threads end, when a clock is stopped, is no matter of a scenario.
        item.add_marker(pytest.mark.filterwarnings("ignore:Exception in thread"))
    places = [index for index, item in enumerate(items) if item in ours]
    for place, item in zip(places, sorted(ours, key=_turn), strict=True):
        items[place] = item


def _turn(item: pytest.Item) -> int:
    name = item.path.stem
    return 2 + ON_ONE_CLOUD.index(name) if name in ON_ONE_CLOUD else name != FIRST


@pytest.fixture(scope="session")
def started() -> Iterator[LabDay]:
    """The lab, deployed."""
    with Cloud(LAB, rate=1, start=BEGINS, progress=print) as cloud:
        cloud.up()
        cloud.aws.functions.warm_up()
        yield LabDay(cloud)


@pytest.fixture
def lab(started: LabDay) -> LabDay:
    """The lab with nothing running: whatever the last scenario left has come to its end."""
    started.until_quiet()
    started.samples.clear()
    return started
