"""The dependency layer of the functions: builds `.build/layer/python` for Lambda (arm64, Python 3.13).

Exactly the locked wheels of lambdas/requirements.txt, downloaded for the deployed platform and never
run here, and the bytecode of their Python. Built again only when the lock or what is said here changes.
Which packages are in it is the lock's business.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from stacks import built_folder, bytecode, runtime_python

CHECKOUT = runtime_python.CHECKOUT
LOCK = CHECKOUT / "lambdas" / "requirements.txt"
LAYER = CHECKOUT / ".build" / "layer"

PYTHON_VERSION = runtime_python.VERSION
PLATFORM = "aarch64-manylinux2014"
MOUNTED_AT = "/opt"
"""Where Lambda has it (https://docs.aws.amazon.com/lambda/latest/dg/packaging-layers.html)."""

# What is installed but never imported by a function: the asyncio twin of the Kubernetes client and what
# only it needs, 50 MB of 150. boto3 stays although Lambda brings one: the version that was tested is the
# one that runs, and a function loads it as fast from a layer as from the runtime.
NEVER_IMPORTED = (
    "kubernetes/aio",
    *("aiohappyeyeballs", "aiohttp", "aiohttp_retry", "aiosignal", "frozenlist"),
    *("multidict", "propcache", "yarl"),
    "recurring_ical_events/test",
    "bin",
)


def digest() -> str:
    """A fingerprint of everything that decides what is in the layer."""
    recipe = "\n".join((PYTHON_VERSION, PLATFORM, MOUNTED_AT, bytecode.identity(), *NEVER_IMPORTED))
    return hashlib.sha256(recipe.encode() + LOCK.read_bytes()).hexdigest()


def ensure(layer: Path = LAYER) -> Path:
    """The layer's folder, built first if it is missing or out of date (then a package index is needed)."""
    return built_folder.ensure(layer, digest(), _build)


def _build(folder: Path) -> None:
    _install(folder / "python")
    bytecode.write(folder, MOUNTED_AT)


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
    for path in NEVER_IMPORTED:
        shutil.rmtree(target / path, ignore_errors=True)


if __name__ == "__main__":
    ensure()
