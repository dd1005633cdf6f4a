"""A release as a fixture: its templates and the code of its functions, made once and kept compressed.

At the release's commit: `make synth LAB=tests/scenarios/lab.yaml OUT=release`, then `python -m
tests.scenarios.deploys.release VERSION release`. The layers and CDK's own handlers are not kept, because the present
assembly has them under the same names.
"""

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local.assembly import Assembly

RELEASES = Path(__file__).with_name("releases")
#: CDK's name for the functions' code in an assembly.
CODE = "Code/Code"


def make(version: str, assembly: Path) -> Path:
    """Keeps what an upgrade needs of a release's assembly, and returns its file."""
    kept = RELEASES / f"{version}.tar.xz"
    kept.parent.mkdir(exist_ok=True)
    names = {"manifest.json", *(path.name for path in assembly.glob("*.template.json"))}
    names |= {path.name for path in assembly.glob("*.assets.json")}
    names |= {source for name, source in _assets(assembly) if name == CODE}
    with tarfile.open(kept, "w:xz", preset=9) as archive:
        for name in sorted(names):
            archive.add(assembly / name, name, filter=_plain)
    return kept


def load(version: str, folder: Path, present: Assembly) -> Assembly:
    """The assembly of a release, unpacked into a folder and completed from the present one."""
    with tarfile.open(RELEASES / f"{version}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    here = {name: present.folder / source for name, source in _assets(present.folder)}
    for name, source in _assets(folder):
        if not (folder / source).exists():
            (folder / source).symlink_to(here[name])
    return Assembly(folder)


def _assets(assembly: Path) -> Iterator[tuple[str, str]]:
    """Name and path of each file and folder that would be uploaded."""
    for manifest in sorted(assembly.glob("*.assets.json")):
        for file in json.loads(manifest.read_text("utf-8"))["files"].values():
            yield file["displayName"], file["source"]["path"]


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The same content gives the same archive."""
    if "__pycache__" in member.name:
        return None
    about: dict[str, Any] = {"mtime": 0, "uid": 0, "gid": 0, "uname": "", "gname": ""}
    return member.replace(**about, deep=False)


if __name__ == "__main__":
    sys.stdout.write(f"{make(sys.argv[1], Path(sys.argv[2]))}\n")
