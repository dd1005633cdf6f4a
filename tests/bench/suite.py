"""What the suite itself takes: processor seconds of each of its parts, and which tests are the slowest.

Processor seconds hardly move with what else the machine does. A part counts with all that it starts: workers,
the control planes and functions of embedded clouds, the CDK's node. Linters and type checker begin without a cache.
"""

import heapq
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.bench.figure import Measurement
from tests.suite.parts import LINT, PARTS, TYPES, Part
from tests.suite.running import Running

SLOWEST = 20


def _take() -> Mapping[str, float]:
    processor: dict[str, float] = {}
    tests: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="lamplighter-bench-") as folder:
        for part in PARTS:
            report = Path(folder, f"{part.name}.xml")
            ended = Running().run(part.with_options(*_options(part, Path(folder), report)))
            if not ended.passed:
                raise RuntimeError(f"{part.name} failed:\n{ended.output}")
            processor[f"suite-{part.name}"] = ended.processor
            if report.exists():
                tests += _times(report)
    return {**processor, **dict(heapq.nlargest(SLOWEST, tests, key=lambda test: test[1]))}


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


MEASUREMENTS = (Measurement({f"suite-{part.name}": "s" for part in PARTS}, _take, others="s"),)
