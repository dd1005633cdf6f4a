"""The zip archive of an asset: a file that the CDK copies, where it would copy and pack each file of a folder again.

The same files give the same bytes: their times are left out, and their modes are those that Lambda needs.
"""

import zipfile
from pathlib import Path
from typing import BinaryIO

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""Zip has no instant before this one."""
READABLE = 0o100644
"""A function runs as a user who owns none of its files
(https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-deployment.html, "Permission denied")."""


def pack(folder: Path, archive: Path | BinaryIO) -> None:
    """Writes all files below a folder into an archive outside of it."""
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                _add(packed, path.relative_to(folder).as_posix(), path.read_bytes())


def add(archive: Path, name: str, content: str) -> None:
    """Adds one more file to an archive."""
    with zipfile.ZipFile(archive, "a") as packed:
        _add(packed, name, content.encode())


def _add(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    file = zipfile.ZipInfo(name, LONG_AGO)
    file.external_attr = READABLE << 16
    packed.writestr(file, content, zipfile.ZIP_DEFLATED)
