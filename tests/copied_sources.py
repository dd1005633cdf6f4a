"""A copy of the sources, in which a test can change something and run it."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.checkout import ROOT

_LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules")


def copy_sources(names: Iterable[str], folder: Path) -> None:
    """Copies these files and folders of the checkout into an existing folder."""
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=_LEFT_OUT)
        else:
            shutil.copy(source, folder / name)
