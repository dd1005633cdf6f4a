"""How long `make demo` takes a person who watches, and a day that nobody watches; all of it, from start to exit."""

import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial

from tests.bench.figure import Measurement


def _take(figure: str, *options: str) -> Mapping[str, float]:
    begun = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "cli.main", "local", "demo", *options], capture_output=True, check=True
    )
    return {figure: time.monotonic() - begun}


MEASUREMENTS = tuple(
    Measurement({figure: "s"}, partial(_take, figure, *options))
    for figure, options in {
        "demo-day": (),
        "demo-day-fast": ("--fast",),
        "demo-trouble-fast": ("--act", "trouble", "--fast"),
    }.items()
)
