"""The bytecode that code and layer carry, so that no cold start compiles anything.

Lambda mounts both read-only, so a function could never keep what it compiled. Zip archives lose the times of
files, by which Python would judge bytecode: it is marked unchecked instead (PEP 552, UNCHECKED_HASH).
"""

import subprocess
from pathlib import Path

from stacks import runtime_python

WITHOUT = (
    f"the functions carry no bytecode, as there is no Python {runtime_python.VERSION} here and uv could get none: "
    "each cold start takes one to two seconds of processor time more"
)


def identity() -> str:
    """What kind of bytecode is made here, and how, for the digest of what carries it."""
    if runtime_python.interpreter() is None:
        return "no bytecode"
    return f"bytecode of {runtime_python.VERSION}\n{Path(__file__).read_text('utf-8')}"


def write(folder: Path, mounted_at: str) -> None:
    """Compile all Python files below a folder that Lambda mounts at such a path; nothing where no Python can."""
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
