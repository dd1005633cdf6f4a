"""Prints every figure as soon as it is measured; the quick ones first.

`python -m tests.bench suite` measures that part alone, whatever else is named likewise.
"""

import logging
import sys
from collections.abc import Sequence

from tests.bench import (
    assembly,
    deciding,
    demo,
    diagnosing,
    events,
    exposure,
    growth,
    imports,
    local_cloud,
    parsers,
    rails,
    slack,
    suite,
    windows,
)
from tests.bench.figure import Measurement

PARTS: dict[str, tuple[Measurement, ...]] = {
    "assembly": assembly.MEASUREMENTS,
    "imports": imports.MEASUREMENTS,
    "deciding": deciding.MEASUREMENTS,
    "growth": growth.MEASUREMENTS,
    "windows": windows.MEASUREMENTS,
    "diagnosing": diagnosing.MEASUREMENTS,
    "parsers": parsers.MEASUREMENTS,
    "local-cloud": local_cloud.MEASUREMENTS,
    "slack": slack.MEASUREMENTS,
    "events": events.MEASUREMENTS,
    "demo": demo.MEASUREMENTS,
    "exposure": exposure.MEASUREMENTS,
    "rails": rails.MEASUREMENTS,
    "suite": suite.MEASUREMENTS,
}
MEASUREMENTS: tuple[Measurement, ...] = tuple(each for part in PARTS.values() for each in part)


def main(chosen: Sequence[str]) -> None:
    unknown = set(chosen) - set(PARTS)
    if unknown:
        sys.exit(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.")
    logging.disable()
    for part in chosen or PARTS:
        for measurement in PARTS[part]:
            for line in measurement.lines():
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
