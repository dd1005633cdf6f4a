"""The folder in the user's cache for everything that takes long to make."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder. It is created if it does not exist."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "lamplighter"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
