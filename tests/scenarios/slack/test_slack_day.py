"""A whole evening in Slack: people ask, press and read; the lab opens, extends, closes; Slack accepts every message."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from local.aws.cloudformation.stack import Stack
from local.cloud import Cloud
from tests.block_kit import faults
from tests.scenarios.events.bus import Listener
from tests.scenarios.lab_day import LabDay
from tests.scenarios.slack.slack_channel import Channel, shown
from tests.scenarios.slack.slack_talk import CHANNEL, Talk, button

LAB = Path(__file__).with_name("slack.yaml")
BEGINS = datetime(2026, 12, 2, 11, 50, tzinfo=UTC)
EVENING = "evening-2026-12-02"
INSTRUCTOR, STUDENT = "U0INSTRUCT", "U0STUDENT"
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def day() -> Iterator[LabDay]:
    with Cloud(LAB, start=BEGINS, progress=print) as cloud:
        cloud.up()
        yield LabDay(cloud)


def test_an_evening_from_the_first_question_to_the_receipts(day: LabDay) -> None:
    play_evening(day)


def play_evening(day: LabDay) -> None:
    """From the first question in Slack to the receipts, whatever kind of capacity the pool has."""
    talk, channel = Talk(day.cloud), Channel(day)

    # before the window: who looks around sees, who mistypes is helped, who is nobody changes nothing
    assert "/gpu open" in talk.types(STUDENT, "help").text
    assert "evening" in talk.types(STUDENT, "status").text
    assert STUDENT in talk.types(STUDENT, "help").text
    assert "extend" in talk.types(STUDENT, "extnd 1h").text
    assert "evening" in talk.types(STUDENT, "windows").text
    assert talk.forged("open") == 200
    assert not channel.messages

    # the window opens: one message, stage by stage, until its GPUs are proven
    day.until_state(EVENING, LeaseState.OPEN)
    evening = channel.until("*Open until 13:00 (UTC)*")
    ts = str(evening["ts"])
    for words in ("✓ armed", "✓ GPUs", "✓ checks", "bastion.example.com", "nvidia.com/gpu", "USD so far"):
        assert words in shown(evening)

    # a student asks for a node of their own; an instructor lets them
    just_use_it = talk.types(STUDENT, "open 1 for 30m because the lecture is long")
    assert "13:00" in just_use_it.text
    talk.presses(STUDENT, button(just_use_it.said, "ask"), "1.2", ephemeral=True)
    ask = channel.until("minji asks", thread=ts)
    talk.presses(INSTRUCTOR, button(ask, "approve"), str(ask["ts"]))
    channel.until("Approved by sora", thread=ts)
    theirs = _lease_of(day, STUDENT)
    assert (theirs.owner, theirs.by) == (f"minji ({STUDENT})", f"sora ({INSTRUCTOR})")

    # Slack delivers the approval once more: it is the same approval
    assert talk.again() == 200
    assert _lease_of(day, STUDENT) == day.lease(theirs.id)
    day.until_state(theirs.id, LeaseState.OPEN)
    own = channel.until("minji's lease on pool gpu")

    # the instructor extends the evening with the button of its message
    talk.presses(INSTRUCTOR, button(evening, "extend"), ts)
    channel.until("*Open until 14:00 (UTC)*")
    assert day.lease(EVENING).closes == datetime(2026, 12, 2, 14, 0, tzinfo=UTC)
    assert "USD" in talk.types(STUDENT, "cost").text
    assert "evening" in talk.types(STUDENT, "why").text

    # both are closed before their time, and both messages end with what it came to
    for lease, message in ((theirs.id, own), (EVENING, evening)):
        talk.presses(INSTRUCTOR, button(message, "close"), str(message["ts"]))
        day.until_state(lease, LeaseState.CLOSED)
        channel.until("Receipt", thread=str(message["ts"]))
    day.until_quiet()
    done = next(each for each in channel.messages if each["ts"] == ts)
    for words in ("*Closed*", "Zero was proven", "X-Amz-Signature"):
        assert words in shown(done)

    # nobody was pinged: nothing was refused, late, in use at its end or leaked; and Slack takes all of it
    told = [each["said"] for each in day.cloud.slack.told if each["call"] != "users.info"]
    assert [each for each in told if "<@" in each["text"] or "<!" in each["text"]] == []
    assert [found for each in told if (found := faults(each))] == []
    assert {each["channel"] for each in day.cloud.slack.messages()} == {CHANNEL}
    assert [each["ts"] for each in channel.messages if "thread_ts" not in each] == [ts, own["ts"]]


@pytest.mark.long
def test_a_slack_that_is_down_holds_up_nothing_and_hears_of_it_afterwards(day: LabDay) -> None:
    # given a Slack that answers nothing right
    channel, before = Channel(day), day.cloud.slack.messages()
    day.cloud.slack.fail("*", "failed")

    # when a lease opens, then it opens as ever, and what could not be said is left for an alarm to see
    lease = day.open(1, "30m")
    day.until_state(lease.id, LeaseState.OPEN)
    assert day.cloud.slack.messages() == before
    day.until("what could not be said is a dead letter", lambda _: _dead_letters(day) > 0, 15 * MINUTE)

    # and once Slack is well, the next sweep shows the lease as it is by then, once
    day.cloud.slack.heal()
    shown_late = channel.until("*Open until", 15 * MINUTE)
    assert shown_late["updates"] <= 2
    new = day.cloud.slack.messages()[len(before) :]
    assert len([each for each in new if "thread_ts" not in each]) == 1


@pytest.mark.long
def test_a_lease_that_ends_without_its_nodes_leaves_one_letter_with_the_next_free_times(day: LabDay) -> None:
    # given EC2 without capacity, and a node asked for
    day.until_quiet(timedelta(hours=2))
    channel, talk = Channel(day), Talk(day.cloud, _numbers=itertools.count(1000))
    faults_of_ec2 = day.cloud.aws.moto_additions.faults
    faults_of_ec2.no_capacity("g5.xlarge")
    talk.types(INSTRUCTOR, "open 1 for 30m")
    lease = _lease_of(day, INSTRUCTOR)

    # when the lease ends, then its owner and the channel are told once what was tried, AWS's words and the cost
    letter = channel.until("closes with 0 of 1 nodes", timedelta(hours=1))
    for words in (
        f"<@{INSTRUCTOR}>",
        "no g5.xlarge capacity left",
        "InsufficientInstanceCapacity",
        "0.00 USD",
    ):
        assert words in shown(letter)
    faults_of_ec2.clear("g5.xlarge")
    day.until_state(lease.id, LeaseState.CLOSED)
    said = [entry for entry in day.entries(lease.opens, "announced") if entry.lease == lease.id]
    kinds = [entry.details["notice"] for entry in said]
    assert [kind for kind in kinds if kind in {"closing", "unfilled"}] == ["unfilled"]

    # when they press a free time, twice, then they have that time, once
    free = button(letter, "book")
    assert "Granted" in talk.presses(INSTRUCTOR, free, str(letter["ts"])).text
    assert "booked this already" in talk.presses(INSTRUCTOR, free, str(letter["ts"])).text
    [booked] = [
        each for each in day.ledger.leases("gpu") if INSTRUCTOR in each.owner and each.opens > day.now
    ]
    assert f"Book {booked.opens:%H:%M}-{booked.closes:%H:%M}" == free["text"]["text"]
    assert (booked.nodes, booked.closes - booked.opens) == (1, 30 * MINUTE)
    talk.types(INSTRUCTOR, f"close {booked.id} yes")


@pytest.mark.long
def test_a_destroy_is_told_until_zero_is_proven(day: LabDay) -> None:
    # given an open lease, its message in the channel, and somebody who hears the bus
    day.until_quiet(timedelta(hours=2))
    channel, listener = Channel(day), Listener(day)
    lease = day.open(1, "2h")
    day.until_state(lease.id, LeaseState.OPEN)
    ts = str(channel.until("*Open until")["ts"])

    # when the controller is destroyed
    ended = _destroyed(day)

    # then message and bus say that the pool closes, and that it is at zero
    [message] = [each for each in day.cloud.slack.messages() if each["ts"] == ts]
    for words in ("*Closed*", "Zero was proven"):
        assert words in shown(message)
    for kind in ("pool-closing", "pool-closed", "receipt"):
        assert listener.told(kind, lease=lease.id), kind

    # and only the bus is left, until somebody deletes their rule on it
    assert ended.status == "DELETE_FAILED"
    assert "EventBus can't be deleted since it has rules" in ended.failure()
    listener.leave()
    ended = _destroyed(day)
    assert ended.status == "DELETE_COMPLETE", ended.failure()


def _destroyed(day: LabDay) -> Stack:
    going = day.beside(lambda: day.cloud.destroy(f"{day.lab.name}-controller"))
    day.until("the destroy has ended", lambda _: going.ended, timedelta(hours=2), MINUTE)
    return going.result()


def _dead_letters(day: LabDay) -> int:
    sqs = day.api("sqs")
    url = sqs.get_queue_url(QueueName=f"{day.lab.name}-dead-letters")["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(found["Attributes"]["ApproximateNumberOfMessages"])


def _lease_of(day: LabDay, user: str) -> Lease:
    """The one lease of somebody."""

    def theirs() -> list[Lease]:
        return [lease for lease in day.ledger.leases("gpu") if user in lease.owner]

    day.until(f"{user} has a lease", lambda _: bool(theirs()), 2 * MINUTE, timedelta(seconds=5))
    [found] = theirs()
    return found
