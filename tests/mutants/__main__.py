"""Makes N changes at random, one at a time in a copy of the sources, and tells which no test saw.

`python -m tests.mutants [N] [SEED] [WITHIN]`; WITHIN is how the paths of the changed files begin. The tests that run
the changed function are run until one fails, and the histories at last; what outlives them is left out of the score
only where tests/mutants/equal.py says why it changes nothing. The score of all sources is written into
docs/reference/performance.md.
"""

import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.checkout import ROOT
from tests.copied_sources import copy_sources
from tests.mutants import reach
from tests.mutants.changes import Change, sample
from tests.mutants.equal import EQUAL
from tests.mutants.tests_of import Reach

AT_ONCE = 2
COPIED = (
    *("app.py", "cdk.json", "cli", "docs", "lab.yaml", "lambdas", "local", "pyproject.toml", "requirements"),
    *("stacks", "tests", "Makefile", "README.md", "CONTRIBUTING.md", "mkdocs.yml"),
)
TESTS = ("tests/unit", "tests/properties")
#: A test that takes so much longer than all of them should goes round and round.
SECONDS = 150.0
PASSED = 0
PAGE = ROOT / "docs" / "reference" / "performance.md"
_LAST = re.compile(r"^(The last run of `make mutants`: ).*$", re.MULTILINE)


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 12):
        sys.stderr.write("make mutants: needs Python 3.12 or newer, which tells what a test runs\n")
        return 2
    number = int(arguments[0]) if arguments else 100
    seed = int(arguments[1]) if len(arguments) > 1 else random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"{number} mutants, seed {seed}\n")
    changes, begun = sample(number, seed, *arguments[2:3]), time.monotonic()
    with TemporaryDirectory(prefix="lamplighter-mutants-") as made:
        copies: SimpleQueue[Path] = SimpleQueue()
        for copy in range(AT_ONCE):
            copies.put(_copy(Path(made) / str(copy)))
        known = os.environ.get(reach.VARIABLE)
        reached = Reach.read(Path(known)) if known else _reached(Path(made), copies)
        sys.stdout.write(f"which test runs what: {time.monotonic() - begun:.0f} s\n")
        with ThreadPoolExecutor(AT_ONCE) as workers:
            tried = workers.map(lambda change: _try(change, reached, copies), changes)
            lived = [
                change
                for count, (change, seen) in enumerate(zip(changes, tried, strict=True), 1)
                if not _told(change, count, seen=seen)
            ]
    counted = [change for change in lived if _key(change) not in EQUAL]
    score = (
        f"of {len(changes)} changes (seed {seed}) {len(changes) - len(lived)} were killed, "
        f"{len(lived) - len(counted)} change nothing, {len(counted)} lived; {time.monotonic() - begun:.0f} s"
    )
    sys.stdout.write(f"{score}\n")
    if not arguments[2:]:
        PAGE.write_text(_LAST.sub(rf"\g<1>{score}.", PAGE.read_text("utf-8")), "utf-8")
    return 1 if counted else 0


def _copy(folder: Path) -> Path:
    folder.mkdir()
    copy_sources(COPIED, folder)
    for name in (".venv", ".build"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def _reached(folder: Path, copies: "SimpleQueue[Path]") -> Reach:
    """Of every test that passes in a copy what it runs."""
    copy = copies.get()
    found = folder / "reach"
    found.mkdir()
    _pytest(copy, "-n", str(AT_ONCE), "-p", reach.__name__, *TESTS, **{reach.VARIABLE: str(found)})
    copies.put(copy)
    return Reach.read(found)


def _try(change: Change, reached: Reach, copies: "SimpleQueue[Path]") -> bool:
    """Whether a test saw the change."""
    folder = copies.get()
    file = folder / change.file
    before = file.read_text("utf-8")
    tests = reached.tests_of(change.file, change.line[0], before)
    file.write_text(change.source, "utf-8")
    try:
        return bool(tests) and _pytest(folder, "-x", "-n", "0", *tests) != PASSED
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(before, "utf-8")
        copies.put(folder)


def _pytest(folder: Path, *arguments: str, **environment: str) -> int:
    """How it ends in a copy."""
    paths = {
        "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'lambdas'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, **paths, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=None if environment else SECONDS,
        check=False,
    )
    return done.returncode


def _key(change: Change) -> tuple[str, str, str]:
    _, before, after = change.line
    return str(change.file), before, after


def _told(change: Change, count: int, *, seen: bool) -> bool:
    if count % 10 == 0:
        sys.stdout.write(f"{count} tried\n")
        sys.stdout.flush()
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
