"""What failed for good lies in a queue: a sweep pages about it.

An alarm on the queue would cost more than all sweeps together, and would say nothing more until the queue is empty.
Where no sweep ends well, another alarm pages.
"""

from lamplighter.application.guard.services import GuardServices
from lamplighter.application.single_notice import LATE, once
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.domain.guard.dead_letters import incident
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.phrases import reason_sentence
from lamplighter.reasons.reason import reason


def page_dead_letters(guard_services: GuardServices) -> None:
    """Page where it is due. The first pool's trail has it, as it has what the planner says of the lab."""
    count = guard_services.dead_letters()
    if not count:
        return
    capacity = guard_services.capacity
    lab, ledger, now = capacity.lab, capacity.ledger, capacity.now()
    before = ledger.dead_letters()
    current = incident(before, count, now)
    # Of two sweeps at once one pages.
    if not ledger.note_dead_letters(current, before) or not current.pages_again(count):
        return
    what = reason("notice.dead-letters.subject", count=count)
    why = reason("notice.dead-letters.text", queue=f"{lab.name}-dead-letters")
    announcement = Announcement("guard", what, reason_sentence(why))
    # An entry of the trail that is late counts as told: a page that nobody takes for so long has a new one.
    again = (now - current.since) // LATE
    if once(
        ledger,
        f"dead-letters-{current.since:%Y%m%dT%H%M%S}-{current.pages}-{again}",
        Entry(now, next(iter(lab.pools)), "noted", "guard", what, why),
        lambda: guard_services.page(WHOLE_LAB, announcement),
    ):
        ledger.note_dead_letters(current.paged(count), current)
