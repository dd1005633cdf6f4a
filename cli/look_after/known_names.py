"""The names that a deployed lab was last seen to have, so that a shell can complete them without asking AWS.

Kept in the user's cache folder, by profile, region and endpoint; LAMPLIGHTER_NAMES names another file, or, empty,
none. Only ever a convenience: what cannot be read or written is left.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NOT_THERE = (OSError, ValueError, RuntimeError)
KINDS = ("labs", "pools", "windows", "leases")


def note(kind: str, names: Iterable[str]) -> None:
    """Keep these as all the names of that kind; written only where they are others than before."""
    file = _file()
    if file is None:
        return
    with suppress(*NOT_THERE):
        kept = _read(file)
        here = kept.setdefault(_where(), {})
        found = sorted(set(names))
        if here.get(kind) == found:
            return
        here[kind] = found
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        draft.write_text(json.dumps(kept), "utf-8")
        draft.replace(file)


def known(kind: str) -> list[str]:
    """What was last seen in this profile and region; nothing where nothing was."""
    file = _file()
    with suppress(*NOT_THERE):
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
    from lamplighter.domain.experiments.catalogue import CATALOGUE  # noqa: PLC0415 -- for a shell only

    return _beginning(CATALOGUE, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _where() -> str:
    names = ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL")
    return " ".join(os.environ.get(name, "-") for name in names)


def _file() -> Path | None:
    named = os.environ.get("LAMPLIGHTER_NAMES")
    if named is not None:
        return Path(named) if named else None
    with suppress(*NOT_THERE):
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "lamplighter" / "names.json"
    return None


def _read(file: Path) -> dict[str, dict[str, list[str]]]:
    if not file.exists():
        return {}
    kept = json.loads(file.read_text("utf-8"))
    if not isinstance(kept, dict) or not all(_are_names(each) for each in kept.values()):
        return {}
    return kept


def _are_names(kept: object) -> bool:
    return isinstance(kept, dict) and all(
        kind in KINDS and isinstance(names, list) and all(isinstance(name, str) for name in names)
        for kind, names in kept.items()
    )
