"""What cfn-lint says of templates."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

# Each is a rule of cfn-lint that is not followed, and why.
NOT_FOLLOWED = {
    "W3005": "CDK writes dependencies that references imply as well",
    "W3010": "the lab names its zones: a pool stays in one of them",
}


def complaints(templates: Iterable[Path], ignored: Iterable[str] = NOT_FOLLOWED) -> tuple[str, int]:
    """What it prints, and its exit code."""
    program = str(Path(sys.executable).parent / "cfn-lint")
    files = map(str, templates)
    command = [program, "--regions", "ap-northeast-2", "--ignore-checks", *ignored, "--template", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout, done.returncode


NOTHING = ("", 0)
