"""The doctor's function: its entry in the trail, and one notice a day."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber
from moto.sns.models import sns_backends

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.doctor import caller
from lamplighter.application.doctor import examining
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LEDGER, REGION, lab_on_moto

LAB = Lab.model_validate({"name": "lab"})
WELL = DoctorLine("trail", LineOutcome.OK, "trail all records changes", "")
WRONG = DoctorLine("bootstrap", LineOutcome.NOT_OK, "CDK is not bootstrapped", "bootstrap it")
UNKNOWN = DoctorLine("claim", LineOutcome.NOT_KNOWN, "ssm:GetParameters on /claims failed", "")


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    with lab_on_moto(monkeypatch, tmp_path):
        arn = boto3.client("sns").create_topic(Name="lab-notices")["TopicArn"]
        monkeypatch.setenv("NOTICES_TOPIC_ARN", arn)
        yield arn


def said(topic: str) -> list[tuple[str, str]]:
    """Subject and text of every notice. The kind of each must be ours."""
    sent = sns_backends["123456789012"][REGION].topics[topic].sent_notifications
    assert all((each[3] or {})["kind"]["Value"] == "doctor" for each in sent)
    return [(str(each[2]), str(each[1])) for each in sent]


class AnswerLost:
    """DynamoDB, which writes transactions, and whose answers to them get lost."""

    def __init__(self, dynamodb: Any) -> None:
        self._dynamodb = dynamodb

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dynamodb, name)

    def transact_write_items(self, **given: Any) -> None:
        self._dynamodb.transact_write_items(**given)
        raise ReadTimeoutError(endpoint_url="https://dynamodb")


def test_a_visit_says_what_is_to_be_done_once_a_day_and_keeps_it(topic: str) -> None:
    ledger, lines = Ledger(LEDGER), [WELL, WRONG, UNKNOWN]

    examining.tell(LAB, ledger, lines, EIGHT)
    examining.tell(LAB, ledger, lines, EIGHT + timedelta(minutes=5))

    [(subject, text)] = said(topic)
    assert subject == "lab: The monthly check found 1 thing to do"
    assert text.splitlines() == [
        "bootstrap: CDK is not bootstrapped. What to do: bootstrap it",
        "Not known: claim: ssm:GetParameters on /claims failed",
        "1 ok, 1 not ok, 1 not known. `lamplighter doctor --deployed` says the same at any time.",
    ]
    [entry] = ledger.audit("*", EIGHT - timedelta(hours=1))
    assert (entry.kind, entry.who, str(entry.what)) == (
        "examined",
        "doctor",
        "checked the account and the lab",
    )
    assert str(entry.why) == "The monthly check found 1 thing to do"

    examining.tell(LAB, ledger, [WELL], EIGHT + timedelta(days=30))
    assert said(topic)[1][0] == "lab: The monthly check found nothing to do"


def test_a_result_whose_write_nobody_acknowledged_has_sent_its_notice_once(topic: str) -> None:
    dynamodb: Any = AnswerLost(boto3.client("dynamodb"))
    with pytest.raises(OutsideFailed, match="TransactWriteItems"):
        examining.tell(LAB, Ledger(LEDGER, dynamodb), [WRONG], EIGHT)

    # Lambda tries the event again.
    for minutes in (1, 3):
        examining.tell(LAB, Ledger(LEDGER), [WRONG], EIGHT + timedelta(minutes=minutes))

    assert len(said(topic)) == 1
    assert len(Ledger(LEDGER).audit("*", EIGHT - timedelta(hours=1))) == 1


class Slow(Ledger):
    """A ledger whose second reader comes before the first one has written."""

    def command(self, pool: str, command_id: str) -> Decision | None:
        found = super().command(pool, command_id)
        if command_id.endswith("-told"):
            examining.tell(LAB, Ledger(LEDGER), [WRONG], EIGHT + timedelta(seconds=1))
        return found


def test_two_visits_of_one_event_at_once_send_one_notice(topic: str) -> None:
    examining.tell(LAB, Slow(LEDGER), [WRONG], EIGHT)
    assert len(said(topic)) == 1


def test_a_visit_answers_how_it_came_out() -> None:
    assert examining.counted([WELL, WRONG, UNKNOWN]) == {
        "ok": 1,
        "not_ok": ["bootstrap"],
        "not_known": ["claim"],
    }


def test_a_visit_to_which_aws_does_not_answer_fails_and_is_tried_again(
    topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sts = boto3.client("sts")
    monkeypatch.setattr(caller, "client", lambda _: sts)

    with Stubber(sts) as stub:
        stub.add_client_error("get_caller_identity", "InternalFailure", "sorry")
        with pytest.raises(OutsideFailed, match="sts:GetCallerIdentity"):
            examining.examined(LAB, Ledger(LEDGER), EIGHT)

    assert said(topic) == []
