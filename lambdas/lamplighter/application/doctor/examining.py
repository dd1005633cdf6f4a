"""The doctor: once a month the checks of `lamplighter doctor`, said as a notice and kept in the trail.

It changes nothing; a rule that is delivered twice says nothing twice.
"""

import os
from functools import partial
from typing import TYPE_CHECKING

from lamplighter.adapters.calendars.kept import kept_courses
from lamplighter.adapters.doctor.collect import Examination
from lamplighter.application.notices import telling
from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import WHOLE_LAB, Decision
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.line import LineOutcome, Unread
from lamplighter.domain.doctor.told import in_short, of, of_examination
from lamplighter.domain.notices import notification
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.doctor.line import DoctorLine
    from lamplighter.lab.model import Lab


WHO = "doctor"


def examined(found: "Lab", ledger: "Ledger", now: "datetime") -> "list[DoctorLine]":
    examination = Examination(
        found,
        region=os.environ.get("AWS_REGION"),
        ledger=ledger,
        slack_secret=os.environ.get("SLACK_SECRET_ARN"),
        courses=partial(kept_courses, found, ledger),
    )
    facts = examination.facts()
    if isinstance(facts.caller, Unread):
        # The event is tried again, and is a dead letter then: nobody is told that nothing is known.
        raise OutsideFailed(facts.caller.why)
    return examine(facts, found, now)


def counted(lines: "Sequence[DoctorLine]") -> dict[str, object]:
    named = {outcome: [line.check for line in of(lines, outcome)] for outcome in LineOutcome}
    return {
        "ok": len(named[LineOutcome.OK]),
        "not_ok": named[LineOutcome.NOT_OK],
        "not_known": named[LineOutcome.NOT_KNOWN],
    }


def tell(found: "Lab", ledger: "Ledger", lines: "Sequence[DoctorLine]", now: "datetime") -> None:
    """Into the trail first, and aloud if it is the first time today."""
    told = of_examination(lines, Texts(found.notify.language), clock_of(zones.zone(found.time_zone)))
    short = in_short(lines)
    entry = Entry(now, WHOLE_LAB, "examined", WHO, reason("doctor.examined"), short)
    if ledger.decide(WHOLE_LAB, Decision(f"doctor-{now:%Y-%m-%d}", "examined", short, now), entry):
        telling.notices().say(notification.of(found.name, WHOLE_LAB, told))
