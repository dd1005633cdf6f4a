"""Requests as Slack sends and signs them, in the messages of the queue, with a lab behind it that decides.

The ledger is DynamoDB in memory; a workflow that is started decides at once, later, or never.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from lamplighter import clock
from lamplighter.adapters.slack.secret import Secrets
from lamplighter.application.board import answers as board_answers
from lamplighter.application.slack.answering import respond
from lamplighter.application.slack.context import SlackServices
from lamplighter.application.slack.receiving import SIGNATURE, STAMP, Outcome, RequestHandler
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.people.person import Person
from lamplighter.domain.schedules.schedule import Start
from lamplighter.domain.slack.asked import signature
from lamplighter.domain.slack.asked.understood import ends
from lamplighter.values.instant import clock_time
from tests.builders.leases import persons, usd
from tests.unit.slack.recording import CHANNEL, LabInSlack, lab_in_slack

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM = "T0123456789"
HOOK = "https://hooks.slack.com/commands/T0123456789/1/x"
ARNS = {name: f"arn:{name}" for name in ("OpenLab", "CloseLab", "ExtendLease", "ChangeLab")}


@dataclass
class Keys:
    """The secret as Secrets Manager has it, and how often it was asked for."""

    secret: str = SECRET
    renewed_to: str | None = None
    fails: Exception | None = None
    asked: int = 0

    def get(self) -> Secrets:
        self.asked += 1
        if self.fails is not None:
            raise self.fails
        return Secrets(self.secret)

    def renewed(self) -> Secrets | None:
        if self.renewed_to is None:
            return None
        self.secret = self.renewed_to
        return self.get()


@dataclass
class SlackKnows:
    """Who people are, as Slack would say it."""

    people: dict[str, Person] = field(default_factory=dict)
    asked_about: frozenset[str] = frozenset()
    """The groups of the last question."""

    def person(self, user: str, name: str, groups: Collection[str], patience_seconds: float) -> Person:
        assert patience_seconds <= 2
        self.asked_about = frozenset(groups)
        return self.people.get(user, Person(user, name, known=False))


@dataclass
class Deciding:
    """The workflows: each name starts once; the decision is in the ledger as soon as `decide` has it."""

    lab: LabInSlack
    decide: Callable[["Deciding", Command], None]
    starts: list[Start] = field(default_factory=list)
    fails: Exception | None = None

    def start(self, start: Start) -> bool:
        if self.fails is not None:
            raise self.fails
        if any(start.name == before.name for before in self.starts):
            return False
        self.starts.append(start)
        self.decide(self, start.command)
        return True

    @property
    def commands(self) -> list[Command]:
        return [start.command for start in self.starts]

    def says(self, command: Command, outcome: str, reason: str, **more: Any) -> None:
        """The lab's decision on a command."""
        decision = Decision(command.id, outcome, reason, clock.now(), **more)
        self.lab.ledger.decide(command.pool, decision)


def agreeing(workflows: Deciding, command: Command) -> None:
    """Whatever is asked for is granted."""
    if command.verb is Verb.OPEN:
        until = ends(command)
        lease = replace(
            persons(command.lease_id, source="slack", state=LeaseState.ADMITTED),
            nodes=command.nodes or 1,
            owner=command.owner,
            opens=command.opens or clock.now(),
            closes=until,
            by=command.by,
            because=command.because,
        )
        workflows.lab.put(lease)
        workflows.says(command, "granted", f"until {clock_time(until)}", lease=lease.id)
        return
    outcome = {Verb.EXTEND: "extended", Verb.CLOSE: "closing", Verb.KEEP: "kept"}.get(
        command.verb, "unchanged"
    )
    workflows.says(command, outcome, f"{command.by} asked for it", lease=command.lease)


def full(workflows: Deciding, command: Command) -> None:
    """The pool has no room before 23:00 in Seoul."""
    earliest = clock.now().replace(hour=14, minute=0)
    workflows.says(command, "refused", "pool gpu is full", earliest=earliest)


def silent(_workflows: Deciding, _command: Command) -> None:
    """No decision comes."""


