"""A pytest plugin: names the tracked files that a test opened or listed and that the key of its part leaves out.

So the keys prove themselves: a part with such a file is not recorded as passed, and the run names the file. The plugin
sees pytest's own processes, not the programs that they start. LAMPLIGHTER_REACH names the file in which the suite has
written what each part reaches.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.checkout import ROOT
from tests.suite.reach import is_in
from tests.suite.running import NOT_IN_KEY

VARIABLE = "LAMPLIGHTER_REACH"
_BELOW = f"{ROOT}{os.sep}"
_LISTING = frozenset({"os.listdir", "os.scandir"})
_HEARD = frozenset({"open", *_LISTING})


class Opened:
    """What the tests of this process open, against what their parts reach."""

    def __init__(self, reach: Mapping[str, Any]) -> None:
        self._parts = [
            (name, part["tests"], part["ignored"], frozenset(part["files"]))
            for name, part in reach["parts"].items()
        ]
        self._folders: dict[str, set[str]] = defaultdict(set)
        for file in reach["tracked"]:
            self._folders[file.rpartition("/")[0]].add(file)
        self._files, self._part, self._seen = frozenset[str](), "", set[tuple[str, str]]()
        #: A sentence for each file that a key leaves out.
        self.problems: list[str] = []

    def begin(self, path: Path) -> None:
        """The tests of another file begin."""
        file = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        self._part = ""
        for name, tests, ignored, files in self._parts:
            if is_in(file, tests) and not is_in(file, ignored):
                self._part, self._files = name, files

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What an audit hook of Python hears."""
        if event not in _HEARD or not self._part:
            return
        path = arguments[0]
        # os.open has no mode. It names what lies in an open folder by its last part alone, as shutil.rmtree does.
        if event == "open" and arguments[1] is None and not str(path).startswith(os.sep):
            return
        if isinstance(path, str) and (self._part, path) not in self._seen:
            self._seen.add((self._part, path))
            self._compare(os.path.abspath(path))  # noqa: PTH100  a path of pathlib takes longer

    def _compare(self, path: str) -> None:
        if not path.startswith(_BELOW):
            return
        name = path.removeprefix(_BELOW)
        folder, _, file = name.rpartition("/")
        if folder.endswith("__pycache__"):
            name = f"{folder.removesuffix('__pycache__')}{file.partition('.')[0]}.py"
            folder = name.rpartition("/")[0]
        opened = self._folders[name] if name in self._folders else {name} & self._folders.get(folder, set())
        self.problems += [
            f"a test of {self._part} opened {each}, which is not in the key of that part"
            for each in sorted(opened - self._files)
        ]


def pytest_configure(config: pytest.Config) -> None:
    if VARIABLE in os.environ:
        config.pluginmanager.register(_Plugin(Path(os.environ[VARIABLE])), "opened")


def hook(hear: Callable[[str, tuple[Any, ...]], None]) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook of Python, without what it hears of Python's own looks for modules.

    A deep copy makes two events for each object. A bound method would take three times as long for them.
    """

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _HEARD:
            return
        # Python lists the folders in which it looks for a module.
        if event == "open" or not sys._getframe(1).f_code.co_filename.startswith("<frozen importlib"):
            hear(event, arguments)

    return hook


class _Plugin:
    def __init__(self, reach: Path) -> None:
        self._opened = Opened(json.loads(reach.read_text("utf-8")))
        sys.addaudithook(hook(self._opened.hear))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        # pytest itself lists folders.
        self._opened.begin(collector.path if isinstance(collector, pytest.File) else ROOT)
        try:
            return (yield)
        finally:
            self._opened.begin(ROOT)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._opened.begin(item.path)
        try:
            return (yield)
        finally:
            self._opened.begin(ROOT)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["opened"] = self._opened.problems

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._opened.problems += getattr(node, "workeroutput", {}).get("opened", [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for problem in sorted(set(self._opened.problems)):
            terminalreporter.write_line(f"{NOT_IN_KEY}{problem} (tests/suite/reach.py)", red=True)
