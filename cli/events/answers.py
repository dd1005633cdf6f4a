"""The lab's answer to a request that was put on its bus, and what comes of it as far as `--wait` waits."""

from datetime import timedelta

from cli.deployment import Deployment
from cli.events import reading
from cli.events.reading import SeenEvent
from cli.use import orders
from cli.use.wait import Closing, Opening, Wait, until_closed, until_open
from lamplighter.errors import OutsideFailed

ANSWERS = frozenset({"lease-granted", "lease-refused", "extended", "pool-closing"})
REFUSED = "lease-refused"
ANSWER_SECONDS = 6 * 60
"""An answer that was lost is told again within five minutes."""
POLL_SECONDS = 2
MARGIN = timedelta(minutes=1)


def answer(deployed: Deployment, event: str) -> SeenEvent:
    """The lab's answer to a request. Raises OutsideFailed where none comes in time."""
    since = deployed.clock.now() - MARGIN
    for _ in orders.waiting(ANSWER_SECONDS, POLL_SECONDS):
        for seen in reading.read(deployed, since):
            if seen.in_reply_to == event and seen.logged.detail_type in ANSWERS:
                return seen
    raise OutsideFailed(
        f"the bus {deployed.name} took the event {event}, but the lab did not answer within {ANSWER_SECONDS} s; "
        "`lamplighter events tail` shows a later answer"
    )


def is_done(deployed: Deployment, answer: SeenEvent, wait: Wait | None) -> bool:
    """Whether what was asked for is so, as far as `--wait` waits for it."""
    detail = answer.logged.detail
    if answer.logged.detail_type == REFUSED:
        return False
    lease = deployed.ledger.lease(str(detail["pool"]), str(detail["lease"])) if detail.get("lease") else None
    if wait is Opening.OPEN and lease:
        return until_open(deployed, lease)[1]
    if wait is Closing.CLOSED and lease:
        until_closed(deployed, lease)
    return True
