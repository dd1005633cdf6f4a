"""One embedded cloud with the scenarios' lab for all of them, one after the other."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.cloud import Cloud
from tests.scenarios.lab_day import LabDay

LAB = Path(__file__).with_name("lab.yaml")
#: When the day begins, by what is about windows in it; else after all of them.
BEGINS = {
    "test_killed_functions": datetime(2026, 12, 1, 7, 50, tzinfo=UTC),
    "test_hand_over": datetime(2026, 12, 1, 12, 20, tzinfo=UTC),
}
AFTERNOON = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
#: What needs the machine for itself comes first, what wrecks the lab last.
FIRST, WRECKS = "test_day", ("test_deploys", "test_all_functions_deleted")


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
    """Whoever starts a cloud of their own goes before the one that stays: there is one a process."""
    name = item.path.stem
    if "started" not in getattr(item, "fixturenames", ()):
        return 0 if name == FIRST else 1
    if name in BEGINS:
        return 2 + list(BEGINS).index(name)
    return 11 + WRECKS.index(name) if name in WRECKS else 10


@pytest.fixture(scope="session")
def started(request: pytest.FixtureRequest) -> Iterator[LabDay]:
    """The lab, deployed; its day begins before the windows where a scenario is about them."""
    selected = {item.path.stem for item in request.session.items}
    begins = min((instant for name, instant in BEGINS.items() if name in selected), default=AFTERNOON)
    with Cloud(LAB, rate=1, start=begins, progress=print) as cloud:
        cloud.up()
        cloud.aws.functions.warm_up()
        yield LabDay(cloud)


@pytest.fixture
def lab(started: LabDay) -> LabDay:
    """The lab with nothing running: whatever the last scenario left has come to its end."""
    started.until_quiet()
    started.samples.clear()
    return started
