"""The code asset of the functions: handlers, product, bytecode of both, and the lab that is deployed.

All but the lab is packed once, in `.build/code`, and again only when a source file changes.
"""

import hashlib
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lamplighter.lab.model import Lab
from stacks import archive, built_folder, bytecode, runtime_python

CODE = runtime_python.BUILD / "code"
SOURCE = runtime_python.CHECKOUT / "lambdas"
ARCHIVE = "code.zip"
PACKAGES = ("handlers", "lamplighter")
MOUNTED_AT = "/var/task"
"""Where Lambda has it (https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html, LAMBDA_TASK_ROOT)."""
# Reading a lab file needs a YAML parser, which no function has: functions read lab.json.
CLI_ONLY = SOURCE / "lamplighter" / "labfile"


def stage(lab: Lab, target: Path) -> str:
    """Writes the archive of a lab's functions, and returns the asset's digest.

    The digest is that of the sources: bytecode may differ by a byte where its compiler is newer.
    """
    digest, deployed = _digest(), lab.to_json()
    shutil.copyfile(built_folder.ensure(CODE, digest, _build) / ARCHIVE, target)
    archive.add(target, "lab.json", deployed)
    return hashlib.sha256(f"{digest}\0{deployed}".encode()).hexdigest()


@cache
def _digest() -> str:
    """Each stack with functions asks for it; the sources stay the same during a synthesis."""
    digest = hashlib.sha256(f"{MOUNTED_AT}\0{bytecode.identity()}".encode())
    for recipe in (__file__, archive.__file__):
        digest.update(Path(recipe).read_bytes())
    for path in _files():
        digest.update(f"\0{path.relative_to(SOURCE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _build(folder: Path) -> None:
    content = folder / "content"
    for path in _files():
        target = content / path.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    bytecode.write(content, MOUNTED_AT)
    archive.pack(content, folder / ARCHIVE)
    shutil.rmtree(content)


def _files() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*")):
            if path.is_file() and path.suffix != ".pyc" and CLI_ONLY not in path.parents:
                yield path
