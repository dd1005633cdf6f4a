"""What everybody may see from Slack: read from the ledger, and shown as the terminal and the pages show it."""

from datetime import timedelta

from lamplighter.application.slack.visit import Visit
from lamplighter.domain.commands import meant
from lamplighter.domain.slack import answers
from lamplighter.domain.slack.answers import Answer
from lamplighter.domain.slack.asked.understand import Understood

REACHES_BACK = timedelta(days=14)


def status(visit: Visit, _wants: Understood) -> Answer:
    """Every pool now."""
    from lamplighter.adapters.aws.view_reading import Reading  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    office = visit.office
    reading = Reading(office.ledger, office.lab, office.now())
    return seeing.status(reading.pools, reading.pause, visit.voice)


def windows(visit: Visit, _wants: Understood) -> Answer:
    """What opens next."""
    from lamplighter.adapters.aws.view_reading import read_lab  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    office = visit.office
    return seeing.windows(read_lab(office.ledger, office.lab, office.now()), visit.voice)


def leases(visit: Visit, _wants: Understood) -> Answer:
    """Who has nodes or will have."""
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    return seeing.leases(visit.all_leases(), visit.voice)


def cost(visit: Visit, _wants: Understood) -> Answer:
    """What was spent and what is left."""
    from lamplighter.adapters.aws.view_reading import read_lab  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    office = visit.office
    return seeing.cost(read_lab(office.ledger, office.lab, office.now()), visit.voice)


def why(visit: Visit, wants: Understood) -> Answer:
    """Why a pool has the nodes it has."""
    from lamplighter.adapters.calendars.kept import kept_courses  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.domain.audit.why import explain  # noqa: PLC0415
    from lamplighter.domain.calendar.timetable import Timetable  # noqa: PLC0415
    from lamplighter.domain.slack import seeing  # noqa: PLC0415

    office = visit.office
    lab, ledger, now = office.lab, office.ledger, office.now()
    pool = meant.pool_meant(wants.said.pool or wants.what, list(lab.pools))
    explanation = explain(
        visit.leases(pool),
        ledger.audit(pool, now - REACHES_BACK, now),
        now,
        lab.pools[pool].max_nodes,
        windows=Timetable(lab, kept_courses(lab, ledger)).open_at(now).get(pool, ()),
        skips=ledger.skips(),
    )
    return seeing.why(pool, explanation, REACHES_BACK.days, visit.voice)


def help_(visit: Visit, _wants: Understood, before: str = "") -> Answer:
    """Every word, and the asker's own id."""
    return answers.help_text(visit.office.word, visit.person.id, before, visit.voice)
