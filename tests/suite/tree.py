"""The files of the checkout: which there are, what they contain, and whether they are as committed."""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tests.checkout import ROOT


class Tree:
    """The tracked files and the untracked ones, without those that Git ignores, at one instant. Without Git, none."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._clean = self._is_clean()
        listed = self._git("ls-files", "-co", "--exclude-standard").stdout.splitlines()
        self.files = tuple(sorted(file for file in listed if (root / file).is_file()))
        self._stats = self._stat()

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file: its bytes, and whether it is a program."""
        return {file: self._digest(self._root / file) for file in self.files}

    def is_as_committed(self) -> bool:
        """Whether it was clean at that instant, and nobody has written to it since."""
        return self._clean and self._is_clean() and self._stats == self._stat()

    def _is_clean(self) -> bool:
        status = self._git("status", "--porcelain")
        return status.returncode == 0 and not status.stdout

    def _stat(self) -> list[tuple[int, int, int]]:
        stats = [(self._root / file).stat() for file in self.files]
        return [(each.st_mtime_ns, each.st_size, each.st_mode) for each in stats]

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ("git", "-c", "core.quotePath=false", *arguments)
        return subprocess.run(command, cwd=self._root, capture_output=True, text=True, check=False)

    @staticmethod
    def _digest(path: Path) -> str:
        program = os.access(path, os.X_OK)
        return hashlib.sha256(f"{program} ".encode() + path.read_bytes()).hexdigest()
