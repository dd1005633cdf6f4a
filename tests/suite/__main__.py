"""Runs the whole suite, or the named parts one after another. The exit code is 1 if a part failed."""

import signal
import sys
from collections.abc import Sequence

from tests.suite.parts import PARTS, ROWS
from tests.suite.rows import run


def main(chosen: Sequence[str]) -> int:
    unknown = set(chosen) - {part.name for part in PARTS}
    if unknown:
        sys.exit(
            f"The suite has no part {', '.join(sorted(unknown))}: it has {', '.join(part.name for part in PARTS)}."
        )
    # SIGTERM ends the running parts, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return run([[part for part in PARTS if part.name in chosen]] if chosen else ROWS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
