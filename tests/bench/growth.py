"""How deciding grows with a lab: the time a pool takes and the steps it takes, in labs of several sizes.

The steps say what the program does, whatever machine it runs on. For the times as many pools are decided
about in every size, twenty labs of 1,000 in turn or one of 20,000: a small lab by itself stays in the
processor's caches, which would be taken for growth of the large one.
"""

import math
import time
from collections.abc import Mapping, Sequence

from tests.bench.deciding import AT, Labs
from tests.bench.figure import Measurement
from tests.bench.steps import steps_of

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
TIMES = 15


def exponent(values: Mapping[int, float]) -> float:
    """What power of the size a value goes with: 1 is linear, 2 quadratic; the slope of its logarithms."""
    return _slope([math.log(size) for size in values], [math.log(value) for value in values.values()])


def _slope(across: Sequence[float], up: Sequence[float]) -> float:
    """Of the straight line that fits best, by least squares."""
    x, y = math.fsum(across) / len(across), math.fsum(up) / len(up)
    rises = math.fsum((a - x) * (u - y) for a, u in zip(across, up, strict=True))
    return rises / math.fsum((a - x) ** 2 for a in across)


def _processor_time(labs: Sequence[Labs]) -> float:
    """Seconds that the processor spends on all of them, whoever else it works for meanwhile."""
    begun = time.thread_time()
    for lab in labs:
        lab.decide()
    return time.thread_time() - begun


def _take() -> Mapping[str, float]:
    seconds: dict[int, float] = {}
    steps: dict[int, float] = {}
    for pools in SIZES:
        labs = [Labs(pools, AT) for _ in range(SIZES[-1] // pools)]
        seconds[pools] = min(_processor_time(labs) for _ in range(TIMES)) / len(labs)
        steps[pools] = steps_of(labs[0].decide)
    return {
        **{f"pool-of-{pools}": seconds[pools] / pools * 1e6 for pools in SIZES},
        "decide-growth": exponent(seconds),
        **{f"steps-of-{pools}": steps[pools] / pools for pools in SIZES},
        "steps-growth": exponent(steps),
    }


MEASUREMENTS = (
    Measurement(
        {
            **{f"pool-of-{pools}": "µs" for pools in SIZES},
            "decide-growth": "exponent",
            **{f"steps-of-{pools}": "steps" for pools in SIZES},
            "steps-growth": "exponent",
        },
        _take,
    ),
)
