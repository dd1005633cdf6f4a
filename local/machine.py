"""The machines on which the embedded cloud was tried. `make demo` runs this first, before it downloads anything.

It needs only the standard library, because no package is installed then.
"""

import platform
import sys

TRIED = ("Linux", "x86_64")
NAMES = {"AMD64": "x86_64", "x86-64": "x86_64"}
"""The names of the same processor on other systems."""
PAGE = "docs/how-to/run/use-another-machine.md"


def warning() -> str | None:
    """One line for a machine that is not Linux on x86-64; None for one that is."""
    system, known_as = platform.system(), processor()
    if (system, NAMES.get(known_as, known_as)) == TRIED:
        return None
    return (
        f"This machine is {system or 'unknown'} on {known_as or 'unknown'}, and the demo was tried on Linux on x86-64 "
        f"only: a dev container of this folder has that, {PAGE} says how. The demo starts here all the same."
    )


def processor() -> str:
    """The processor's family, by the system's name."""
    return platform.machine()


if __name__ == "__main__":
    line = warning()
    if line:
        sys.stdout.write(f"{line}\n")
