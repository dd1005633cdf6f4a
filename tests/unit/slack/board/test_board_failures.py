"""Slack fails, functions stop, events come twice, late or never: nothing is lost, and few posts are made twice."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter.adapters.slack.web_api import Unanswered
from lamplighter.application.board import show as board_show
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.slack.kept import Reply
from lamplighter.domain.slack.message import Message
from lamplighter.errors import OutsideFailed, TryLater
from tests.unit.slack.recording import (
    CHANNEL,
    EIGHT,
    MINUTE,
    LabInSlack,
    RecordingSlack,
    evening,
    event,
    lab_in_slack,
    show,
)

ID = "evening-2026-11-20"
LEASE = ("POOL#gpu", f"LEASE#{ID}")


def running(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.OPEN, ordered=EIGHT, ready=EIGHT + 6 * MINUTE))
    lab.at(10)


@pytest.mark.parametrize(
    "failure", [TryLater("429, again in 30 s"), OutsideFailed("500"), OutsideFailed("channel_not_found")]
)
def test_what_slack_does_not_take_is_raised_and_taken_the_next_time(
    lab: LabInSlack, failure: Exception
) -> None:
    running(lab)
    lab.slack.fails = [failure] * 5
    for _ in range(5):
        with pytest.raises(type(failure)):
            lab.tell(LEASE)
    assert not lab.slack.messages
    lab.tell(LEASE)
    assert len(lab.slack.in_channel) == 1


def test_what_cannot_be_said_keeps_nothing_else_from_being_said(lab: LabInSlack) -> None:
    running(lab)
    lab.set_pool(leaked_since=int(EIGHT.timestamp() * 1000), leaked_because="i-0abc")
    commands = [decided(lab, f"c{number}") for number in (1, 2)]
    lab.moved = [key for key in lab.moved if key[1] != "STATE"]
    lab.slack.fails = [OutsideFailed("500")]
    with pytest.raises(OutsideFailed):
        lab.tell()
    assert len(lab.slack.replies) == 1
    assert len(lab.slack.in_channel) == 2
    lab.tell(*commands)
    assert len(lab.slack.replies) == 2


def decided(lab: LabInSlack, command: str) -> tuple[str, str]:
    """A decided command whose asker is owed the answer; where the decision is."""
    reply = Reply(command, "gpu", "U0A", "https://hooks.slack.com/x", CHANNEL, "open", EIGHT + 30 * MINUTE)
    assert lab.conversation.order(reply, f"r-{command}", EIGHT)
    lab.ledger.decide("gpu", Decision(command, "refused", "no", EIGHT))
    return "POOL#gpu", f"COMMAND#{command}"


STATE = ("POOL#gpu", "STATE")


def test_an_answer_whose_run_died_with_it_is_given_with_a_later_sweep(lab: LabInSlack) -> None:
    command = decided(lab, "c1")
    assert lab.conversation.begin_answer("c1", EIGHT)  # and then it dies
    lab.tell(command)
    lab.tell(STATE)
    assert not lab.slack.replies
    lab.at(1)
    lab.tell(STATE)
    lab.tell(STATE)
    assert len(lab.slack.replies) == 1


def test_an_answer_that_slack_refuses_wakes_nobody_and_is_given_when_it_may(lab: LabInSlack) -> None:
    command = decided(lab, "c1")
    lab.slack.fails = [OutsideFailed("500")] * 3
    for _ in range(3):
        with pytest.raises(OutsideFailed):
            lab.tell(command)
    lab.tell(command)
    assert len(lab.slack.replies) == 1


def test_a_class_is_answered_side_by_side_and_each_once(lab: LabInSlack) -> None:
    commands = [decided(lab, f"c{number}") for number in range(30)]
    lab.tell(*commands, STATE)
    assert len(lab.slack.replies) == 30


def test_a_function_that_dies_behind_a_post_repeats_it_once_and_never_again(lab: LabInSlack) -> None:
    running(lab)
    lab.tell(LEASE)
    lab.note("warned", "Pool gpu closes in 15 minutes", 11, ID, notice="warned")
    lab.slack.answers_lost = 9
    for minutes in (11, 13, 15, 17):
        lab.at(minutes)
        try:
            lab.tell(LEASE)
        except KeyboardInterrupt:
            continue
    [said] = lab.slack.in_channel
    assert len(lab.slack.thread_of(said)) == 2


def test_an_answer_that_is_lost_counts_as_a_try_and_holds_nobody_up(lab: LabInSlack) -> None:
    running(lab)
    lab.tell(LEASE)
    lab.note("warned", "Pool gpu closes in 15 minutes", 11, ID, notice="warned")
    lab.slack.answers_lost, lab.slack.lost_with = 1, Unanswered("timed out")
    with pytest.raises(Unanswered):
        lab.tell(LEASE)
    lab.tell(LEASE)
    lab.tell(LEASE)
    [said] = lab.slack.in_channel
    assert len(lab.slack.thread_of(said)) == 2


def test_while_another_run_posts_nobody_posts_the_same(lab: LabInSlack) -> None:
    running(lab)
    lab.slack.answers_lost = 1
    with pytest.raises(KeyboardInterrupt):
        lab.tell(LEASE)
    with pytest.raises(TryLater, match="another run is posting"):
        lab.tell(LEASE)


def test_a_message_that_somebody_deleted_is_posted_anew(lab: LabInSlack) -> None:
    running(lab)
    lab.tell(LEASE)
    lab.slack.messages.clear()
    lab.put(evening(LeaseState.CLOSING, ordered=EIGHT))
    lab.tell(LEASE)
    assert "Closing" in lab.slack.in_channel[0].words


@dataclass
class Meanwhile(RecordingSlack):
    """While this run speaks, something else happens, once."""

    before_update: Callable[[], object] | None = None
    after_reply: Callable[[], object] | None = None

    def update(self, channel: str, ts: str, message: Message) -> None:
        happens, self.before_update = self.before_update, None
        if happens:
            happens()
        super().update(channel, ts, message)

    def post(self, channel: str, message: Message, thread: str | None = None) -> str:
        ts = super().post(channel, message, thread)
        happens = self.after_reply if thread else None
        if happens:
            happens()
        return ts


def meanwhile(
    lab: LabInSlack,
    before_update: Callable[[], object] | None = None,
    after_reply: Callable[[], object] | None = None,
) -> None:
    """The board's next words, while another run shows the lease as the ledger has it then."""
    lab.slack = lab.board.api = Meanwhile(
        lab.slack.messages,
        _numbers=lab.slack._numbers,
        before_update=before_update,
        after_reply=after_reply,
    )


