"""The order of the scenarios, and the embedded cloud of those that deploy and break things.

A process has one cloud at a time. So scenarios that share a cloud run together, and the cloud ends with the last.
"""

import os
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from local.cloud import Cloud
from local.synthesis.synthesiser import Synthesiser
from tests.device_plugin_chart import chart_or_skip
from tests.scenarios import judged

# A failed scenario keeps its cloud's state, and says so.
from tests.scenarios.failed_scenario import pytest_configure, pytest_runtest_makereport  # noqa: F401
from tests.scenarios.lab_day import LabDay

# The scenarios of a process synthesise many labs.
Synthesiser.stays = True
LAB = judged.LIST.with_name("lab.yaml")
#: A day before the first window of that lab.
BEGINS = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
#: They share a cloud.
MISFORTUNES = "misfortunes"
#: On one cloud, the scenarios that break the lab come last.
ON_ONE_CLOUD = (
    "test_dead_for_a_day",
    "test_handed_on",
    "test_pages",
    "test_wheel",
    "test_calendar_changes",
    "test_edits",
    "test_failed_scenario",
    "test_deploys",
    "test_all_functions_deleted",
)
#: The first scenario of a shared cloud waits for its start, which takes long on a busy machine.
SECONDS = 900
#: The first of these waits for many pools or nodes at once. Their clock is slower on a busy machine. They come first,
#: so that a run whose time is over does not wait for them.
CROWDED = (MISFORTUNES, "test_causes", "test_big_pool")
CROWDED_SECONDS = 3000
#: Their cloud, while it runs.
_STARTED: list[Cloud] = []


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """The scenarios that share a cloud run in one process."""
    return ByCloud(config, log)


class ByCloud(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out all tests of one cloud together."""

    def _split_scope(self, nodeid: str) -> str:
        return _cloud(Path(nodeid.partition("::")[0]))


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(judged.FOLDER, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Each process writes what it judged. What could not be judged fails the session."""
    worker = getattr(session.config, "workerinput", {}).get("workerid", "")
    if worker or not session.config.pluginmanager.has_plugin("dsession"):
        judged.write(judged.FOLDER, worker or "main")
    if not worker and not session.exitstatus and judged.not_judged(judged.read(judged.FOLDER)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    every = judged.read(judged.FOLDER)
    if not every.calls:
        return
    missing = len(every.missing())
    terminalreporter.write_line(
        f"policies: {every.calls} calls judged, {len(every.exercised)} lines exercised, {missing} not,"
        f" {sum(every.not_judged.values())} calls not judged: {judged.FOLDER.relative_to(Path.cwd())}"
    )
    for problem in judged.not_judged(every):
        terminalreporter.write_line(problem, red=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if judged.LIST.parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.cloud)
        item.add_marker(pytest.mark.timeout(CROWDED_SECONDS if _is_crowded(item) else SECONDS))
        # A scenario does not care how the cloud's threads end when a clock is stopped.
        item.add_marker(pytest.mark.filterwarnings("ignore:Exception in thread"))
    places = [index for index, item in enumerate(items) if item in ours]
    for place, item in zip(places, sorted(ours, key=_turn), strict=True):
        items[place] = item


def _cloud(test: Path) -> str:
    """The name of the cloud that the tests of a file use."""
    shared = "started" if test.stem in ON_ONE_CLOUD else test.stem
    return MISFORTUNES if test.parent.name == MISFORTUNES else shared


def _is_crowded(item: pytest.Item) -> bool:
    return not {item.path.parent.name, item.path.stem}.isdisjoint(CROWDED)


def _turn(item: pytest.Item) -> tuple[int, str]:
    """The order of the others changes with the seed: a slow machine leaves the last ones, and not always the same."""
    name = item.path.stem
    if _is_crowded(item):
        return 0, _cloud(item.path)
    if name in ON_ONE_CLOUD:
        return 1 + ON_ONE_CLOUD.index(name), ""
    seed = os.environ.get("LAMPLIGHTER_SEED", "")
    return 1 + len(ON_ONE_CLOUD), sha256(f"{seed} {_cloud(item.path)}".encode()).hexdigest()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if _STARTED and (nextitem is None or _cloud(nextitem.path) != "started"):
        _STARTED.pop().down()


@pytest.fixture(scope="session")
def device_plugin_chart() -> Path:
    """For a scenario whose lab installs the chart: skipped where the chart cannot be had."""
    return chart_or_skip()


@pytest.fixture(scope="session")
def started() -> LabDay:
    """The deployed lab. It ends after the last scenario that uses it."""
    cloud = Cloud(LAB, start=BEGINS, progress=print)
    _STARTED.append(cloud)
    cloud.up()
    return LabDay(cloud)


@pytest.fixture
def lab(started: LabDay) -> LabDay:
    """The lab with nothing running: everything of the last scenario has ended."""
    started.until_quiet()
    started.samples.clear()
    return started
