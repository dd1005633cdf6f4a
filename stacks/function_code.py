"""The code asset of the functions: handlers, product, bytecode of both, and the lab that is deployed.

All but the lab is built once into `.build/code`, and again only when a source file changes.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lamplighter.lab.model import Lab
from stacks import built_folder, bytecode
from stacks.layer import CHECKOUT

CODE = CHECKOUT / ".build" / "code"
SOURCE = CHECKOUT / "lambdas"
PACKAGES = ("handlers", "lamplighter")
MOUNTED_AT = "/var/task"
"""Where Lambda has it (https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html, LAMBDA_TASK_ROOT)."""
# Reading a lab file needs a YAML parser, which no function has: functions read lab.json.
CLI_ONLY = SOURCE / "lamplighter" / "labfile"


def stage(lab: Lab, folder: Path) -> str:
    """Lay out the asset of a lab in an empty folder, and return the asset's digest.

    The files are links where the folder is on the same device: nobody changes them in either place. The digest is that
    of the sources: bytecode may differ by a byte where its compiler is newer.
    """
    digest = _digest()
    shutil.copytree(
        built_folder.ensure(CODE, digest, _build),
        folder,
        ignore=shutil.ignore_patterns(built_folder.DIGEST),
        copy_function=_link,
        dirs_exist_ok=True,
    )
    deployed = lab.to_json()
    (folder / "lab.json").write_text(deployed, encoding="utf-8")
    return hashlib.sha256(f"{digest}\0{deployed}".encode()).hexdigest()


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another device, or a file system without links
        shutil.copy2(source, target)


@cache
def _digest() -> str:
    """Each stack with functions asks for it; the sources stay the same during a synthesis."""
    digest = hashlib.sha256(f"{MOUNTED_AT}\0{bytecode.identity()}".encode())
    for path in _files():
        digest.update(f"\0{path.relative_to(SOURCE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _build(folder: Path) -> None:
    for path in _files():
        target = folder / path.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    bytecode.write(folder, MOUNTED_AT)


def _files() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*")):
            if path.is_file() and path.suffix != ".pyc" and CLI_ONLY not in path.parents:
                yield path
