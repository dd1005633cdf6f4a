"""Code and layer as Lambda has them: out of zip archives, read-only, and nothing beside them to import."""

import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamplighter.lab.model import Lab
from local.aws.functions.runnable_layer import add_native_modules
from stacks import layer
from stacks.function_code import stage

PATHS = """
import sys
code, packages = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, code)
sys.path.append(packages)
"""


@dataclass(frozen=True)
class Unpacked:
    """The folders of the code asset and of the layer's packages."""

    code: Path
    packages: Path

    def run(self, program: str, *arguments: str) -> Any:
        """What a program prints as JSON that may import from the two and from Python's own library."""
        done = subprocess.run(
            [
                *(sys.executable, "-I", "-S", "-c"),
                PATHS + program,
                str(self.code),
                str(self.packages),
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)


def unpack(lab: Lab, folder: Path) -> Unpacked:
    """Both assets of a lab, below an empty folder."""
    code = folder / "code.zip"
    stage(lab, code)
    for archive, mounted in ((code, "task"), (layer.ensure(), "opt")):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder / mounted)
    add_native_modules(folder / "opt/python")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555)
    return Unpacked(folder / "task", folder / "opt/python")
