"""The doctor: once a month it runs the checks of `lamplighter doctor`, sends a notice and writes to the trail.

Schedules of the planner ask it to check one window again. It changes nothing else. An event that is delivered again
sends no second notice.
"""

from collections.abc import Mapping

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application import logs
from lamplighter.application.doctor.examining import counted, examined, tell
from lamplighter.application.doctor.looking import look_again
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """-> how many checks are ok, and the names of the others. An event with `look` names a window to check."""
    logs.begin(event, context)
    ledger, now = Ledger(ENVIRONMENT.ledger_table), clock.now()
    found = as_kept(lab(), ledger)
    if "look" in event:
        result = look_again(event["look"], found, ledger, now)
        logs.logger().info("looked again", extra=result)
        return result
    lines = examined(found, ledger, now)
    done = counted(lines)
    logs.logger().info("examined", extra=done)
    tell(found, ledger, lines, now)
    return done
