"""Which tests run the function that a change is in: those that run the fewest other functions come first."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

LAMBDAS = Path("lambdas")
#: Together they take about so long; the histories, which run nearly everything, always have their turn.
SECONDS = 45.0
HISTORIES = "tests/properties/laws/test_laws.py::test_no_history_breaks_a_law"


@dataclass(frozen=True)
class Test:
    """A test that passes as things are."""

    name: str
    seconds: float
    functions: int
    """How many of ours it runs."""


class Reach:
    """Which tests run what; `tests` is by file and first line of a function, 0 for the whole file."""

    def __init__(self, tests: Mapping[tuple[Path, int], Sequence[Test]]) -> None:
        self._tests = tests

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What tests/mutants/reach.py wrote."""
        tests: dict[tuple[Path, int], dict[str, Test]] = {}
        for line in _lines(folder):
            found = json.loads(line)
            test = Test(found["test"], found["seconds"], len(found["functions"]))
            for file, first in found["functions"]:
                for key in ((LAMBDAS / file, first), (LAMBDAS / file, 0)):
                    tests.setdefault(key, {})[test.name] = test
        return cls({key: tuple(each.values()) for key, each in tests.items()})

    def tests_of(self, file: Path, line: int, source: str) -> list[str]:
        """Names of tests for pytest; none where no test comes by."""
        found = self._tests.get((file, _function(source, line)), ())
        chosen, seconds = [], 0.0
        for test in sorted(found, key=lambda each: (each.functions, each.seconds, each.name)):
            if test.name == HISTORIES:
                continue
            seconds += test.seconds
            if seconds > SECONDS:
                break
            chosen.append(test.name)
        return [*chosen, *(HISTORIES for test in found if test.name == HISTORIES)]


def _lines(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*.jsonl")):
        yield from file.read_text("utf-8").splitlines()


def _function(source: str, line: int) -> int:
    """The first line, decorators included, of the innermost function around a line; 0 outside of any."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or 0)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    if innermost is None:
        return 0
    return min([innermost.lineno, *(each.lineno for each in innermost.decorator_list)])
