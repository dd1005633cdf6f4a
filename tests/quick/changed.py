"""The changed files: those that are not committed; in a clean tree, those that differ from main."""

import subprocess
from pathlib import Path

from tests.checkout import ROOT


def changed_files() -> tuple[Path, ...]:
    """Paths from the root of the checkout, also of deleted files."""
    changed = _git("diff", "--name-only", "HEAD") | _git("ls-files", "--others", "--exclude-standard")
    if not changed:
        for main in ("main", "origin/main"):
            base = _git("merge-base", "HEAD", main)
            if base:
                changed = _git("diff", "--name-only", *base, "HEAD")
                break
    return tuple(map(Path, sorted(changed)))


def _git(*arguments: str) -> set[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    return set(done.stdout.splitlines())
