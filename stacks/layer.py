"""The dependency layer of the functions: builds it in `.build/layer` for Lambda (arm64, Python 3.13).

It has the locked wheels of lambdas/requirements.txt, downloaded for the deployed platform and never run here, without
the modules that no function imports, and with bytecode. It is built again only when the lock or this recipe changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from stacks import archive, built_folder, bytecode, layer_contents, runtime_python

CHECKOUT = runtime_python.CHECKOUT
LOCK = CHECKOUT / "lambdas" / "requirements.txt"
LAYER = runtime_python.BUILD / "layer"
ARCHIVE = "layer.zip"

PYTHON_VERSION = runtime_python.VERSION
PLATFORM = "aarch64-manylinux2014"
MOUNTED_AT = "/opt"
"""Where Lambda has it (https://docs.aws.amazon.com/lambda/latest/dg/packaging-layers.html)."""


def digest() -> str:
    """A digest of all inputs of the layer."""
    digest = hashlib.sha256("\n".join((MOUNTED_AT, bytecode.identity(), *_services())).encode())
    for path in (LOCK, __file__, archive.__file__, layer_contents.__file__):
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def ensure(layer: Path = LAYER) -> Path:
    """The layer's archive. It is built first if it is missing or out of date, which needs a package index."""
    return built_folder.ensure(layer, digest(), _build) / ARCHIVE


def _build(folder: Path) -> None:
    content = folder / "content"
    _install(content / "python")
    layer_contents.prune(content / "python", frozenset(_services()))
    bytecode.write(content, MOUNTED_AT)
    archive.pack(content, folder / ARCHIVE)
    shutil.rmtree(content)


@cache
def _services() -> list[str]:
    return sorted(layer_contents.services(LOCK.parent))


def _install(target: Path) -> None:
    subprocess.run(  # noqa: S603 -- our own interpreter and lock
        [
            *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes"),
            *("--target", str(target), "--python-version", PYTHON_VERSION, "--python-platform", PLATFORM),
            *("--only-binary", ":all:", "--link-mode", "copy", "--requirements", str(LOCK)),
        ],
        check=True,
        env={**os.environ, "VIRTUAL_ENV": str(Path(sys.executable).parent.parent)},
    )


if __name__ == "__main__":
    ensure()
