"""A class of thirty that types at once, in an account of ten functions, while a stranger floods the address."""

import itertools
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.lab_day import LabDay
from tests.scenarios.slack.slack_talk import Talk

pytestmark = pytest.mark.long

PEOPLE = [f"U0CLASS{number:02}" for number in range(30)]
WITHIN = timedelta(seconds=5)
FORGED_EACH = 4
#: Longer than a message that failed takes to come again.
AGAIN = timedelta(minutes=3)
#: Longer than a command is good for, and shorter than Slack takes an answer.
LATE = timedelta(minutes=20)
LAB = f"""
name: slack-class
time_zone: UTC
owner: platform-team
pools:
  gpu: {{instance_type: g5.xlarge, max_nodes: 1, price_per_hour: "1.237"}}
guard:
  budget: {{amount: "500", currency: USD, period: month}}
slack:
  channel: C0123456789
  roles:
    class: {{members: [{", ".join(PEOPLE)}], may: [open, extend, close], longest: 2h}}
"""


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def talk(day: LabDay) -> Talk:
    return Talk(day.cloud)


def test_a_command_that_nobody_took_in_time_is_refused_in_words(day: LabDay, talk: Talk) -> None:
    functions = day.api("lambda")
    mapped = functions.list_event_source_mappings(FunctionName=f"{day.lab.name}-slack")
    [mapping] = mapped["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    address = talk.sends(PEOPLE[0], "open 1 for 1h")
    day.clock.sleep(LATE.total_seconds())

    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    assert talk.types(PEOPLE[1], "status").text
    day.until("there is an answer", lambda _: bool(day.cloud.slack.replies(address)), AGAIN)
    [said] = day.cloud.slack.replies(address)
    assert "was good until" in str(said["text"])
    assert not day.ledger.leases("gpu")


def test_each_of_thirty_gets_one_answer_and_one_of_them_the_node(day: LabDay, talk: Talk) -> None:
    asked: dict[str, str] = {}

    # when thirty people type within five seconds, and a stranger posts beside them
    for who in PEOPLE:
        asked[who] = talk.sends(who, "open 1 for 1h")
        for _ in range(FORGED_EACH):
            assert talk.forged("close") == 200
        day.clock.sleep(WITHIN.total_seconds() / len(PEOPLE))

    # and Slack delivers all of it once more
    assert {talk.again(number) for number in range(-len(PEOPLE), 0)} == {200}

    # then each has an answer, nobody has two, and one of them has the node
    replies = day.cloud.slack.replies
    day.until("everybody has an answer", lambda _: all(map(replies, asked.values())), AGAIN)
    day.clock.sleep(AGAIN.total_seconds())
    said = [replies(address) for address in asked.values()]
    assert [len(each) for each in said] == [1] * len(PEOPLE)
    texts = [str(answer["text"]) for answer in itertools.chain(*said)]
    assert len([text for text in texts if text.startswith("Granted")]) == 1
    assert len(day.ledger.leases("gpu")) == 1
