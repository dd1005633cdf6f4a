"""Which files changed: what git does not have yet; on a clean tree, what main does not have."""

import subprocess
from pathlib import Path

from tests.suite.parts import ROOT


def changed_files() -> tuple[Path, ...]:
    """Paths from the root of the checkout, those of deleted files too."""
    found = _git("diff", "--name-only", "HEAD") | _git("ls-files", "--others", "--exclude-standard")
    if not found:
        for main in ("main", "origin/main"):
            base = _git("merge-base", "HEAD", main)
            if base:
                found = _git("diff", "--name-only", *base, "HEAD")
                break
    return tuple(Path(each) for each in sorted(found))


def _git(*arguments: str) -> set[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    return set(done.stdout.splitlines())
