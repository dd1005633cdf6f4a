"""The doctor: once a month the checks of `lamplighter doctor`, said as a notice and kept in the trail.

It changes nothing; a rule that is delivered twice says nothing twice.
"""

from collections.abc import Mapping

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application import logs
from lamplighter.application.doctor.examining import counted, examined, tell
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """-> how many checks came out how, and the names of those that are not ok."""
    logs.begin(event, context)
    ledger, now = Ledger(ENVIRONMENT.ledger_table), clock.now()
    found = as_kept(lab(), ledger)
    lines = examined(found, ledger, now)
    done = counted(lines)
    logs.logger().info("examined", extra=done)
    tell(found, ledger, lines, now)
    return done
