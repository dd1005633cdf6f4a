"""When a run that waits for capacity hands its lease on to a new run, and what that one is called.

Step Functions ends a run with its 25,000th event, and no catcher runs then
(https://docs.aws.amazon.com/step-functions/latest/dg/bp-history-limit.html).
"""

import re

from lamplighter.domain.schedules.schedule import start_name

STEP_FUNCTIONS_LIMIT = 25_000
"""The events of a run at which Step Functions ends it."""
MOST_EVENTS = 1_500
"""A run with more hands on. A round with every retry of every step takes 23,500 at most: a test counts them."""
_LATER = re.compile(r"(.*)\.run(\d+)")


def is_long(events: int) -> bool:
    """Whether another round may be more than the run's history holds."""
    return events > MOST_EVENTS


def next_run(name: str) -> str:
    """The run after `name`: the same whoever asks, so that it is started once."""
    later = _LATER.fullmatch(name)
    first, number = (later[1], int(later[2])) if later else (name, 1)
    return start_name(f"{first}.run{number + 1}")
