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
from collections.abc import Mapping, Sequence
from functools import cache, cached_property

from tests.suite.parts import PARTS, Command, Part
from tests.suite.reach import EVERYBODYS, NOBODYS, Reach
from tests.suite.tree import Tree

SEED = "LAMPLIGHTER_SEED"
#: Beginnings of variables that packages read, so that no file of ours names them.
_OF_PACKAGES = ("AWS_", "CDK_", "HYPOTHESIS_", "JSII_", "LANG", "LC_", "MOTO_", "PYTEST_", "PYTHON", "TZ")
#: Every part reads these two. Only a module that names the seed or Hypothesis itself draws by it.
_FOR_ALL = frozenset({"tests/conftest.py", "tests/lengths.py"})
_DRAWS = re.compile(rf"\bhypothesis\b|\bSEED\b|{SEED}")


class Keys:
    """The keys of the parts for the files of a tree and the environment of a process."""

    def __init__(
        self, tree: Tree, environment: Mapping[str, str] = os.environ, parts: Sequence[Part] = PARTS
    ) -> None:
        self._tree, self._environment, self._parts = tree, environment, parts
        self._long = environment.get("LAMPLIGHTER_TESTS") == "long"

    def of(self, part: Part) -> str | None:
        """None for a part that has to run: it is always checked, its seed is fresh, or Git does not list the files."""
        files = self.files(part)
        draws = (
            self._long
            and part.tests
            and any(_DRAWS.search(self._reach.source(file)) for file in files - _FOR_ALL)
        )
        seed = self._environment.get(SEED)
        if not files or (draws and not seed):
            return None
        known = {
            "files": sorted((file, self._tree.digests[file]) for file in files),
            "commands": part.commands,
            "python": sys.version,
            "machine": (platform.node(), platform.platform()),
            "variables": sorted(self._variables(files)),
            "seed": seed if draws else None,
            "versions": [_output(command) for command in part.versions],
        }
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    @cache  # noqa: B019  there is one for a run
    def files(self, part: Part) -> frozenset[str]:
        """The files that are in the key of a part."""
        if part.tests:
            return self._reached(part) | self._not_placed
        known = (
            file for file in self._tree.files if file.endswith(part.reads) or file.startswith(EVERYBODYS)
        )
        return frozenset(known) if part.reads else frozenset()

    @cache  # noqa: B019
    def _reached(self, part: Part) -> frozenset[str]:
        return self._reach.of(part.tests, part.ignored)

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self._tree.files)

    @cached_property
    def _not_placed(self) -> frozenset[str]:
        reached = frozenset[str]().union(*(self._reached(part) for part in self._parts if part.tests))
        return frozenset(
            file for file in self._tree.files if file not in reached and not file.startswith(tuple(NOBODYS))
        )

    def _variables(self, files: frozenset[str]) -> set[tuple[str, str]]:
        names = {name for file in files for name in self._reach.variables(file)} - {SEED}
        return {
            (name, value)
            for name, value in self._environment.items()
            if name in names or name.startswith(_OF_PACKAGES)
        }


def _output(command: Command) -> str:
    """What a program prints; nothing where it is missing."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
