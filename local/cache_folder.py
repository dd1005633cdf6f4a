"""The folder of the user's cache for everything that is slow to make."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder, which is made here where it is missing."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "lamplighter"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
