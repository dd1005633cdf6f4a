"""A lease that ends without all its nodes leaves one letter, in place of the notice that its pool closes."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.notices.steps import announce
from lamplighter.domain.audit.entry import CAPACITY, Entry
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.launch_cause import LaunchCause, LaunchRefusal
from lamplighter.domain.capacity.shortage import of_refusal, short_of
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.granting.free_times import read
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.schedules.schedule import close_command
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Sentences, reason
from tests.builders.leases import EIGHT, HOUR, MINUTE, usd
from tests.unit.lab_on_moto import LEDGER, LabOnMoto
from tests.unit.notices.test_notices import Mailbox

WORDS = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient"
    " g5.xlarge capacity in the Availability Zone you requested (ap-northeast-2a). You can currently get g5.xlarge"
    " capacity by not specifying an Availability Zone in your request or choosing ap-northeast-2b, ap-northeast-2c."
)
SHORT = of_refusal(LaunchRefusal(LaunchCause.NO_CAPACITY, WORDS))


def short(lab: LabOnMoto, came: int = 0, **more: Any) -> Any:
    """A lease of two nodes that ends now, and what its run noted of the shortage."""
    ledger = lab.capacity.ledger
    one = lab.lease(ordered=EIGHT, **more)
    ledger.note_progress("gpu", one.id, Stage.NODES, came, 2, EIGHT + MINUTE)
    why = Sentences((short_of(LaunchCause.NO_CAPACITY, came, 2, SHORT).reason, "its hold is free"))
    found = reason("notice.finding", cause="no-capacity", summary="none")
    at, words, cause = EIGHT + 4 * MINUTE, Sentences((WORDS, "Wait.")), {"cause": "no-capacity"}
    ledger.append_audit(Entry(at, "gpu", "finding", "diagnosis", found, words, one.id, details=cause))
    at = EIGHT + 115 * MINUTE
    ledger.append_audit(Entry(at, "gpu", "degraded", CAPACITY, "2 of 2 are missing", why, one.id))
    return one


def closed(
    lab: LabOnMoto, one: Any, order: Command | None = None, **notify: Any
) -> tuple[list[dict[str, Any]], dict[str, object]]:
    """What its close sends, and the result of the step."""
    mailbox = Mailbox()
    known = Lab.model_validate({"name": "lab", "time_zone": "UTC", "notify": notify})
    services = NoticeServices(known, lab.capacity.ledger, Notices(mailbox.topic))
    lab.at(120)
    done = announce({"command": (order or close_command(one)).to_json(), "results": {}}, services)
    return mailbox.letters(), done


def test_the_letter_says_what_was_tried_the_words_of_aws_the_cost_and_the_next_free_times(
    lab: LabOnMoto,
) -> None:
    one = short(lab)
    lab.lease(name="cli-2", opens=180, closes=240)
    [found], done = closed(lab, one)

    assert done["kind"] == "unfilled"
    assert found["Subject"] == "lab: Pool gpu closes with 0 of 2 nodes"
    text = found["Message"]
    for words in (
        "The lab asked AWS for 2 nodes from 20:00 (UTC) until 22:00 (UTC), and at the last look 0 were there.",
        "at 21:55 (UTC): 0 of 2 nodes: AWS has no g5.xlarge capacity left in ap-northeast-2a;",
        "AWS has it now in ap-northeast-2b and ap-northeast-2c.",
        "AWS's words at 20:04 (UTC): Could not launch On-Demand Instances. InsufficientInstanceCapacity",
        "it has cost 0.00 USD so far; its receipt has the exact sum.",
        "a lease like it would be granted from 00:00 on 2026-11-21 (UTC) until 02:00 on 2026-11-21 (UTC);",
        "whether AWS has the nodes then, nobody knows yet.",
    ):
        assert words.casefold() in text.casefold(), text
    [entry] = lab.entries("announced")
    [free] = read("gpu", entry.details["free"])
    assert (free.begins, free.ends) == (EIGHT + 4 * HOUR, EIGHT + 6 * HOUR)


def test_it_is_sent_once_however_many_runs_close_the_lease(lab: LabOnMoto) -> None:
    one = short(lab)
    [_], _ = closed(lab, one)
    again, _ = closed(lab, one)
    assert again == []
    assert len(lab.entries("announced")) == 1


def test_each_lease_has_its_own_where_the_close_does_not_name_it(lab: LabOnMoto) -> None:
    for name in ("cli-1", "cli-2"):
        one = short(lab, name=name)
        lab.capacity.ledger.decide("gpu", Decision(f"open-{name}", "granted", "free", EIGHT, name))
        undoing = replace(close_command(one), lease=None, opened_by=f"open-{name}")
        sent, _ = closed(lab, one, undoing)
        assert [letter["Subject"] for letter in sent] == ["lab: Pool gpu closes with 0 of 2 nodes"]
        assert closed(lab, one, undoing)[0] == []
    assert [entry.lease for entry in lab.entries("announced")] == ["cli-1", "cli-2"]


def test_one_of_two_nodes_is_paid_and_it_is_told_in_korean(lab: LabOnMoto) -> None:
    [found], _ = closed(
        lab, short(lab, came=1, hold=usd("4.948"), price_per_hour=Decimal("1.237")), language="ko"
    )
    assert found["Subject"] == "lab: Pool gpu closes with 1 of 2 nodes"
    assert "gpu 풀이 노드 2개 중 1개만 확보한 상태로 닫힙니다" in found["Message"]
    assert "2.47 USD" in found["Message"]


def test_where_nothing_is_free_it_says_so(lab: LabOnMoto) -> None:
    paused = Decision("pause-1", "paused", "exams", EIGHT)
    lab.capacity.ledger.pause(Pause("alice", EIGHT, EIGHT + 200 * HOUR), "*", paused, [])
    [found], _ = closed(lab, short(lab))
    assert "No time in the coming week is free for a lease like it." in found["Message"]


def test_where_waiting_does_not_help_it_says_why(lab: LabOnMoto) -> None:
    paused = Decision("pause-1", "paused", "exams", EIGHT)
    lab.capacity.ledger.pause(Pause("alice", EIGHT, because="exams"), "*", paused, [])
    [found], _ = closed(lab, short(lab))
    assert "No time is free for a lease like it: alice paused the lab" in found["Message"]


@pytest.mark.parametrize("came", [2, None])
def test_a_lease_whose_nodes_came_or_were_never_ordered_is_told_as_ever(
    lab: LabOnMoto, came: int | None
) -> None:
    one = lab.lease() if came is None else short(lab, came)
    [found], done = closed(lab, one)
    assert done["kind"] == "closing"
    assert found["Subject"] == "lab: Pool gpu is closing"


def test_where_the_trail_cannot_be_read_the_pool_is_closing_as_ever(lab: LabOnMoto) -> None:
    one = short(lab)
    odd = items.item("POOL#gpu", f"{items.AUDIT}{items.sortable(EIGHT)}#odd", {"details": "{"})
    boto3.client("dynamodb").put_item(TableName=LEDGER, Item=odd)
    [found], _ = closed(lab, one)
    assert found["Subject"] == "lab: Pool gpu is closing"
