"""The minutes that each way to zero alone takes, in the lab's time: what its scenario has written down.

`python -m tests.bench.rails` prints the table of docs/reference/performance.md.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.bench.figure import Measurement
from tests.scenarios.rails.figures import figures
from tests.suite.parts import Part, program
from tests.suite.running import Running

FOLDER = "tests/scenarios/rails"
#: By file: the kinds whose rails it plays.
PLAYED = {"test_rails.py": ("node-group", "auto-mode"), "test_karpenter_rails.py": ("karpenter",)}
#: The rows of the table. In each the rails of a node group, of Karpenter and of Auto Mode.
ROWS: Mapping[str, tuple[str | None, str | None, str | None]] = {
    "CloseLab": ("close", "close", "close"),
    "the guard": ("guard", "guard", "guard"),
    "the failsafe's first rail, from 10 minutes on": ("eks", "kubernetes", "kubernetes"),
    "its last rail, from 30 minutes on; of Auto Mode from 40 on": ("group", "ec2", "switch-off"),
    "the life of a node, with the launch bar shut": (None, "life", "life"),
    "the curfew's first rail": ("curfew", "curfew", "curfew"),
    "its second rail, from 5 minutes on": ("curfew-group", "curfew-ec2", None),
}
KINDS = ("node-group", "karpenter", "auto-mode")


def _take(file: str) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-bench-") as folder:
        report = Path(folder, "report.xml")
        chosen = ("-m", "long or not long", f"{FOLDER}/{file}")
        command = (
            program("pytest"),
            "-q",
            "-n",
            "0",
            *chosen,
            "-o",
            "junit_family=legacy",
            "--junitxml",
            str(report),
        )
        ended = Running().run(Part("rails", (command,)))
        if not ended.passed:
            raise RuntimeError(f"{file} failed:\n{ended.output}")
        return dict(_recorded(report))


def _recorded(report: Path) -> Iterator[tuple[str, float]]:
    for found in ET.parse(report).iter("property"):  # noqa: S314  pytest wrote it just now
        if str(found.get("name")).startswith("rail-"):
            yield str(found.get("name")), float(found.get("value", ""))


def _promised(kinds: Sequence[str]) -> Mapping[str, str]:
    return dict.fromkeys(chain.from_iterable(figures(kind) for kind in kinds), "min")


MEASUREMENTS = tuple(Measurement(_promised(kinds), partial(_take, file)) for file, kinds in PLAYED.items())


def table(minutes: Mapping[str, float]) -> str:
    """Minutes after the end of the lease, by what alone is left and by kind."""
    lines = ["| alone | managed node group | `karpenter` | `auto-mode` |", "|---|---|---|---|"]
    for row, rails in ROWS.items():
        names = [f"rail-{kind}-{rail}" if rail else None for kind, rail in zip(KINDS, rails, strict=True)]
        cells = [f"{minutes[name]:.1f}" if name else "none" for name in names]
        lines.append(f"| {' | '.join((row, *cells))} |")
    return "\n".join(lines)


def main() -> None:
    minutes = dict(chain.from_iterable(_take(file).items() for file in PLAYED))
    sys.stdout.write(f"{table(minutes)}\n")


if __name__ == "__main__":
    main()
