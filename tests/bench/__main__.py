"""Prints every figure as soon as it is measured; the quick ones first."""

import logging
import sys

from tests.bench import (
    assembly,
    deciding,
    diagnosing,
    exposure,
    growth,
    imports,
    local_cloud,
    parsers,
    slack,
    windows,
)
from tests.bench.figure import Measurement

MEASUREMENTS: tuple[Measurement, ...] = (
    *assembly.MEASUREMENTS,
    *imports.MEASUREMENTS,
    *deciding.MEASUREMENTS,
    *growth.MEASUREMENTS,
    *windows.MEASUREMENTS,
    *diagnosing.MEASUREMENTS,
    *parsers.MEASUREMENTS,
    *local_cloud.MEASUREMENTS,
    *slack.MEASUREMENTS,
    *exposure.MEASUREMENTS,
)


def main() -> None:
    logging.disable()
    for measurement in MEASUREMENTS:
        for line in measurement.lines():
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
