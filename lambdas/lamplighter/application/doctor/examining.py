"""The doctor: once a month it runs the checks of `lamplighter doctor`, sends a notice and writes to the trail.

It changes nothing else. An event that is delivered again sends no second notice.
"""

import os
from functools import partial
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.kept_courses import kept_courses
from lamplighter.adapters.doctor.collect import Examination
from lamplighter.application.notices import telling
from lamplighter.application.single_notice import once
from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.examination_notice import in_short, of_examination, with_outcome
from lamplighter.domain.doctor.line import LineOutcome, Unread
from lamplighter.domain.notices import notification
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.doctor.facts import Facts
    from lamplighter.domain.doctor.line import DoctorLine
    from lamplighter.lab.model import Lab


WHO = "doctor"


def examined(found: "Lab", ledger: "Ledger", now: "datetime") -> "list[DoctorLine]":
    """The lines of every check now. Raises OutsideFailed where AWS does not answer."""
    return examine(facts_of(found, ledger), found, now)


def facts_of(found: "Lab", ledger: "Ledger") -> "Facts":
    """The facts of a deployed lab. Raises OutsideFailed where AWS does not answer."""
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
    return facts


def counted(lines: "Sequence[DoctorLine]") -> dict[str, object]:
    """How many checks are ok, and the names of the others."""
    named = {outcome: [line.check for line in with_outcome(lines, outcome)] for outcome in LineOutcome}
    return {
        "ok": len(named[LineOutcome.OK]),
        "not_ok": named[LineOutcome.NOT_OK],
        "not_known": named[LineOutcome.NOT_KNOWN],
    }


def tell(found: "Lab", ledger: "Ledger", lines: "Sequence[DoctorLine]", now: "datetime") -> None:
    """Write the result into the trail, and send a notice if none was sent on this day."""
    announcement = of_examination(lines, Texts(found.notify.language), clock_of(zones.zone(found.time_zone)))
    notice = notification.of(found.name, WHOLE_LAB, announcement)
    entry = Entry(now, WHOLE_LAB, "examined", WHO, reason("doctor.examined"), in_short(lines))
    once(ledger, f"doctor-{now:%Y-%m-%d}", entry, lambda: telling.notices().say(notice))
