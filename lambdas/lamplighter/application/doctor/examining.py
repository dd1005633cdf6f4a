"""The doctor: once a month it runs the checks of `lamplighter doctor`, sends a notice and writes to the trail.

It changes nothing else. An event that is delivered again sends no second notice.
"""

import os
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.kept_courses import kept_courses
from lamplighter.adapters.doctor.collect import Examination
from lamplighter.application.notices import telling
from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import WHOLE_LAB, Decision
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.examination_notice import in_short, of_examination, with_outcome
from lamplighter.domain.doctor.line import LineOutcome, Unread
from lamplighter.domain.notices import notification
from lamplighter.errors import LamplighterError, OutsideFailed
from lamplighter.reasons.reason import reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.doctor.line import DoctorLine
    from lamplighter.lab.model import Lab


WHO = "doctor"
BESIDE = timedelta(seconds=30)
"""A visit so soon after another is of an event that was delivered twice; Lambda tries again after a minute."""


def examined(found: "Lab", ledger: "Ledger", now: "datetime") -> "list[DoctorLine]":
    """The lines of every check now. Raises OutsideFailed where AWS does not answer."""
    examination = Examination(
        found,
        region=os.environ.get("AWS_REGION"),
        ledger=ledger,
        slack_secret=os.environ.get("SLACK_SECRET_ARN"),
        courses=partial(kept_courses, found, ledger),
    )
    facts = examination.facts()
    if isinstance(facts.caller, Unread):
        # Lambda retries the event and then puts it into the dead letters. No notice is sent without facts.
        raise OutsideFailed(facts.caller.why)
    return examine(facts, found, now)


def counted(lines: "Sequence[DoctorLine]") -> dict[str, object]:
    """How many checks are ok, and the names of the others."""
    named = {outcome: [line.check for line in with_outcome(lines, outcome)] for outcome in LineOutcome}
    return {
        "ok": len(named[LineOutcome.OK]),
        "not_ok": named[LineOutcome.NOT_OK],
        "not_known": named[LineOutcome.NOT_KNOWN],
    }


def tell(found: "Lab", ledger: "Ledger", lines: "Sequence[DoctorLine]", now: "datetime") -> None:
    """Write the result into the trail, and send a notice if none was sent on this day.

    Each of the two has its mark, so a retry sends the notice of a result whose write nobody acknowledged.
    """
    day, short = f"doctor-{now:%Y-%m-%d}", in_short(lines)
    if ledger.command(WHOLE_LAB, f"{day}-told") is not None:
        return
    entry = Entry(now, WHOLE_LAB, "examined", WHO, reason("doctor.examined"), short)
    if not ledger.decide(WHOLE_LAB, Decision(day, "examined", short, now), entry):
        before = ledger.command(WHOLE_LAB, day)
        if before is not None and abs(now - before.at) < BESIDE:
            return
    announcement = of_examination(lines, Texts(found.notify.language), clock_of(zones.zone(found.time_zone)))
    telling.notices().say(notification.of(found.name, WHOLE_LAB, announcement))
    with suppress(LamplighterError):  # a retry would send the notice again
        ledger.decide(WHOLE_LAB, Decision(f"{day}-told", "examined", short, now))
