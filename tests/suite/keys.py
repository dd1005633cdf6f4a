"""The key of a part: the digest of all that can change its result.

That is the files that it reaches (reach.py) and those that nobody can place, its commands, the Python and the machine,
the environment variables that its files name, and the versions of programs that no lock holds.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tests.suite.parts import PARTS, Command, Part
from tests.suite.reach import EVERYBODYS, NOBODYS, Reach

SEED = "LAMPLIGHTER_SEED"
#: Beginnings of variables that packages read, so that no file of ours names them.
_OF_PACKAGES = ("AWS_", "CDK_", "HYPOTHESIS_", "JSII_", "LANG", "LC_", "MOTO_", "PYTEST_", "PYTHON", "TZ")
#: Every part reads these two. A part draws if another module of its tests has the seed or Hypothesis.
_FOR_ALL = frozenset({"tests/conftest.py", "tests/lengths.py"})
_DRAWS = re.compile(r"^(?:import|from) hypothesis\b|\bSEED\b", re.MULTILINE)


class Keys:
    """The keys of the parts, for files with their digests and for the environment of a process."""

    def __init__(
        self,
        digests: Mapping[str, str],
        environment: Mapping[str, str] = os.environ,
        reach: Reach | None = None,
    ) -> None:
        self._digests, self._environment, self._given = digests, environment, reach
        self._long = environment.get("LAMPLIGHTER_TESTS") == "long"

    def of(self, part: Part) -> str | None:
        """None for a part that has to run: it reads no files, its seed is fresh, or Git does not list the files."""
        files = self.files(part)
        draws = self._long and any(_DRAWS.search(self._reach.source(file)) for file in _own(files) - _FOR_ALL)
        seed = self._environment.get(SEED)
        if not files or (draws and not seed):
            return None
        known = {
            "files": sorted((file, self._digests[file]) for file in files),
            # The checkout may lie elsewhere.
            "commands": [(Path(name).name, *words) for name, *words in part.commands],
            "python": sys.version,
            "machine": (platform.node(), platform.platform()),
            "variables": sorted(self._variables(files)) if part.tests or part.versions else [],
            "seed": seed if draws else None,
            "versions": [_output(command) for command in part.versions],
        }
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    def files(self, part: Part) -> frozenset[str]:
        """The files that are in the key of a part."""
        if part.tests:
            return self._reach.of(part.tests, part.ignored) | self._not_placed
        if not part.reads:
            return frozenset()
        known = (file for file in self._digests if file.endswith(part.reads) or file.startswith(EVERYBODYS))
        return frozenset(file for file in known if not file.endswith(part.unread))

    @cached_property
    def _reach(self) -> Reach:
        return self._given or Reach(self._digests)

    @cached_property
    def _not_placed(self) -> frozenset[str]:
        reached = frozenset[str]().union(
            *(self._reach.of(part.tests, part.ignored) for part in PARTS if part.tests)
        )
        return frozenset(
            file for file in self._digests if file not in reached and not file.startswith(tuple(NOBODYS))
        )

    def _variables(self, files: frozenset[str]) -> set[tuple[str, str]]:
        names = frozenset[str]().union(*(self._reach.variables(file) for file in files)) - {SEED}
        return {
            (name, value)
            for name, value in self._environment.items()
            if name in names or name.startswith(_OF_PACKAGES)
        }


def _own(files: frozenset[str]) -> frozenset[str]:
    return frozenset(file for file in files if file.startswith("tests/"))


def _output(command: Command) -> str:
    """What a program prints; nothing where it is missing."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
