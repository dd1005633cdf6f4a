"""The code assets of a cloud assembly, taken from its folder instead of from a bucket.

This file maps an object key in the bootstrap bucket to its content. Archives are unpacked once, into the user's cache
folder. What another program uploaded to the bucket is taken from there.
"""

import hashlib
import json
import stat
import zipfile
from functools import partial
from pathlib import Path
from typing import BinaryIO

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.exceptions import MissingBucket
from moto.s3.models import s3_backends

from local.aws.functions.unpacked_files import made_once, seal
from local.cache_folder import cache_folder


class Assets:
    """The object keys of the assemblies read so far, and what others uploaded, which is kept in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._sources: dict[str, Path] = {}
        self._uploaded = folder

    def read(self, assembly: Path) -> None:
        """Reads the assets of every stack in the assembly."""
        for manifest in assembly.glob("*.assets.json"):
            for file in json.loads(manifest.read_text("utf-8"))["files"].values():
                for destination in file["destinations"].values():
                    self._sources[destination["objectKey"]] = assembly / file["source"]["path"]

    def source(self, key: str, bucket: str = "") -> Path | None:
        """The object in the bucket, or else the file or folder that a deploy would upload under this key."""
        return self._object(bucket, key) or self._sources.get(key)

    def at(self, url: str) -> Path | None:
        """What an address of S3 leads to, with the bucket in the host or in the path."""
        host, _, path = url.partition("://")[2].partition("/")
        path = path if host.startswith("s3.") else f"{host.partition('.s3.')[0]}/{path}"
        bucket, _, key = path.partition("/")
        return self.source(key, bucket)

    def _object(self, bucket: str, key: str) -> Path | None:
        try:
            found = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].get_object(bucket, key)
        except MissingBucket:
            return None
        if found is None:
            return None
        copy = self._uploaded / f"{hashlib.sha256(f'{bucket}/{key} {found.etag}'.encode()).hexdigest()}.zip"
        if not copy.exists():
            self._uploaded.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(found.value)
        # A function keeps its code when the object is deleted.
        self._sources.setdefault(key, copy)
        return copy

    def folder(self, key: str, bucket: str = "") -> Path | None:
        """The content of an asset as a folder."""
        source = self.source(key, bucket)
        if source is None or source.is_dir():
            return source
        return unpacked(source, source.stem if source.parent == self._uploaded else Path(key).stem)


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
