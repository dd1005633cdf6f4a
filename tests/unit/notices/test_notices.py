"""Notices are in the lab's language, have a kind, and never fail a workflow."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.notices.steps import tell, warn
from lamplighter.data.texts import Texts
from lamplighter.domain.notices import notification
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.schedules.schedule import close_command
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import draw, reason
from lamplighter.values.clock_time import clock_time
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto
from tests.world.world import World

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
    "windows": [{"name": "evening", "days": "daily", "start": "20:00", "end": "22:00", "nodes": 1}],
}
HELLO = Announcement("open", "gpu 풀이 열렸습니다", "노드가 준비되었습니다.", "Pool gpu is open")


class Mailbox:
    """A queue on the lab's topic."""

    def __init__(self) -> None:
        self._sqs = boto3.client("sqs")
        sns = boto3.client("sns")
        self.topic = sns.create_topic(Name="notices")["TopicArn"]
        self._queue = self._sqs.create_queue(QueueName="mail")["QueueUrl"]
        found = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=found["Attributes"]["QueueArn"])

    def letters(self) -> list[dict[str, Any]]:
        found = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(each["Body"]) for each in found]


def test_a_korean_notice_has_its_kind_and_pool_for_subscriptions_and_an_english_subject(
    lab: LabOnMoto,
) -> None:
    """SNS takes ASCII subjects only."""
    mailbox = Mailbox()

    assert Notices(mailbox.topic).say(notification.of("gpu-lab", "gpu", HELLO)) == "yes"

    (found,) = mailbox.letters()
    attributes = {name: each["Value"] for name, each in found["MessageAttributes"].items()}
    assert attributes == {"kind": "open", "pool": "gpu"}
    assert found["Subject"] == "gpu-lab: Pool gpu is open"
    assert found["Message"] == "gpu 풀이 열렸습니다\n\n노드가 준비되었습니다."


def test_the_lab_warns_in_its_language_and_its_trail_keeps_the_codes(lab: LabOnMoto) -> None:
    mailbox = Mailbox()
    korean = Lab.model_validate({"name": "gpu-lab", "notify": {"language": "ko"}})
    one = lab.lease(closes=120)
    lab.at(105)
    run = {"command": close_command(one).to_json(), "results": {}}

    warn(run, NoticeServices(korean, lab.capacity.ledger, Notices(mailbox.topic)))

    (found,) = mailbox.letters()
    assert found["Subject"] == "gpu-lab: Pool gpu closes in 15 minutes"
    assert found["Message"].startswith("gpu 풀이 15분 후에 닫힙니다\n\n")
    assert "alice 님의 대여가 07:00 (Asia/Seoul)에 끝납니다." in found["Message"]
    (entry,) = [each for each in lab.capacity.ledger.audit("gpu", EIGHT) if each.kind == "warned"]
    assert entry.what == reason("notice.warned.subject", pool="gpu", minutes=15)
    assert draw(entry.why, Texts("ko"), clock_time).startswith("alice 님의 대여가")


def test_what_a_topic_refuses_is_handed_over_and_said_once_it_takes_it(lab: LabOnMoto) -> None:
    handed: list[Mapping[str, object]] = []
    hello = notification.of("gpu-lab", "gpu", HELLO)
    nowhere = "arn:aws:sns:ap-northeast-2:123456789012:notices"

    assert Notices(nowhere, again=handed.append).say(hello) == "later"

    (run,) = handed
    notice_services = NoticeServices(lab.lab, lab.capacity.ledger, Notices(nowhere))
    # Lambda tries an event again that its function fails on, and keeps it with the dead letters in the end.
    with pytest.raises(OutsideFailed, match="sns:Publish"):
        tell(run, notice_services)
    mailbox = Mailbox()
    assert mailbox.topic == nowhere
    assert tell(json.loads(json.dumps(run)), notice_services) == {"announced": True, "kind": "open"}
    assert [each["Message"] for each in mailbox.letters()] == [hello.text]


def test_where_nobody_takes_it_either_the_caller_goes_on(lab: LabOnMoto) -> None:
    def refuses(_run: Mapping[str, object]) -> None:
        raise OutsideFailed("lambda:Invoke on notices failed")

    topic = Notices("arn:aws:sns:ap-northeast-2:123456789012:x", again=refuses)
    assert topic.say(notification.of("gpu-lab", "gpu", HELLO)) == "no"


def test_a_window_opens_and_closes_though_its_topic_refuses_and_people_are_told_afterwards() -> None:
    """The first publication of every step fails; the second one, by the notices function, goes through."""
    with World(LAB, NOON) as world:
        publishes(world, failing={"Announce", "Warn"})
        world.run(timedelta(hours=11))

        ran = {each.name.split("-")[0]: each for each in world.workflows.executions.values()}
        assert {name: each.status for name, each in ran.items()} == {
            "open": "SUCCEEDED",
            "close": "SUCCEEDED",
        }
        subjects = [text.partition("\n")[0] for _, topic, text in world.said if topic == "notices"]
        assert any("is open with 1 of 1 nodes until 22:00" in subject for subject in subjects)
        assert sum("closes in" in subject for subject in subjects) == 2
        assert any("is closing" in subject for subject in subjects)


def test_where_a_topic_refuses_for_good_the_notice_is_given_up_after_three_tries_and_the_lab_goes_on() -> (
    None
):
    """Lambda puts it among the dead letters then, which are alarmed: tests/infra/functions."""
    with World(LAB, NOON) as world:
        tried: list[str] = []
        world.functions.seen = lambda run, outcome: tried.append(outcome) if run.step == "Tell" else None
        publishes(world, failing={"Announce", "Warn", "Tell"})
        world.run(timedelta(hours=8, minutes=30))

        (run,) = world.workflows.executions.values()
        assert run.status == "SUCCEEDED"
        assert len(tried) == 3
        assert "ok" not in tried
        assert world.said == []


def publishes(world: World, *, failing: set[str]) -> None:
    """Let every publication of these steps fail."""
    backend: Any = world._services["sns"]
    published = backend.publish

    def publish(**given: Any) -> Any:
        current = world.functions.current
        if current is not None and current.step in failing:
            raise_refused()
        return published(**given)

    backend.publish = publish


def raise_refused() -> None:
    from tests.world.outside import refused  # noqa: PLC0415

    raise refused("InternalErrorException", "it is not well", "Publish", 500)
