"""The code assets of a cloud assembly, taken from its folder instead of from a bucket.

This file maps an object key in the bootstrap bucket to its content. Archives are unpacked once, into the user's cache
folder.
"""

import json
import stat
import zipfile
from functools import partial
from pathlib import Path
from typing import BinaryIO

from local.aws.functions.unpacked_files import made_once, seal
from local.cache_folder import cache_folder


class Assets:
    """The object keys of the assemblies read so far."""

    def __init__(self) -> None:
        self._sources: dict[str, Path] = {}

    def read(self, assembly: Path) -> None:
        """Reads the assets of every stack in the assembly."""
        for manifest in assembly.glob("*.assets.json"):
            for file in json.loads(manifest.read_text("utf-8"))["files"].values():
                for destination in file["destinations"].values():
                    self._sources[destination["objectKey"]] = assembly / file["source"]["path"]

    def source(self, key: str) -> Path | None:
        """The file or folder that a deploy would upload under this key."""
        return self._sources.get(key)

    def folder(self, key: str) -> Path | None:
        """The content of an asset as a folder."""
        source = self._sources.get(key)
        if source is None or source.is_dir():
            return source
        return unpacked(source, Path(key).stem)


def unpacked(archive: Path, digest: str) -> Path:
    """The content of a zip archive, in the cache under its digest. Several processes may call it."""
    return unpacked_into(cache_folder() / "assets" / digest, archive)


def unpacked_into(folder: Path, archive: Path | BinaryIO) -> Path:
    """The content of a zip archive as `folder`. It appears only when it is complete; several processes may call it."""
    return made_once(folder, partial(extract, archive))


def extract(archive: Path | BinaryIO, folder: Path) -> None:
    """Unpacks as Lambda does, with the links of the archive, which zipfile leaves out."""
    with zipfile.ZipFile(archive) as content:
        for member in content.infolist():
            mode = member.external_attr >> 16
            target = folder / member.filename
            if stat.S_ISLNK(mode):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(content.read(member).decode())
                continue
            content.extract(member, folder)
            if not member.is_dir():
                seal(target, mode)
