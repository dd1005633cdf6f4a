"""A full pool in Slack: people wait in a line, which holds nothing, and get free nodes offered in turn.

At the end a class of thirty types at once, in an account of ten functions, while a stranger floods the address.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.values.instant import read as instant
from lamplighter.values.instant import written
from local.cloud import Cloud
from tests.block_kit import faults
from tests.scenarios.lab_day import LabDay
from tests.scenarios.slack.slack_channel import Channel, shown
from tests.scenarios.slack.slack_talk import ALONE, Answer, Talk, button

pytestmark = pytest.mark.long

LAB = Path(__file__).with_name("slack_waiting.yaml")
BEGINS = datetime(2026, 12, 2, 11, 50, tzinfo=UTC)
PERIOD = "2026-12"
INSTRUCTOR, JUN, HANA = "U0INSTRUCT", "U0JUN", "U0HANA"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EVEN = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = [f"U0CLASS{number:02}" for number in range(30)]
WITHIN = timedelta(seconds=5)
FORGED_EACH = 4
#: Longer than a message that failed takes to come again.
AGAIN = timedelta(minutes=3)
#: Longer than a command is good for, and shorter than Slack takes an answer.
LATE = timedelta(minutes=20)
#: An offer expires after ten minutes, the guard sweeps every five minutes, and the notice may be late.
ONE_TURN = 30 * MINUTE


@pytest.fixture(scope="module")
def day() -> Iterator[LabDay]:
    with Cloud(LAB, start=BEGINS, progress=print) as cloud:
        cloud.up()
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def talk(day: LabDay) -> Talk:
    return Talk(day.cloud)


@pytest.fixture(autouse=True)
def _slack_takes_all_of_it(day: LabDay) -> Iterator[None]:
    """Every message and answer is within Block Kit's limits, and none mentions anybody."""
    yield
    told = [each["said"] for each in day.cloud.slack.told if each["call"] != "users.info"]
    assert [found for each in told if (found := faults(each))] == []
    assert [each for each in told if "<@" in each["text"] or "<!" in each["text"]] == []


def test_a_place_goes_down_the_line_until_somebody_takes_it(day: LabDay, talk: Talk) -> None:
    channel = Channel(day)

    # given one node, which somebody has
    talk.types(INSTRUCTOR, "open 1 for 2h")
    lesson = _lease(day, INSTRUCTOR)
    day.until_state(lesson.id, LeaseState.OPEN)
    theirs = channel.until("sora's lease on pool gpu")

    # when two ask for it, each hears from when on there would be room, and may be told
    before = _held(day)
    for who, place in ((JUN, "first in line"), (HANA, "number 2 in line"), (JUN, "first in line")):
        full = talk.types(who, "open 1 for 30m")
        assert f"would be granted at {lesson.closes:%H:%M} (UTC)" in full.text
        for _ in range(2):
            assert place in _presses(talk, who, full.said, "tell-me").text

    # then the line is in the order of asking, each of them once, and holds nothing
    assert _line(day) == [JUN, HANA]
    assert _held(day) == before
    assert not _offers(day, JUN) + _offers(day, HANA)

    # when the node comes free before its time, then who asked first is offered it, and nobody else
    _presses(talk, INSTRUCTOR, theirs, "close")
    to_jun = _offer(day, JUN, 1)
    assert not _offers(day, HANA)
    assert day.now < lesson.closes

    # when he lets it lapse, then it is her turn, and his button does nothing any more
    to_hana = _offer(day, HANA, 1)
    assert _good_until(to_hana) - _good_until(to_jun) >= 10 * MINUTE
    openings = _openings(day)
    assert "This offer has expired, and nothing was opened" in _presses(talk, JUN, to_jun, "take").text
    assert _openings(day) == openings

    # when she takes it, however often she presses, then she has one lease, and its receipt names her
    for _ in range(2):
        _presses(talk, HANA, to_hana, "take")
    hers = _lease(day, HANA)
    assert (hers.owner, hers.by) == (f"hana ({HANA})", f"hana ({HANA})")
    assert hers.closes - hers.opens == 30 * MINUTE
    granted = f"Granted: 1 node on gpu until {hers.closes:%H:%M}"
    day.until(
        "she hears of it",
        lambda _: any(granted in said["text"] for said in day.cloud.slack.replies()),
        ONE_TURN,
    )
    day.until_state(hers.id, LeaseState.OPEN)
    assert len(_openings(day) - openings) == 1

    # when he stands in line again, then its planned end is room as well
    full = talk.types(JUN, "open")
    assert f"would be granted at {hers.closes:%H:%M} (UTC)" in full.text
    assert "first in line" in _presses(talk, JUN, full.said, "tell-me").text
    _offer(day, JUN, 2, within=HOUR)
    assert day.now >= hers.closes
    day.until_quiet()
    assert day.receipt(hers.id)["owner"] == f"hana ({HANA})"
    assert [lease.owner for lease in day.ledger.leases("gpu")] == [lesson.owner, hers.owner]
    assert len(_offers(day, HANA)) == 1


