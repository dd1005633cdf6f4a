"""Each notice of the planner comes once, whichever answer of the ledger is lost and however often the planner runs."""

from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from moto.sns.models import sns_backends

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.planner.plan import plan_all
from lamplighter.application.single_notice import once
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.commands.command import Decision
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import draw, reason
from lamplighter.values.clock_time import clock_time
from tests.builders.leases import EIGHT
from tests.unit.calendar.courses.test_calendar import calendar
from tests.unit.lab_on_moto import LEDGER, REGION, LabOnMoto
from tests.unit.planner.test_planner import EVENING, LATE, deployed

WRITES = ("put_item", "update_item", "delete_item", "transact_write_items")
COURSE = {"name": "course", "nodes": 1, "calendar": "https://school.example/course.ics"}
NOTICES = [
    "lab: the calendar of window course",
    "lab: window evening did not open on 2026-11-20",
    "lab: window evening will not open on 2026-11-20",
    "lab: window late does not open on 2026-11-20",
]
TOLD = ("course-calendar", "missed", "foreseen", "skipped")
MOST = 32
"""More writes than the planner makes here."""


class LosesAnswer:
    """DynamoDB, whose answer to one write is lost: the write of this number, from one on."""

    def __init__(self, dynamodb: Any, number: int) -> None:
        self._dynamodb, self.left = dynamodb, number

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._dynamodb, name)
        if name not in WRITES:
            return call

        def write(**given: Any) -> Any:
            self.left -= 1
            answer = call(**given)
            if self.left == 0:
                raise ReadTimeoutError(endpoint_url="https://dynamodb")
            return answer

        return write


def sent() -> list[str]:
    """The subject of every notice, in order of their names."""
    topics = sns_backends["123456789012"][REGION].topics.values()
    return sorted(str(each[2]) for topic in topics for each in topic.sent_notifications)


@pytest.mark.parametrize("number", range(1, MOST + 1))
def test_whichever_answer_is_lost_each_notice_comes_once(lab: LabOnMoto, number: int) -> None:
    planner = deployed(lab, EVENING, {**LATE, "except": ["2026-11-20"]}, COURSE)
    planner.fetch = lambda _address, _secret: calendar("DTSTART:20261124T190000|DURATION:PT2H")
    lab.lease(opens=60, closes=180)
    ledger: Any = LosesAnswer(boto3.client("dynamodb"), number)
    lab.capacity.ledger = Ledger(LEDGER, ledger)

    for minutes in (0, 60, 120, 240, 300):
        lab.at(minutes)
        before = ledger.left
        try:
            plan_all(planner)
        except OutsideFailed:
            assert before > 0 >= ledger.left

    assert sent() == NOTICES
    trail = [entry.kind for entry in lab.capacity.ledger.audit("gpu", EIGHT - timedelta(hours=1))]
    for kind in TOLD:
        assert trail.count(kind) == 1, trail
    if number == MOST:
        assert ledger.left > 0


def test_a_notice_that_nobody_took_comes_with_the_next_run_and_once(lab: LabOnMoto) -> None:
    planner = deployed(lab, {**LATE, "except": ["2026-11-20"]})
    heard = planner.notices
    for minutes in (0, 60, 120):
        lab.at(minutes)
        planner.notices = heard if minutes else Notices(f"arn:aws:sns:{REGION}:123456789012:gone")
        plan_all(planner)
        assert len(sent()) == (minutes > 0)


@pytest.mark.parametrize("unheard", [(0,), (0, 60), (240,), (0, 120, 240)])
def test_each_notice_that_nobody_took_comes_again_and_once(lab: LabOnMoto, unheard: tuple[int, ...]) -> None:
    planner = deployed(lab, EVENING, {**LATE, "except": ["2026-11-20"]}, COURSE)
    planner.fetch = lambda _address, _login: calendar("DTSTART:20261124T190000|DURATION:PT2H")
    heard = planner.notices
    lab.lease(opens=60, closes=180)
    for minutes in (0, 60, 120, 240, 300, 360):
        lab.at(minutes)
        planner.notices = Notices(f"arn:aws:sns:{REGION}:123456789012:gone") if minutes in unheard else heard
        plan_all(planner)

    assert sent() == NOTICES
    trail = [entry.kind for entry in lab.capacity.ledger.audit("gpu", EIGHT - timedelta(hours=1))]
    assert [trail.count(kind) for kind in TOLD] == [1] * len(TOLD), trail


def test_an_entry_that_an_older_release_wrote_has_sent_its_notice(lab: LabOnMoto) -> None:
    entry = Entry(EIGHT, "gpu", "skipped", "planner", reason("calendar.missed"), reason("calendar.missed"))
    ledger = lab.capacity.ledger
    notices: list[str] = []
    once(ledger, "skip-late", entry, lambda: notices.append("first"))
    boto3.client("dynamodb").delete_item(
        TableName=LEDGER, Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": "COMMAND#skip-late-told"}}
    )

    later = Entry(EIGHT + timedelta(hours=3), "gpu", "skipped", "planner", entry.what, entry.why)
    once(ledger, "skip-late", later, lambda: notices.append("second"))

    assert notices == ["first"]


def test_people_hear_once_that_the_windows_of_a_period_do_not_fit_into_its_budget(lab: LabOnMoto) -> None:
    planner = deployed(lab, EVENING, guard={"budget": {"amount": "30"}})
    for minutes in (0, 60, 120):
        lab.at(minutes)
        plan_all(planner)

    [notice] = [one for one in sent() if "budget" in one]
    assert notice == "lab: the windows of 2026-11 are planned for more than the budget"
    [entry] = [one for one in lab.capacity.ledger.audit("gpu", EIGHT) if one.kind == "budget"]
    # Eleven evenings of two nodes for two hours, from 20 to 30 November.
    planned = 44 * lab.capacity.lab.price("gpu")
    assert draw(entry.why, ENGLISH, clock_time) == (
        f"0.00 USD of the 30.00 USD for the month is spent and held, and the windows until its end are planned for "
        f"{planned:.2f} USD: {planned - 30:.2f} USD too much"
    )


def test_windows_that_a_pause_or_a_destroy_keeps_closed_are_planned_for_no_budget(lab: LabOnMoto) -> None:
    planner = deployed(lab, EVENING, guard={"budget": {"amount": "30"}})
    destroy = Pause("deploy", EIGHT, closing=True)
    for pause in (Pause("bob", EIGHT, EIGHT + timedelta(days=11)), destroy):
        lab.capacity.ledger.pause(pause, "*", Decision(pause.by, "paused", "exams", EIGHT), [])
        plan_all(planner)
        assert [one for one in sent() if "budget" in one] == []


def test_a_person_with_two_names_has_one_part_and_hears_of_it_once(lab: LabOnMoto) -> None:
    owners = {"ann (U0123ABCD)": "20", "Ann Lee (U0123ABCD)": "10"}
    guard = {"budget": {"amount": "300", "owners": owners}}
    plan_all(deployed(lab, {**EVENING, "owner": "ann (U0123ABCD)"}, guard=guard))
    assert len([one for one in sent() if "budget" in one]) == 1


def test_a_lab_that_fits_into_its_budget_or_asks_for_no_warning_hears_nothing(lab: LabOnMoto) -> None:
    for budget in ({"amount": "120"}, {"amount": "30", "warn_at": []}, {"amount": "0"}):
        plan_all(deployed(lab, EVENING, guard={"budget": budget}))
    assert [one for one in sent() if "budget" in one] == []
