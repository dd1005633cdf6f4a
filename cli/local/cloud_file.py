"""The file that `lamplighter local up --json FILE` writes: how to reach a running embedded cloud."""

import json
from pathlib import Path
from typing import Any

from lamplighter.errors import BadInput


def read(file: Path, *keys: tuple[str, str]) -> list[str]:
    """The values of these keys, each named by its part and its name; BadInput where the file has them not."""
    try:
        content: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return [str(content[part][name]) for part, name in keys]
    except FileNotFoundError:
        raise BadInput(
            f"--cloud: there is no file {file}, name the file of `lamplighter local up --json FILE`"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"--cloud: {file} is not what `lamplighter local up --json FILE` writes") from None
