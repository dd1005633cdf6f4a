"""What a measurement is: the figures it promises, and the work that yields their values.

Nothing here judges: aims are in docs/reference/performance.md.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """`figures` are names and units; `take` gives a value for each of them.

    Where `others` is a unit, `take` may give more than was promised, in that unit: a list whose names are only
    known once it is measured.
    """

    figures: Mapping[str, str]
    take: Callable[[], Mapping[str, float]]
    others: str | None = None

    def lines(self) -> Iterator[str]:
        """Measure, and say it: one line a figure."""
        values = self.take()
        more = {name: self.others for name in values if name not in self.figures and self.others}
        if set(values) != {*self.figures, *more}:
            raise ValueError(f"promised {sorted(self.figures)}, measured {sorted(values)}")
        for name, unit in {**self.figures, **more}.items():
            yield f"{name} {shown(values[name])} {unit}"


def shown(value: float) -> str:
    """Three digits that mean something, and never an exponent."""
    whole = len(str(int(abs(value))))
    if not value or whole > 2:
        return f"{value:.0f}"
    digits = 3 - whole if abs(value) >= 1 else 5
    return f"{value:.{digits}f}"


def seconds_of(work: Callable[[], object]) -> float:
    """Real seconds that something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def best_of(work: Callable[[], object], times: int = 7) -> float:
    """Real seconds of the quickest of several: what it takes when nothing else wants the machine."""
    return min(seconds_of(work) for _ in range(times))