def other_run(lab: LabInSlack) -> None:
    show(event([LEASE]), lab.board)


def closing(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.CLOSING, ordered=EIGHT))


def test_of_two_runs_at_once_the_newer_view_stands(lab: LabInSlack) -> None:
    running(lab)
    lab.tell(LEASE)
    closing(lab)
    meanwhile(lab, before_update=lambda: other_run(lab))
    lab.tell(LEASE)
    [said] = lab.slack.in_channel
    assert "Closing" in said.words
    shown = lab.conversation.shown("gpu", ID)
    assert shown is not None
    assert shown.ts == said.ts


def test_what_arrives_late_is_shown_over_by_whoever_sent_it(lab: LabInSlack) -> None:
    def overtaking() -> None:
        closing(lab)
        other_run(lab)

    running(lab)
    lab.tell(LEASE)
    meanwhile(lab, before_update=overtaking)
    lab.put(evening(LeaseState.OPEN, ordered=EIGHT, closes=EIGHT + 240 * MINUTE))
    lab.tell(LEASE)
    assert "Closing" in lab.slack.in_channel[0].words


def test_a_message_that_is_updated_while_a_post_is_made_costs_no_second_post(lab: LabInSlack) -> None:
    def updated() -> None:
        closing(lab)
        with pytest.raises(TryLater, match="another run is posting"):
            other_run(lab)

    running(lab)
    lab.tell(LEASE)
    meanwhile(lab, after_reply=updated)
    lab.note("warned", "Pool gpu closes in 15 minutes", 11, ID, notice="warned")
    lab.at(11)
    lab.tell(LEASE)
    meanwhile(lab)
    lab.at(15)
    lab.tell(LEASE)
    [said] = lab.slack.in_channel
    assert "Closing" in said.words
    assert len(lab.slack.thread_of(said)) == 1


