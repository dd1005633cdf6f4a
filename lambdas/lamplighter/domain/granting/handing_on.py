"""When a run that waits for capacity hands its lease on to a new run, and the name of the new run.

Step Functions ends a run with its 25,000th event, and no catcher runs then
(https://docs.aws.amazon.com/step-functions/latest/dg/bp-history-limit.html).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.schedule import open_command, start_name
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Said
from lamplighter.values import instant

STEP_FUNCTIONS_LIMIT = 25_000
"""The events of a run at which Step Functions ends it."""
MOST_EVENTS = 1_500
"""A run with more events hands on. A round with every retry takes at most 23,500 events: a test counts them."""
_LATER = re.compile(r"(.*)\.run(\d+)")


def is_long(events: int) -> bool:
    """Whether another round may exceed the limit of the run's history."""
    return events > MOST_EVENTS


def proof_run(
    lease: Lease, instances: Sequence[str], why: Said, now: datetime
) -> tuple[str, Mapping[str, object]]:
    """The run that awaits and proves the nodes in the place of these: its name and its state.

    It goes on with a granted lease as a run that was handed on does, after a replacement `now`. The same instances
    always mean the same run.
    """
    command = open_command(lease)
    later = _LATER.fullmatch(lease.run or command.id)
    first = later[1] if later else lease.run or command.id
    admitted = {"outcome": "granted", "later": False, "lease": lease.to_json(), "reason": document(why)}
    results = {"Admit": admitted, "Replace": {"at": instant.written(now)}}
    state = {"command": replace(command, id=first).to_json(), "results": results}
    return start_name(f"{first}.for-{min(instances)}"), state


def next_run(name: str) -> str:
    """The name of the run after `name`; it is always the same, so the run is started once."""
    later = _LATER.fullmatch(name)
    first, number = (later[1], int(later[2])) if later else (name, 1)
    return start_name(f"{first}.run{number + 1}")
