"""When a run that waits for capacity hands its lease on to a new run, and the name of the new run.

Step Functions ends a run with its 25,000th event, and no catcher runs then
(https://docs.aws.amazon.com/step-functions/latest/dg/bp-history-limit.html).
"""

import re

from lamplighter.domain.schedules.schedule import start_name

STEP_FUNCTIONS_LIMIT = 25_000
"""The events of a run at which Step Functions ends it."""
MOST_EVENTS = 1_500
"""A run with more events hands on. A round with every retry takes at most 23,500 events: a test counts them."""
_LATER = re.compile(r"(.*)\.run(\d+)")


def is_long(events: int) -> bool:
    """Whether another round may exceed the limit of the run's history."""
    return events > MOST_EVENTS


def next_run(name: str) -> str:
    """The name of the run after `name`; it is always the same, so the run is started once."""
    later = _LATER.fullmatch(name)
    first, number = (later[1], int(later[2])) if later else (name, 1)
    return start_name(f"{first}.run{number + 1}")
