"""The parts of the suite and the commands of each; the Makefile knows none of them.

Without LAMPLIGHTER_TESTS=long the tests that are marked `long` stay out; with it those that look no longer do
(tests/conftest.py).
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONG = os.environ.get("LAMPLIGHTER_TESTS") == "long"
TYPED = ("app.py", "cli", "docs", "lambdas/lamplighter", "lambdas/handlers", "local", "stacks", "tests")
#: What pytest ends with where every test was left out.
NO_TESTS = 5

Command = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """What is begun, timed and reported as one: commands, of which the first that fails is the last."""

    name: str
    commands: tuple[Command, ...]
    #: Exit statuses that are well.
    well: tuple[int, ...] = (0,)
    #: Whether what it prints is worth reading where it passes, as the seeds of a long run are.
    shown: bool = False

    def with_options(self, *options: str) -> "Part":
        """The same with more options for its last command."""
        *before, last = self.commands
        return replace(self, commands=(*before, (*last, *options)))


def program(name: str) -> str:
    """A program of the environment that runs this one."""
    return str(Path(sys.executable).with_name(name))


#: One more than the processors of the smallest machine: a test that waits leaves its own to another.
WORKERS = 3


def _tests(name: str, *arguments: str, workers: int = WORKERS) -> Part:
    chosen = () if LONG else ("-m", "not long")
    command = (program("pytest"), "-q", "-n", str(workers), *chosen, *arguments)
    return Part(name, (command,), well=(0, NO_TESTS), shown=LONG)


LINT = Part(
    "lint",
    (
        (program("ruff"), "check", "."),
        (program("ruff"), "format", "--check", "."),
        (program("lint-imports"),),
    ),
)
TYPES = Part("types", ((program("mypy"), *TYPED),))
_SMALL = ("--dist", "worksteal")
_LOCAL = ("tests/local", "--ignore", "tests/local/cluster")
UNIT = _tests("unit", *_SMALL, "tests/unit")
PROPERTIES = _tests("properties", *_SMALL, "tests/properties")
INFRA = _tests("infra", *_SMALL, "tests/infra")
LOCAL = _tests("local", *_SMALL, *_LOCAL)
#: Those four in one process, which saves starting three times.
SMALL = _tests(
    "unit, properties, infra, local", *_SMALL, "tests/unit", "tests/properties", "tests/infra", *_LOCAL
)
#: Each worker starts a control plane of its own here, for all its tests.
CLUSTER = _tests("cluster", "--dist", "loadfile", "tests/local/cluster", workers=2)
SCENARIOS = _tests("scenarios", "--dist", "loadscope", "--no-loadscope-reorder", "tests/scenarios")

#: What runs beside each other; the parts of a row one after another. No check and no cluster looks longer.
ROWS: tuple[tuple[Part, ...], ...] = (
    ((SMALL, SCENARIOS),) if LONG else ((LINT, TYPES), (SMALL, CLUSTER, SCENARIOS))
)
#: Each by itself, as `make bench` measures them.
PARTS = (LINT, TYPES, UNIT, PROPERTIES, INFRA, LOCAL, CLUSTER, SCENARIOS)
