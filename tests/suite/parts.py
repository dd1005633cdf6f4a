"""The parts of the suite, which of them share a process, and in which order they begin.

Without LAMPLIGHTER_TESTS=long, the tests marked `long` are left out. With it, tests that do nothing more in a long
run are left out (tests/conftest.py). A part that passed with the same files is left out (tests/suite/passed.py), so a
part is cut where its files differ from those of the others.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.checkout import ROOT

LONG = os.environ.get("LAMPLIGHTER_TESTS") == "long"
TYPED = ("app.py", "cli", "docs", "lambdas/lamplighter", "lambdas/handlers", "local", "stacks", "tests")
#: The exit status of pytest when it ran no test.
NO_TESTS = 5
#: One more than the cores of the smallest machine: while a test waits, another one uses its core.
WORKERS = 3
#: Sessions that run at the same time. In the long run the real Karpenter's wait most of the time.
AT_ONCE = 3 if LONG else 2
#: Workers of a session of scenarios. Each has a control plane, and with nine on two cores API servers may answer too
#: late.
FEW = 2 if LONG else WORKERS

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
    #: Files and folders of its tests, and those in them that belong to another part.
    tests: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    #: Endings of the files that it reads, for a part without tests, and of those among them that it does not read. A
    #: part with neither tests nor endings always runs.
    reads: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    #: Commands that print the version of a program which no lock holds. If one is missing, tests may be skipped.
    versions: tuple[Command, ...] = ()
    #: The folder of what it leaves for the parts after it.
    makes: Path | None = None
    #: How pytest distributes its tests.
    options: tuple[str, ...] = ()
    #: The parts that run in its process.
    together: tuple["Part", ...] = field(default=(), repr=False)

    @property
    def parts(self) -> tuple["Part", ...]:
        return self.together or (self,)

    def with_options(self, *options: str) -> "Part":
        """The same part with more options for its last command."""
        *before, last = self.commands
        return replace(self, commands=(*before, (*last, *options)))


def program(name: str) -> str:
    """The path of a program in the environment of this one."""
    return str(Path(sys.executable).with_name(name))


#: Each worker takes the next test.
_NEXT = ("-n", str(WORKERS), "--dist", "worksteal")
#: Each worker starts a control plane of its own for all its tests.
_CLUSTER = ("-n", "2", "--dist", "loadfile")
_SCENARIO = ("--dist", "loadscope", "--no-loadscope-reorder")
#: The second imports the first, and pytest warns of a plugin that is already imported.
_PLUGINS = ("-p", "tests.suite.time_limit", "-p", "tests.suite.opened", "-p", "tests.suite.collection")


def _tests(name: str, *tests: str, options: tuple[str, ...] = _NEXT, ignored: tuple[str, ...] = ()) -> Part:
    chosen = () if LONG else ("-m", "not long")
    command = (program("pytest"), "-q", *_PLUGINS, *options, *chosen, *tests)
    command += tuple(f"--ignore={path}" for path in ignored)
    return Part(name, (command,), (0, NO_TESTS), shown=LONG, tests=tests, ignored=ignored, options=options)


def in_one_process(parts: Sequence[Part]) -> Part:
    """Parts that pytest can run together, which saves the other starts."""
    if len(parts) == 1:
        return parts[0]
    tests = tuple(path for part in parts for path in part.tests)
    ignored = tuple(path for part in parts for path in part.ignored if path not in tests)
    name = ", ".join(part.name for part in parts)
    return replace(_tests(name, *tests, options=parts[0].options, ignored=ignored), together=tuple(parts))


LINT = Part(
    "lint",
    (
        (program("ruff"), "check", "."),
        (program("ruff"), "format", "--check", "."),
        (program("lint-imports"),),
    ),
)
TYPES = Part("types", ((program("mypy"), *TYPED),), reads=(".py",))
#: What reads the documentation, or the source text of whole folders.
_PROJECT = (
    "tests/unit/project",
    "tests/unit/suite",
    "tests/unit/aws/test_paginated_calls.py",
    "tests/unit/capacity/node_pool/test_lock.py",
    "tests/unit/cli/events/test_schema.py",
    "tests/unit/gpu/test_checked_types.py",
    "tests/unit/lab/test_documents.py",
    "tests/unit/lab/test_reference.py",
    "tests/unit/ledger/test_locks.py",
    "tests/unit/notices/test_texts.py",
    "tests/unit/pool/test_instances.py",
    "tests/unit/reasons/test_codes.py",
    "tests/unit/slack/test_reference.py",
    "tests/unit/views/test_views.py",
    "tests/infra/test_pages.py",
)
UNIT = _tests("unit", "tests/unit", ignored=_PROJECT)
PROJECT = _tests("project", *_PROJECT)
PROPERTIES = _tests("properties", "tests/properties")
INFRA = _tests("infra", "tests/infra", ignored=_PROJECT)
#: What plays or synthesises the product on this machine; the rest of `local` is the embedded cloud alone.
_PLAYED = (
    "tests/local/aws/launches/test_block_offerings.py",
    "tests/local/demo",
    "tests/local/cloudformation/test_assembly.py",
    "tests/local/cloudformation/test_cluster_logs.py",
    "tests/local/cloudformation/test_cluster_zones.py",
    "tests/local/cloudformation/test_first_deploys.py",
    "tests/local/cloudformation/test_synthesiser.py",
    "tests/local/cloudformation/test_unpacked_assets.py",
    "tests/local/test_child_process.py",
)
_AT = "tests/local/cluster"
_CHARTS = "tests/local/karpenter"
LOCAL = _tests("local", "tests/local", ignored=(*_PLAYED, _AT, _CHARTS))
PLAYED = _tests("played", *_PLAYED)
#: These change what the whole cluster has, Karpenter's definitions or its nodes, so each has clusters of its own. Most
#: of their time they wait, because Karpenter's clock is real.
CONTROLLER = _tests("controller", f"{_AT}/karpenter", _CHARTS, options=_CLUSTER)
NODE_POOLS = _tests(
    "node-pools",
    *(f"{_AT}/{path}" for path in ("node_pool_port", "node_pools", "test_failsafe_machine.py")),
    options=_CLUSTER,
)
NODES = _tests("nodes", f"{_AT}/auto_mode", f"{_AT}/nodes", options=_CLUSTER)
_APART = (CONTROLLER, NODE_POOLS, NODES)
CLUSTER = _tests(
    "cluster", _AT, options=_CLUSTER, ignored=tuple(path for part in _APART for path in part.tests)
)
BROWSER = replace(
    _tests("browser", "tests/browser", options=("-n", "2", "--dist", "loadscope")),
    versions=tuple(
        (name, "--version") for name in ("chromedriver", "chromium", "chromium-browser", "google-chrome")
    ),
)
_PYTHONS = "from stacks.pythons import find; print(*(find(f'3.{minor}') for minor in range(11, 15)))"
#: It copies the whole checkout, and what it shows depends on the Pythons of this machine.
MACHINES = replace(
    _tests("machines", "tests/machines", options=("-n", "2")),
    tests=(),
    reads=("",),
    unread=(".md",),
    versions=((sys.executable, "-c", _PYTHONS),),
)


_IN = "tests/scenarios"


def _scenarios(name: str, *paths: str, ignored: tuple[str, ...] = (), workers: int = FEW) -> Part:
    tests = tuple(f"{_IN}{path}" for path in paths)
    return replace(
        _tests(name, *tests, options=("-n", str(workers), *_SCENARIO), ignored=ignored),
        makes=ROOT / ".build" / "judged" / (f"{name}-long" if LONG else name),
    )


#: The parts before SCENARIOS have only tests that are `long`.
EXAMPLES = _scenarios("examples", "/examples")
#: The deploys that share a cloud with other scenarios run with them.
DEPLOYS = _scenarios(
    "deploys",
    *(
        f"/deploys/test_{name}.py"
        for name in ("adopted", "kubernetes_upgrade", "upgrade", "without_operator")
    ),
)
KARPENTER = _scenarios("karpenter", "/karpenter", "/auto_mode", "/rails", workers=WORKERS)
#: What the documentation says is played.
GUIDES = _scenarios("guides", "/events", "/test_tutorial.py")
LONG_SCENARIOS = (EXAMPLES, DEPLOYS, KARPENTER, GUIDES)
SCENARIOS = _scenarios("scenarios", "", ignored=tuple(path for part in LONG_SCENARIOS for path in part.tests))
SCENARIO_PARTS = (SCENARIOS, *LONG_SCENARIOS)
POLICIES = Part("policies", ((sys.executable, "-m", "tests.suite.policies"),), shown=True)

_SMALL = (UNIT, PROJECT, PROPERTIES, INFRA, LOCAL, PLAYED)
#: The sessions in the order in which they begin. The parts of a session share a process. A long run begins with the
#: longest, those that wait most, and the random histories, so that the laws are judged on a slow machine too.
SESSIONS: tuple[tuple[Part, ...], ...] = (
    (
        (KARPENTER,),
        (SCENARIOS,),
        (UNIT, PROPERTIES, INFRA, LOCAL, PLAYED),
        *((part,) for part in (EXAMPLES, CONTROLLER, DEPLOYS, GUIDES, NODE_POOLS, NODES)),
        *(((MACHINES,),) if (ROOT / "tests/machines").exists() else ()),
    )
    if LONG
    else ((LINT,), (TYPES,), _SMALL, (CONTROLLER,), (NODE_POOLS,), (NODES,), (CLUSTER,), (SCENARIOS,))
)
#: Runs at the end, if all others passed or were left out.
LAST: tuple[Part, ...] = (POLICIES,) if LONG else ()
#: Each part that can be named.
PARTS = (LINT, TYPES, *_SMALL, CLUSTER, *_APART, *SCENARIO_PARTS, BROWSER, MACHINES)