# --- any order of events --------------------------------------------------------------------------

DAY = (
    ("granted", -1.0), ("armed", 0.0), ("nodes", 2.0), ("open", 6.0), ("finding", 60.0),
    ("warned", 165.0), ("closing", 180.0), ("closed", 185.0),
)  # fmt: skip


def happens(lab: LabInSlack, what: str, minutes: float) -> None:
    now = lab.at(minutes)
    ran = {"ordered": EIGHT, "ready": EIGHT + 6 * MINUTE}
    match what:
        case "granted":
            lab.put(evening(LeaseState.ADMITTED))
        case "armed":
            lab.ledger.note_progress("gpu", ID, Stage.ARMED, 1, 1, now)
        case "nodes":
            lab.put(evening(LeaseState.OPENING, ordered=EIGHT))
            lab.ledger.note_progress("gpu", ID, Stage.NODES, 1, 2, now)
        case "open":
            lab.put(evening(LeaseState.OPEN, **ran))
        case "finding":
            lab.note(
                "finding", "xid", minutes, ID, cause="xid", summary="a GPU fell off", advice="Replace it."
            )
        case "warned":
            lab.note("warned", "Pool gpu closes in 15 minutes", minutes, ID, notice="warned")
        case "closing":
            lab.put(evening(LeaseState.CLOSING, **ran))
        case "closed":
            lab.put(evening(LeaseState.CLOSED, **ran, closed=now))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_becomes_of_events_the_end_is_the_same_and_nothing_is_said_twice(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Events are lost, repeated and late, and Slack fails in between; the last event finds all as it should be."""
    with pytest.MonkeyPatch.context() as patch:
        lab = lab_in_slack(patch, tmp_path_factory.mktemp("lab"))
        late: list[tuple[str, str]] = []
        for what, minutes in DAY:
            happens(lab, what, minutes)
            moved, lab.moved = lab.moved, []
            fate = data.draw(st.sampled_from(["now", "twice", "late", "lost"]))
            late += moved if fate == "late" else []
            for keys in {"now": [moved], "twice": [moved, moved], "late": [], "lost": []}[fate]:
                lab.slack.fails = data.draw(
                    st.lists(st.sampled_from([None, TryLater("429"), OutsideFailed("500")]), max_size=3)
                )
                try:
                    show(event([*keys, *data.draw(st.permutations(late))]), lab.board)
                except (TryLater, OutsideFailed):
                    continue
        lab.slack.fails = []
        lab.at(186)
        show(event([("POOL#gpu", f"RECEIPT#{ID}")]), lab.board)
        show(event([LEASE, LEASE]), lab.board)
    [said] = lab.slack.in_channel
    assert "*Closed*" in said.words
    thread = lab.slack.thread_of(said)
    assert len(thread) == len(set(thread))
    assert all(each.channel == CHANNEL for each in lab.slack.messages)


def test_only_the_records_that_failed_are_named(lab: LabInSlack) -> None:
    running(lab)
    lab.slack.fails = [OutsideFailed("500")] * 5
    told = event([("POOL#gpu", "RECEIPT#x"), ("POOL#other", "STATE"), ("POOL#gpu", "STATE")])
    records = told["Records"]
    assert isinstance(records, list)
    for number, record in enumerate(records):
        record["dynamodb"]["SequenceNumber"] = f"10{number}"

    failed = board_show.show(told, lab.board)

    assert {failure.record for failure in failed} == {"100"}
    assert {type(failure.error) for failure in failed} == {OutsideFailed}
