"""One embedded cloud with the scenarios' lab for all of them, one after the other."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.cloud import Cloud
from tests.scenarios.lab_day import LabDay

LAB = Path(__file__).with_name("lab.yaml")
MORNING = datetime(2026, 12, 1, 7, 50, tzinfo=UTC)
AFTERNOON = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
#: What needs the machine for itself comes first, then what needs the morning's windows; what wrecks, last.
FIRST = ("test_day", "test_killed_functions")
LAST = ("test_deploys", "test_all_functions_deleted")


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
    if name in FIRST:
        return FIRST.index(name) - len(FIRST)
    return LAST.index(name) + 1 if name in LAST else 0


@pytest.fixture(scope="session")
def started(request: pytest.FixtureRequest) -> Iterator[LabDay]:
    """The lab, deployed; its day begins before the windows where a scenario is about them."""
    windows = any(item.path.stem == "test_killed_functions" for item in request.session.items)
    with Cloud(LAB, rate=1, start=MORNING if windows else AFTERNOON, progress=print) as cloud:
        cloud.up()
        cloud.aws.functions.warm_up()
        yield LabDay(cloud)


@pytest.fixture
def lab(started: LabDay) -> LabDay:
    """The lab with nothing running: whatever the last scenario left has come to its end."""
    started.until_quiet()
    started.samples.clear()
    return started
