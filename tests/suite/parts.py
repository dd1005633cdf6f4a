"""The parts of the suite and the commands of each part. The Makefile does not name them.

Without LAMPLIGHTER_TESTS=long, the tests marked `long` are left out. With it, tests that do nothing more in a long
run are left out (tests/conftest.py).
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONG = os.environ.get("LAMPLIGHTER_TESTS") == "long"
TYPED = ("app.py", "cli", "docs", "lambdas/lamplighter", "lambdas/handlers", "local", "stacks", "tests")
#: The exit status of pytest when it ran no test.
NO_TESTS = 5

Command = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Commands that are timed and reported as one. The first command that fails ends the part."""

    name: str
    commands: tuple[Command, ...]
    #: Exit statuses that mean success.
    well: tuple[int, ...] = (0,)
    #: Whether the output is shown when the part passes, for example the seeds of a long run.
    shown: bool = False

    def with_options(self, *options: str) -> "Part":
        """The same part with more options for its last command."""
        *before, last = self.commands
        return replace(self, commands=(*before, (*last, *options)))


def program(name: str) -> str:
    """The path of a program in the environment of this one."""
    return str(Path(sys.executable).with_name(name))


#: One more than the cores of the smallest machine: while a test waits, another one uses its core.
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
#: These four parts in one process, which saves three starts.
SMALL = _tests(
    "unit, properties, infra, local", *_SMALL, "tests/unit", "tests/properties", "tests/infra", *_LOCAL
)
_AT = "tests/local/cluster"
#: Paths that change what the whole cluster has, Karpenter's definitions or its nodes. Those of a row share clusters.
_APART = tuple(
    tuple(f"{_AT}/{path}" for path in row)
    for row in (
        ("karpenter",),
        ("node_pool_port", "node_pools", "test_failsafe_machine.py"),
        ("auto_mode", "nodes"),
    )
)
#: Each worker starts a control plane of its own for all its tests.
CLUSTER = _tests(
    "cluster",
    *("--dist", "loadfile", _AT, *(f"--ignore={path}" for row in _APART for path in row)),
    workers=2,
)
#: Most of it waits, because Karpenter's clock is real.
NODE_POOLS = replace(
    CLUSTER,
    name="node-pools",
    commands=tuple(
        command for row in _APART for command in _tests("", "--dist", "loadfile", *row, workers=2).commands
    ),
)
SCENARIOS = _tests("scenarios", "--dist", "loadscope", "--no-loadscope-reorder", "tests/scenarios")

#: Rows run at the same time; the parts of a row run one after another. A long run repeats no check and no cluster. Its
#: scenarios wait half of the time for Karpenter, and histories are played meanwhile.
ROWS: tuple[tuple[Part, ...], ...] = (
    ((SMALL, NODE_POOLS), (SCENARIOS,)) if LONG else ((LINT, TYPES, NODE_POOLS), (SMALL, CLUSTER, SCENARIOS))
)
#: Each part alone, as `make bench` measures them.
PARTS = (LINT, TYPES, UNIT, PROPERTIES, INFRA, LOCAL, CLUSTER, NODE_POOLS, SCENARIOS)
