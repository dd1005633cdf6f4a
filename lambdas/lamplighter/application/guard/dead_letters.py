"""What failed for good lies in a queue: a sweep pages about each further letter, and every day while one is left.

An alarm on the queue would cost more than all sweeps together, and would say nothing more until the queue is empty.
Where no sweep ends well, another alarm pages.
"""

from lamplighter.application.guard.services import GuardServices
from lamplighter.application.single_notice import once
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.phrases import reason_sentence
from lamplighter.reasons.reason import reason


def page_dead_letters(guard_services: GuardServices) -> None:
    """Once for each count of a day. The first pool's trail has it, as it has what the planner says of the lab."""
    count = guard_services.dead_letters()
    if not count:
        return
    capacity = guard_services.capacity
    lab, now = capacity.lab, capacity.now()
    what = reason("notice.dead-letters.subject", count=count)
    why = reason("notice.dead-letters.text", queue=f"{lab.name}-dead-letters")
    announcement = Announcement("guard", what, reason_sentence(why))
    once(
        capacity.ledger,
        f"dead-letters-{now:%Y%m%d}-{count}",
        Entry(now, next(iter(lab.pools)), "noted", "guard", what, why),
        lambda: guard_services.page(WHOLE_LAB, announcement),
    )
