"""Late answers reach the asker, once; a request can be approved, and its message shows who approved it."""

from datetime import timedelta

import pytest

from lamplighter.adapters.slack.reply import NoLonger
from lamplighter.adapters.slack.web_api import Declined
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.slack.kept import ApprovalRequest, Reply
from lamplighter.errors import OutsideFailed
from tests.unit.slack.recording import CHANNEL, EIGHT, MINUTE, STUDENT, LabInSlack, evening

URL = "https://hooks.slack.com/commands/T0/1/abc"
COMMAND = ("POOL#gpu", "COMMAND#slack-open-1")


def owe(lab: LabInSlack, url: str | None = URL) -> None:
    owed = Reply(
        command="slack-open-1", pool="gpu", user=STUDENT, url=url, channel=CHANNEL,
        understood="open 2 nodes on pool gpu", until=EIGHT + 30 * MINUTE,
    )  # fmt: skip
    assert lab.conversation.order(owed, "r-1", EIGHT)


def decide(lab: LabInSlack) -> None:
    reason = "pool gpu is full until 23:00 UTC on 2026-11-20"
    decision = Decision("slack-open-1", "refused", reason, EIGHT)
    lab.ledger.decide("gpu", decision)


def test_a_decision_is_told_where_it_was_asked_once(lab: LabInSlack) -> None:
    owe(lab)
    decide(lab)
    lab.tell()
    lab.tell(COMMAND)
    [(url, said)] = lab.slack.replies
    assert url == URL
    assert "pool gpu is full until" in said["text"]
    assert "open 2 nodes on pool gpu" in said["text"]


def test_it_does_not_matter_whether_the_decision_or_the_debt_comes_first(lab: LabInSlack) -> None:
    decide(lab)
    lab.tell()
    owe(lab)
    lab.tell()
    assert len(lab.slack.replies) == 1


def test_an_answer_that_slack_does_not_take_stays_owed(lab: LabInSlack) -> None:
    owe(lab)
    decide(lab)
    lab.slack.fails = [OutsideFailed("500"), OutsideFailed("500")]
    for _ in range(2):
        with pytest.raises(OutsideFailed):
            lab.tell(COMMAND)
    lab.tell(COMMAND)
    assert len(lab.slack.replies) == 1


def test_where_the_address_is_used_up_its_asker_alone_hears_it_in_the_channel(lab: LabInSlack) -> None:
    owe(lab)
    decide(lab)
    lab.slack.fails = [NoLonger("used_url")]
    lab.tell()
    [(channel, user, said)] = lab.slack.whispers
    assert (channel, user) == (CHANNEL, STUDENT)
    assert "pool gpu is full until" in said["text"]


def test_where_the_app_may_not_speak_in_the_channel_its_asker_gets_a_direct_message(lab: LabInSlack) -> None:
    owe(lab)
    decide(lab)
    lab.slack.fails = [NoLonger("used_url"), Declined("restricted_action")]
    lab.tell()
    lab.tell()
    [said] = lab.slack.messages
    assert (said.channel, lab.slack.whispers) == (STUDENT, [])
    assert "pool gpu is full until" in said.words


def test_an_answer_that_slack_takes_nowhere_is_logged_and_counted_as_lost(
    lab: LabInSlack, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    owe(lab)
    decide(lab)
    lab.slack.fails = [NoLonger("used_url"), Declined("restricted_action"), Declined("messages_tab_disabled")]
    lab.tell()
    lab.tell()
    assert not lab.slack.messages
    [lost] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert lost.getMessage() == "an answer is lost: messages_tab_disabled"
    assert '"SlackAnswerLost":[1.0]' in capsys.readouterr().out


def test_half_an_hour_later_nobody_is_told(lab: LabInSlack, capsys: pytest.CaptureFixture[str]) -> None:
    owe(lab)
    decide(lab)
    lab.at(31)
    lab.tell()
    assert not lab.slack.replies
    assert '"SlackAnswerLost":[1.0]' in capsys.readouterr().out


def ask(**more: object) -> ApprovalRequest:
    values: dict[str, object] = {
        "id": "ask-1",
        "pool": "gpu",
        "user": STUDENT,
        "owner": f"jun ({STUDENT})",
        "channel": CHANNEL,
        "understood": "open 1 node on pool gpu for 1h because <!channel> & more",
        "command": {},
        "at": EIGHT,
        "until": EIGHT + timedelta(hours=12),
        "zone": "Asia/Seoul",
        "url": URL,
    }
    return ApprovalRequest(**{**values, **more})  # type: ignore[arg-type]


def test_an_ask_is_posted_once_with_approve_and_decline_and_pings_nobody(lab: LabInSlack) -> None:
    lab.conversation.file_ask(ask())
    lab.tell()
    lab.tell(("SLACK", "ASK#ask-1"))
    [said] = lab.slack.in_channel
    assert "jun asks: open 1 node" in said.words
    assert said.buttons == ["approve", "decline"]
    assert not lab.slack.pings
    assert "<!channel>" not in said.words
    kept = lab.conversation.ask("ask-1")
    assert kept is not None
    assert kept.channel_ts == said.ts


def test_while_the_pool_is_open_it_is_asked_in_its_thread(lab: LabInSlack) -> None:
    lab.put(evening(ordered=EIGHT))
    lab.tell()
    [said] = lab.slack.in_channel
    lab.conversation.file_ask(ask())
    lab.tell()
    lab.conversation.settle_ask(ask(), "approved", "sora (U0SORA)", "request-1")
    lab.tell()
    [asked] = lab.slack.thread_of(said)
    assert "Approved by sora" in asked
    assert lab.slack.in_channel == [said]


@pytest.mark.parametrize(
    ("state", "shown"), [("approved", "Approved by sora"), ("declined", "Declined by sora")]
)
def test_what_became_of_it_stands_in_its_place_and_the_asker_hears_it_once(
    lab: LabInSlack, state: str, shown: str
) -> None:
    lab.conversation.file_ask(ask())
    lab.tell()
    lab.conversation.settle_ask(ask(), state, "sora (U0SORA)", "request-1")
    lab.tell()
    lab.tell(("SLACK", "ASK#ask-1"))
    [said] = lab.slack.in_channel
    assert shown in said.words
    assert not said.buttons
    [(_, told)] = lab.slack.replies
    assert shown in told["text"]
