"""Go's package time with the lab's clock in it, for the build of the control plane.

`go build -overlay` reads our file instead of one of the toolchain's, and changes nothing in the toolchain
(https://pkg.go.dev/cmd/go, -overlay). Kubernetes then gives objects the lab's time.
"""

import json
import re
import subprocess
from pathlib import Path

from lamplighter.errors import OutsideFailed

#: The place where time.Now asks the runtime for the time, in Go 1.25 to 1.27.
_ASKS = re.compile(r"(func Now\(\) Time \{.*?\n)(\tsec, nsec, mono := (?:runtimeNow|now)\(\)\n)", re.DOTALL)


def write_overlay(go: Path, ours: Path, work: Path) -> Path:
    """Writes the file for `-overlay` into `work`. `ours` is the file to add to package time.

    Raises OutsideFailed if this version of Go reads the time in another way.
    """
    root = subprocess.run(
        [str(go), "env", "GOROOT"], capture_output=True, text=True, check=True
    ).stdout.strip()
    plain = Path(root) / "src" / "time" / "time.go"
    changed, count = _ASKS.subn(r"\1\2\tsec, nsec = labNow(sec, nsec)\n", plain.read_text("utf-8"), count=1)
    if not count:
        raise OutsideFailed(
            f"time.Now of {plain} is not written as in Go 1.25 to 1.27: no clock can be put in"
        )
    draft = work / "time.go"
    draft.write_text(changed, "utf-8")
    replaced = {str(plain): str(draft), str(plain.with_name(ours.name)): str(ours)}
    overlay = work / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replaced}), "utf-8")
    return overlay
