"""Remembers the names of a deployed lab, so that a shell can complete them without asking AWS.

The names are in the user's cache folder, by profile, region and endpoint. LAMPLIGHTER_NAMES names another file; if it
is empty, nothing is remembered. A file that cannot be read or written is ignored.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

UNUSABLE = (OSError, ValueError, RuntimeError)
KINDS = ("labs", "pools", "windows", "leases")


def note(kind: str, names: Iterable[str]) -> None:
    """Remember these as all the names of that kind. The file is written only where they changed."""
    file = file_of_names()
    if file is None:
        return
    with suppress(*UNUSABLE):
        remembered = _read(file)
        here = remembered.setdefault(_where(), {})
        current = sorted(set(names))
        if here.get(kind) == current:
            return
        here[kind] = current
        write(file, remembered)


def write(file: Path, document: object) -> None:
    """Replace what is remembered in a file, whole. Raises OSError where it cannot be written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(document), "utf-8")
    draft.replace(file)


def known(kind: str) -> list[str]:
    """The names last seen in this profile and region."""
    file = file_of_names()
    with suppress(*UNUSABLE):
        return _read(file).get(_where(), {}).get(kind, []) if file else []
    return []


def labs(incomplete: str) -> list[str]:
    return _beginning(known("labs"), incomplete)


def pools(incomplete: str) -> list[str]:
    return _beginning(known("pools"), incomplete)


def windows(incomplete: str) -> list[str]:
    return _beginning(known("windows"), incomplete)


def leases(incomplete: str) -> list[str]:
    return _beginning(known("leases"), incomplete)


def pools_or_leases(incomplete: str) -> list[str]:
    return _beginning([*known("pools"), *known("leases")], incomplete)


def experiments(incomplete: str) -> list[str]:
    from lamplighter.domain.experiments.catalogue import CATALOGUE  # noqa: PLC0415 -- only a shell needs it

    return _beginning(CATALOGUE, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _where() -> str:
    names = ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL")
    return " ".join(os.environ.get(name, "-") for name in names)


def file_of_names() -> Path | None:
    """Where they are; None where nothing is remembered."""
    file = os.environ.get("LAMPLIGHTER_NAMES")
    if file is not None:
        return Path(file) if file else None
    with suppress(*UNUSABLE):
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "lamplighter" / "names.json"
    return None


def _read(file: Path) -> dict[str, dict[str, list[str]]]:
    if not file.exists():
        return {}
    content = json.loads(file.read_text("utf-8"))
    if not isinstance(content, dict) or not all(_are_names(part) for part in content.values()):
        return {}
    return content


def _are_names(part: object) -> bool:
    return isinstance(part, dict) and all(
        kind in KINDS and isinstance(names, list) and all(isinstance(name, str) for name in names)
        for kind, names in part.items()
    )
