"""Adds bytecode to the code asset and the layer, so that a cold start compiles nothing.

Lambda mounts both read-only, so a function could not keep its own bytecode. Zip archives lose the times of files,
which Python compares with those in the bytecode. So the bytecode is marked unchecked (PEP 552, UNCHECKED_HASH).
"""

import subprocess
from pathlib import Path

from stacks import runtime_python

WITHOUT = (
    f"the functions carry no bytecode, as there is no Python {runtime_python.VERSION} here and uv could get none: "
    "each cold start takes one to two seconds of processor time more"
)


def identity() -> str:
    """The version and kind of the bytecode, for the digest of the asset that contains it."""
    if runtime_python.interpreter() is None:
        return "no bytecode"
    return f"bytecode of {runtime_python.VERSION}\n{Path(__file__).read_text('utf-8')}"


def write(folder: Path, mounted_at: str) -> None:
    """Compiles all Python files below a folder that Lambda mounts at `path`; nothing without a suitable Python."""
    python = runtime_python.interpreter()
    if python is None:
        return
    subprocess.run(  # noqa: S603 -- an interpreter of this machine
        [
            *(python, "-I", "-m", "compileall", "-q", "-f", "-j", "0"),
            *("--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", mounted_at, str(folder)),
        ],
        check=True,
    )
