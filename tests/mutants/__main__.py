"""Makes N changes at random, one at a time in a copy of the sources, and tells which no test saw.

`python -m tests.mutants [N] [SEED]`. Of each changed file the tests that are nearest to it are run until one fails;
what outlives them is left out of the score only where tests/mutants/equal.py says why it changes nothing.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.mutants.changes import Change, sample
from tests.mutants.equal import EQUAL
from tests.quick.graph import Graph
from tests.quick.nearest import nearest_tests
from tests.quick.until import VARIABLE
from tests.suite.parts import ROOT

AT_ONCE = 2
COPIED = (
    *("app.py", "cdk.json", "cli", "docs", "lab.yaml", "lambdas", "local", "pyproject.toml", "requirements"),
    *("stacks", "tests", "Makefile", "README.md", "CONTRIBUTING.md", "mkdocs.yml"),
)
#: No test begins after so many seconds; what runs then has as many again.
SECONDS = 90.0
PASSED, NOTHING_RAN = 0, 5
LAWS = ("tests/properties/test_laws.py", "tests/properties/test_experiments.py")
"""The histories read everything that decides, so they are the last to be asked."""


def main(arguments: list[str]) -> int:
    number = int(arguments[0]) if arguments else 100
    seed = int(arguments[1]) if len(arguments) > 1 else random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"{number} mutants, seed {seed}\n")
    changes, graph, begun = sample(number, seed), Graph(), time.monotonic()
    with TemporaryDirectory(prefix="lamplighter-mutants-") as made:
        copies: SimpleQueue[Path] = SimpleQueue()
        for copy in range(AT_ONCE):
            copies.put(_copy(Path(made) / str(copy)))
        with ThreadPoolExecutor(AT_ONCE) as workers:
            tried = workers.map(lambda change: _try(change, graph, copies), changes)
            lived = [
                change for change, seen in zip(changes, tried, strict=True) if not _told(change, seen=seen)
            ]
    counted = [change for change in lived if _key(change) not in EQUAL]
    killed = len(changes) - len(lived)
    sys.stdout.write(
        f"killed {killed} of {len(changes)}; {len(lived) - len(counted)} change nothing; "
        f"{len(counted)} lived, in {time.monotonic() - begun:.0f} s\n"
    )
    return 1 if counted else 0


def _copy(folder: Path) -> Path:
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    for name in (".venv", ".build"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def _try(change: Change, graph: Graph, copies: "SimpleQueue[Path]") -> bool:
    """Whether a test saw the change."""
    folder = copies.get()
    file = folder / change.file
    before = file.read_text("utf-8")
    file.write_text(change.source, "utf-8")
    try:
        nearest = [str(test) for test in nearest_tests(graph, [change.file])]
        return _fails([*(test for test in nearest if test not in LAWS), *LAWS], folder)
    finally:
        file.write_text(before, "utf-8")
        copies.put(folder)


def _fails(tests: list[str], folder: Path) -> bool:
    environment = {
        **os.environ,
        VARIABLE: str(time.time() + SECONDS),
        "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'lambdas'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    options = ("-q", "-x", "-n", "0", "-m", "not long", "-p", "no:cacheprovider", "-p", "tests.quick.until")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=2 * SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True  # it goes round and round
    return done.returncode not in {PASSED, NOTHING_RAN}


def _key(change: Change) -> tuple[str, str, str]:
    _, before, after = change.line
    return str(change.file), before, after


def _told(change: Change, *, seen: bool) -> bool:
    number, before, after = change.line
    if not seen:
        why = EQUAL.get(_key(change))
        sys.stdout.write(f"LIVES {change.file}:{number}\n  - {before}\n  + {after}\n")
        if why:
            sys.stdout.write(f"    changes nothing: {why}\n")
        sys.stdout.flush()
    return seen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