def test_who_has_waited_for_a_day_waits_no_more(day: LabDay, talk: Talk) -> None:
    day.until("nobody stands in line", lambda _: not _line(day), ONE_TURN)
    offers = {who: len(_offers(day, who)) for who in (JUN, HANA)}

    # given a lab in which nothing opens for two days and nobody sweeps, and two who would be told
    sweep = f"{day.lab.name}-sweep"
    day.api("events").disable_rule(Name=sweep)
    talk.types(INSTRUCTOR, "pause for 48h")
    day.until("the lab is paused", lambda _: bool(day.ledger.pauses()), ONE_TURN)
    begun = day.now
    for who, after in ((JUN, 0), (HANA, 1)):
        day.pass_until(begun + after * HOUR)
        paused = talk.types(who, "open 1 for 30m")
        assert "t would be granted at" in paused.text
        _presses(talk, who, paused.said, "tell-me")
    assert _line(day) == [JUN, HANA]

    # when there is room after a day, then it is offered to whoever has not waited for so long
    day.pass_until(begun + 24 * HOUR + 10 * MINUTE)
    assert _line(day) == [HANA]
    day.api("events").enable_rule(Name=sweep)
    talk.types(INSTRUCTOR, "resume")
    _offer(day, HANA, offers[HANA] + 1)
    assert len(_offers(day, JUN)) == offers[JUN]


def test_a_command_that_nobody_took_in_time_is_refused_in_words(day: LabDay, talk: Talk) -> None:
    day.until_quiet()
    functions, before = day.api("lambda"), day.ledger.leases("gpu")
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
    assert day.ledger.leases("gpu") == before


def test_each_of_thirty_gets_one_answer_and_one_of_them_the_node(day: LabDay, talk: Talk) -> None:
    asked: dict[str, str] = {}
    before = len(day.ledger.leases("gpu"))

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
    assert len(day.ledger.leases("gpu")) == before + 1


def test_a_refused_open_offers_free_times_that_a_button_books_once(day: LabDay, talk: Talk) -> None:
    # given a full pool
    day.until("the pool is closed", lambda look: not look.instances, 2 * HOUR)
    talk.types(INSTRUCTOR, "open 1 for 2h")
    day.until("sora has a lease", lambda _: any(each.in_force(day.now) for each in _leases(day)), 5 * MINUTE)
    [lesson] = [each for each in _leases(day) if each.in_force(day.now)]

    # when a person and a command line are refused, then both are offered the same times
    full = talk.types(JUN, "open 1 for 30m")
    said = day.command("open", "gpu", "1", "for", "30m", "--add", "--json")
    [free] = said.document["free"]
    assert said.code == 1, said
    assert free["from"] == written(lesson.closes + (EVEN - lesson.closes) % MINUTE)
    book = button(full.said, "book")
    assert book["text"]["text"].startswith(f"Book {instant(free['from']):%H:%M}-")

    # when he books one, twice, then he has one lease, which holds its money and opens when the button said
    assert _presses(talk, JUN, full.said, "book").text.startswith("Granted")
    assert "booked this already" in _presses(talk, JUN, full.said, "book").text
    [his] = [each for each in _leases(day) if JUN in each.owner and each.granted]
    assert (written(his.opens), written(his.closes)) == (free["from"], free["until"])

    # and who comes later is offered what is left
    assert f"{his.closes:%H:%M}" in button(talk.types(HANA, "open 1 for 30m").said, "book")["text"]["text"]


def _leases(day: LabDay) -> list[Lease]:
    return day.ledger.leases("gpu")


def _presses(talk: Talk, who: str, said: Mapping[str, Any], action: str) -> Answer:
    """Somebody presses a button of a message, or of an answer that only they see."""
    alone = {"channel": ALONE} if said.get("channel") == who else {}
    ephemeral, ts = "ts" not in said, str(said.get("ts", "1.1"))
    return talk.presses(who, button(said, action), ts, ephemeral=ephemeral, **alone)


def _held(day: LabDay) -> Mapping[str, object]:
    """Everything that a place in the line could hold: money, a lease, a node."""
    look = day.look()
    return {
        "money": day.ledger.budget(PERIOD, "USD").held,
        "leases": [(lease.id, lease.nodes, lease.closes, lease.hold) for lease in day.ledger.leases("gpu")],
        "nodes": (look.desired, look.instances, look.kubernetes_nodes),
    }


def _line(day: LabDay) -> list[str]:
    return [wish.user for wish in day.ledger.wishes("gpu", day.now)]


def _offers(day: LabDay, who: str) -> list[Mapping[str, Any]]:
    """What the lab wrote to one person alone."""
    return [*day.cloud.slack.messages(who)]


def _offer(day: LabDay, who: str, number: int, within: timedelta = ONE_TURN) -> Mapping[str, Any]:
    """A person's offer with this number, once it is made.

    It waits slowly, because the person has ten minutes from then on.
    """
    day.until(
        f"offer {number} to {who}",
        lambda _: len(_offers(day, who)) >= number,
        within,
    )
    offer = _offers(day, who)[number - 1]
    assert "Pool gpu has room for your request" in shown(offer)
    return offer


def _good_until(offer: Mapping[str, Any]) -> datetime:
    """The time until which an offer is valid, by its text."""
    said = re.search(r"Open now by (\d\d):(\d\d)", offer["text"])
    assert said is not None, offer
    return BEGINS.replace(hour=int(said[1]), minute=int(said[2]))


def _lease(day: LabDay, who: str) -> Lease:
    """The one lease of somebody, once it is granted."""

    def theirs() -> list[Lease]:
        return [lease for lease in day.ledger.leases("gpu") if who in lease.owner]

    day.until(f"{who} has a lease", lambda _: bool(theirs()), 5 * MINUTE, timedelta(seconds=5))
    [found] = theirs()
    return found


def _openings(day: LabDay) -> set[str]:
    """Every run of the workflow that opens."""
    stepfunctions = day.api("stepfunctions")
    machines = stepfunctions.list_state_machines()["stateMachines"]
    [opens] = [each["stateMachineArn"] for each in machines if each["name"].endswith("-open")]
    runs = stepfunctions.list_executions(stateMachineArn=opens)["executions"]
    return {str(run["name"]) for run in runs}