@dataclass
class Knocks:
    """The queue's function, whoever posts, and everything that came of it."""

    lab: LabInSlack
    workflows: Deciding
    door: RequestHandler
    keys: Keys
    slack: SlackKnows
    count: int = 0

    def type(self, text: str, user: str = "U0INSTRUCT", **more: str) -> dict[str, Any]:
        """What somebody who types is answered."""
        return self.told(signed(typed(text, user, self._trigger(), **more)))

    def press(self, button: Mapping[str, Any], user: str = "U0INSTRUCT", **more: str) -> dict[str, Any]:
        """What somebody who presses is answered; a choice is made of its first option."""
        return self.told(signed(pressed(button, user, self._trigger(), **more)))

    def told(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The one answer to a message, from the function or from the board."""
        answers = self.answers(message)
        assert len(answers) == 1, answers
        return answers[0]

    def answers(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The answers to a message, once the board has seen what the lab decided."""
        sent, started = len(self.sent), len(self.workflows.starts)
        assert self.take(message) == Outcome(0, ())
        for start in self.workflows.starts[started:]:
            board_answers.answer(start.command.id, self.lab.board)
        said = [dict(answer) for url, answer in self.sent[sent:] if url == HOOK]
        for each in said:
            assert each["response_type"] == "ephemeral"
            assert isinstance(each["text"], str)
        return said

    def take(self, *messages: Mapping[str, Any]) -> Outcome:
        """A batch of the queue."""
        return self.door.take(messages)

    @property
    def sent(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Every answer at a response_url, as Slack took it."""
        return self.lab.slack.replies

    def _trigger(self) -> str:
        self.count += 1
        return f"{self.count}.trigger"


def knocks(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    decide: Callable[[Deciding, Command], None] = agreeing,
    **more: object,
) -> Knocks:
    """The lab at eight in the evening in Seoul, and the function behind its queue."""
    lab = lab_in_slack(monkeypatch, folder, **more)
    workflows, keys, slack = Deciding(lab, decide), Keys(), SlackKnows()
    for user, name in (("U0INSTRUCT", "jin"), ("U0STUDENT", "minji")):
        slack.people[user] = Person(user, name, zone="Asia/Seoul")
    office = SlackServices(lab.lab, lab.ledger, workflows, slack, ARNS, reply=lab.slack.reply)
    return Knocks(lab, workflows, RequestHandler(keys, lambda letter: respond(letter, office)), keys, slack)


def buttons(said: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What may be pressed under an answer, by its action."""
    rows = [block["elements"] for block in said.get("blocks", []) if block["type"] == "actions"]
    return {element["action_id"]: element for row in rows for element in row}


def typed(text: str, user: str, trigger: str = "1.trigger", **more: str) -> bytes:
    """A slash command's body, as Slack sends it."""
    form = {
        "token": "gIkuvaNzQIHg97ATvDxqgjtO", "team_id": TEAM, "team_domain": "example",
        "channel_id": CHANNEL, "channel_name": "gpu", "user_id": user, "user_name": "somebody",
        "command": "/gpu", "text": text, "api_app_id": "A123456", "is_enterprise_install": "false",
        "response_url": HOOK, "trigger_id": trigger, **more,
    }  # fmt: skip
    return urlencode(form).encode()


def pressed(button: Mapping[str, Any], user: str, trigger: str = "1.trigger", **more: str) -> bytes:
    """A pressed button's body, as Slack sends it."""
    action: dict[str, Any] = {"action_id": button["action_id"], "block_id": "x", "type": button["type"]}
    if "options" in button:
        action["selected_option"] = button["options"][0]
    else:
        action["value"] = button["value"]
    payload = {
        "type": "block_actions",
        "user": {"id": user, "username": "somebody", "team_id": TEAM},
        "team": {"id": TEAM, "domain": "example"},
        "container": {"type": "message", "message_ts": "1795000000.000001", "channel_id": CHANNEL},
        "channel": {"id": CHANNEL, "name": "gpu"},
        "trigger_id": trigger,
        "response_url": HOOK,
        "actions": [action],
        **more,
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


def signed(body: bytes, at: datetime | None = None, secret: str = SECRET) -> dict[str, Any]:
    """The message of a request that Slack signed just now."""
    stamp = str(int((at or clock.now()).timestamp()))
    return message(body, {STAMP: stamp, SIGNATURE: signature.signed(secret, stamp, body)})


def message(body: bytes, attributes: Mapping[str, str]) -> dict[str, Any]:
    """A request as Lambda hands it over, which came just now. API Gateway reads a body as UTF-8.

    https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    digest = hashlib.sha256(body + repr(sorted(attributes.items())).encode()).hexdigest()
    return {
        "messageId": digest,
        "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
        "body": body.decode("utf-8", "replace"),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(int(clock.now().timestamp() * 1000)),
        },
        "messageAttributes": {
            name: {"stringValue": value, "dataType": "String"} for name, value in attributes.items()
        },
        "eventSource": "aws:sqs",
    }


def running(owner: str, closes: datetime, **more: Any) -> Lease:
    """A lease on the pool that runs, of somebody."""
    begun = clock.now() - timedelta(minutes=10)
    given = {"owner": owner, "nodes": 1, "hold": usd("1.24"), "closes": closes, **more}
    return replace(persons("slack-1a2b3c4d"), **{"opens": begun, "source": "slack", **given})
