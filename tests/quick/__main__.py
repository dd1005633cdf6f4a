"""Prints what changed, and runs the nearest tests at the same time as linters and types."""

import os
import sys
import time
from collections.abc import Sequence

from tests.quick.changed import changed_files
from tests.quick.graph import Graph
from tests.quick.nearest import nearest_tests
from tests.quick.until import VARIABLE
from tests.suite.parts import LINT, NO_TESTS, TYPES, Part, program
from tests.suite.queue import run

#: No test begins after this many seconds, so that the running ones end within the minute.
SECONDS = 40
#: The most files of tests: pytest imports all of them before it runs the first.
FILES = 24


def main() -> int:
    os.environ[VARIABLE] = str(time.time() + SECONDS)
    changed = changed_files()
    tests = nearest_tests(Graph(), changed)
    chosen = [str(file) for file in tests[:FILES]]
    sys.stdout.write(f"{len(changed)} files changed; {len(tests)} files of tests use them.\n")
    if len(tests) > FILES:
        sys.stdout.write(
            f"LEFT OUT: {len(tests) - FILES} files of tests, the farthest; make test runs them.\n"
        )
    # Each half imports only what its tests need. With xdist, both would import everything.
    halves = [("nearest tests", chosen[::2]), ("nearest tests, other half", chosen[1::2])]
    return run([LINT, *(_pytest(name, files) for name, files in halves if files), TYPES], at_once=3)


def _pytest(name: str, files: Sequence[str]) -> Part:
    options = ("-q", "-n", "0", "-m", "not long", "-p", "tests.quick.until")
    return Part(name, ((program("pytest"), *options, *files),), well=(0, NO_TESTS), shown=True)


if __name__ == "__main__":
    sys.exit(main())
