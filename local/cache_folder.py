"""The folder in the user's cache for everything that takes long to make. The set-up asks first whether there is one."""

import errno
import os
import sys
from pathlib import Path

from lamplighter.errors import BadInput


def cache_folder() -> Path:
    """The folder. It is created if it does not exist.

    Raises BadInput where this user cannot write it.
    """
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "lamplighter"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written ({error.strerror}), and Lamplighter keeps there what takes long to make: "
            "name a folder that you can write with XDG_CACHE_HOME"
        ) from error
    return folder


if __name__ == "__main__":
    try:
        cache_folder()
    except BadInput as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
