"""What people are told before a lease ends: when, what to do, and whose work goes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import boto3
import pytest

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.notices.steps import warn
from lamplighter.domain.granting import extension
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.notices.announcement import of_closing, of_warning
from lamplighter.domain.notices.opening import of_opening
from lamplighter.domain.schedules.schedule import WorkflowArns, close_command, open_schedule, warn_schedules
from lamplighter.errors import OutsideFailed
from lamplighter.lab.channels import Slack
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import from_odd_document, to_document
from lamplighter.reasons.reason import reason
from tests.builders import leases as any_leases
from tests.builders.leases import DAY, EIGHT, MINUTE
from tests.unit.lab_on_moto import lab_on_moto
from tests.unit.notices.drawing import drawn, text_of

DOORS = WorkflowArns("open", "close", "notices")
SEOUL = ZoneInfo("Asia/Seoul")


def lease(minutes: int = 120) -> Lease:
    return any_leases.lease("evening-2026-11-20", closes=minutes, window="evening")


def warned(minutes: int, *ahead: int) -> list[float]:
    """How many minutes before its end a lease of so many minutes is warned of."""
    workflow_arns = replace(DOORS, warnings=tuple(each * MINUTE for each in ahead)) if ahead else DOORS
    one = lease(minutes)
    return [(one.closes - shot.at) / MINUTE for shot in warn_schedules(one, workflow_arns)]


@pytest.mark.parametrize(
    ("length", "ahead", "minutes"),
    [
        (120, (), [15, 5]),
        # Of a short lease half way through, and no two at once.
        (20, (), [10, 5]),
        (10, (), [5]),
        (4, (), [2]),
        (120, (5, 30, 10), [30, 10, 5]),
    ],
)
def test_a_lease_is_warned_of_15_and_5_minutes_before_its_end(
    length: int, ahead: tuple[int, ...], minutes: list[float]
) -> None:
    assert warned(length, *ahead) == minutes


def test_a_lab_says_itself_when_it_warns() -> None:
    text = "name: x\nguard: {warnings: 20m}"
    found = parse(text, "f")
    assert isinstance(found, Lab)
    assert Lab.from_json(found.to_json()).guard.warnings == [20 * MINUTE]
    assert not Lab.model_validate({"name": "x", "guard": {"warnings": []}}).guard.warnings


def test_no_schedule_is_delivered_after_it_has_lost_its_sense() -> None:
    for minutes in (4, 20, 300):
        one = lease(minutes)
        for shot in (open_schedule(one, DOORS), *warn_schedules(one, DOORS)):
            assert shot.at + shot.retried <= one.closes


ENDS = "The evening lease ends at 07:00 (Asia/Seoul)."


def test_a_warning_says_what_to_do() -> None:
    one = lease()
    said = drawn(of_warning(one, one.closes - 15 * MINUTE, furthest=one.closes + 60 * MINUTE), SEOUL)
    assert said.subject == "Pool gpu closes in 15 minutes"
    assert said.text == (
        f"{ENDS} Save your work, or extend it until 08:00 (Asia/Seoul) at most: lamplighter extend gpu 1h."
    )


def test_a_warning_names_the_slash_command_that_the_lab_has() -> None:
    one = lease()
    said = drawn(of_warning(one, one.closes - 15 * MINUTE, word="lab"), SEOUL)
    assert said.text == f"{ENDS} Save your work, or extend it: lamplighter extend gpu 1h, or /lab extend 1h."


def test_nobody_is_told_to_extend_what_cannot_be_extended() -> None:
    one = lease()
    said = drawn(of_warning(one, one.closes - MINUTE, furthest=one.closes), SEOUL)
    assert said.subject == "Pool gpu closes in 1 minute"
    assert said.text == f"{ENDS} Save your work. The lab's rules allow no further extension."


def test_at_a_partial_shrink_it_says_which_node_goes_and_whose_work_is_on_it() -> None:
    one = lease()
    stake = AtStake(("ip-10-0-0-7",), ("alice/train-0", "bob/notebook"), staying=1)
    said = drawn(
        of_warning(one, one.closes - 5 * MINUTE, at_stake=from_odd_document(AtStake, to_document(stake))),
        SEOUL,
    )

    assert said.subject == "Pool gpu loses 1 of 2 nodes in 5 minutes"
    assert (
        f"{ENDS} This node is removed: ip-10-0-0-7. The work on it ends: alice/train-0 and bob/notebook."
        in said.text
    )


def test_a_pool_that_closes_whole_keeps_the_first_of_much_work_only() -> None:
    pods = tuple(f"class/pod-{number}" for number in range(7000))
    assert text_of(AtStake(("a", "b"), pods).said()).endswith("class/pod-4 and 6995 more.")
    assert len(str(document(AtStake(("a", "b"), pods).said()))) < 300  # a whole item may have 400 KiB
    assert AtStake(("a",), (), staying=1).said() == reason("notice.warned.nodes", nodes=("a",), count=1)


def test_an_extension_reaches_to_the_longest_lease_or_the_curfew() -> None:
    one = lease()
    long = terms(Lab.model_validate({"name": "x", "guard": {"longest_lease": "4h"}}), "gpu")
    assert extension.furthest(one, long) == EIGHT + 240 * MINUTE

    # Half past seven in the morning in Seoul.
    early = terms(Lab.model_validate({"name": "x", "guard": {"curfew": "07:30"}}), "gpu")
    assert extension.furthest(one, early) == EIGHT + 150 * MINUTE
    at_it = terms(Lab.model_validate({"name": "x", "guard": {"curfew": "07:00"}}), "gpu")
    assert extension.furthest(one, at_it) == one.closes


@pytest.mark.parametrize("answers", [True, False])
def test_a_warning_is_said_whether_or_not_the_cluster_answers(
    answers: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Mapping[str, object]] = []

    def cluster(event: Mapping[str, object]) -> Mapping[str, object]:
        asked.append(event)
        if not answers:
            raise OutsideFailed("lambda:Invoke on cluster got no answer")
        return to_document(AtStake(("ip-10-0-0-7",), ("alice/train-0",), staying=1))

    with lab_on_moto(monkeypatch, tmp_path) as lab:
        one = lab.lease(closes=120)
        lab.at(105)
        topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
        run = {"command": close_command(one).to_json(), "results": {}}

        in_slack = lab.lab.model_copy(update={"slack": Slack(command="lab")})
        done = warn(run, NoticeServices(in_slack, lab.capacity.ledger, Notices(topic), cluster))

        (said,) = [entry for entry in lab.capacity.ledger.audit("gpu", EIGHT) if entry.kind == "warned"]
    assert done == {"announced": True, "kind": "warned"}
    assert [event["step"] for event in asked] == ["AtStake"]
    assert ("alice/train-0" in str(said.why)) is answers
    assert "or /lab extend 1h" in str(said.why)


def test_a_lease_granted_ahead_is_announced_with_its_date() -> None:
    said = drawn(
        of_opening("gpu", lease(), {"Admit": {"outcome": "granted", "later": True}}), SEOUL, now=EIGHT - DAY
    )
    assert said.subject == "Pool gpu opens at 05:00 on 2026-11-21 (Asia/Seoul)"


def test_a_close_is_announced_in_one_sentence_by_the_labs_own_clock() -> None:
    ended = close_command(lease()).because
    assert ended is not None

    said = drawn(of_closing("gpu", [lease()], ended), SEOUL)

    assert said.text == "The evening lease ended at 07:00 (Asia/Seoul)."
    assert (
        drawn(of_closing("gpu", [lease()], "alice closed it")).text
        == "The evening lease ends: alice closed it."
    )
