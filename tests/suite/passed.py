"""The parts that passed on this machine, by their keys: one file for each, in the cache folder of the user."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from local.cache_folder import cache_folder
from tests.suite.parts import Part

#: The newest records that stay: those of some weeks.
KEPT = 500


@dataclass(frozen=True)
class Pass:
    """When a part passed, and the texts that it left for later parts, by the names of their files."""

    part: str
    at: str
    made: Mapping[str, str]


def find(key: str) -> Pass | None:
    """The pass with a key. A record that cannot be read counts as none."""
    try:
        return Pass(**json.loads(_file(key).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def record(part: Part, key: str) -> None:
    """Writes that a part has passed just now. Records of several runs may be written at once."""
    made = {path.name: path.read_text("utf-8") for path in part.makes.iterdir()} if part.makes else {}
    done = Pass(part.name, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", made)
    folder = _file(key).parent
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as unfinished:
        unfinished.write(json.dumps(asdict(done)))
    Path(unfinished.name).replace(_file(key))
    _forget_old(folder)


def restore(part: Part, done: Pass) -> None:
    """Makes again what the part left when it passed."""
    if part.makes:
        part.makes.mkdir(parents=True, exist_ok=True)
        for old in part.makes.iterdir():
            old.unlink()
        for name, text in done.made.items():
            (part.makes / name).write_text(text, "utf-8")


def _file(key: str) -> Path:
    folder = cache_folder() / "passed"
    folder.mkdir(exist_ok=True)
    return folder / key


def _forget_old(folder: Path) -> None:
    def age(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:  # another run forgets it, too
            return 0.0

    for old in sorted(folder.iterdir(), key=age)[:-KEPT]:
        old.unlink(missing_ok=True)
