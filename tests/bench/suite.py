"""What the suite itself takes: processor seconds of each of its parts, and which tests are the slowest.

Processor seconds hardly move with what else the machine does. A part counts with all that it starts: workers,
the control planes and functions of embedded clouds, the CDK's node. Linters and type checker begin without a cache.
"""

import heapq
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.bench.figure import Measurement
from tests.suite.parts import BROWSER, LINT, LONG_SCENARIOS, MACHINES, PARTS, TYPES, Part
from tests.suite.running import Running

SLOWEST = 20


class _Suite:
    """Its parts as they are measured, and the tests that came with them."""

    def __init__(self) -> None:
        self._tests: list[tuple[str, float]] = []

    def measure(self, part: Part) -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(prefix="lamplighter-bench-") as folder:
            report = Path(folder, "report.xml")
            ended = Running().run(part.with_options(*_options(part, Path(folder), report)))
            if not ended.passed:
                raise RuntimeError(f"{part.name} failed:\n{ended.output}")
            if report.exists():
                self._tests += _times(report)
        return {f"suite-{part.name}": ended.processor}

    def slowest(self) -> Mapping[str, float]:
        return dict(heapq.nlargest(SLOWEST, self._tests, key=lambda test: test[1]))


def _options(part: Part, folder: Path, report: Path) -> tuple[str, ...]:
    if part is LINT:
        return ("--no-cache",)
    if part is TYPES:
        return ("--cache-dir", str(folder / "types"))
    return ("--junitxml", str(report))


def _times(report: Path) -> Iterator[tuple[str, float]]:
    """Each test with its real seconds, fixtures that it was the first to ask for included."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  pytest wrote it just now
        name = f"{case.get('classname')}.{case.get('name')}"
        yield "_".join(name.split()), float(case.get("time", 0))


_SUITE = _Suite()
MEASUREMENTS = (
    *(
        Measurement({f"suite-{part.name}": "s"}, partial(_SUITE.measure, part))
        for part in PARTS
        if part not in {BROWSER, MACHINES, *LONG_SCENARIOS}
    ),
    Measurement({}, _SUITE.slowest, others="s"),
)
