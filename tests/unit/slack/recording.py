"""A Slack in memory that keeps every message and judges it by Slack's own limits; and a lab beside it.

The lab's ledger is DynamoDB in memory; whatever moves in it becomes an event of its stream, which a test
delivers once, twice, late, or never.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.ledger.slack.slack import LedgerSlack
from lamplighter.adapters.slack.web_api import MessageGone
from lamplighter.application.board import show as board_show
from lamplighter.application.board.services import Board
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.slack.message import Message
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.block_kit import faults
from tests.builders.leases import lease
from tests.stopped_clock import stop_at
from tests.world.aws.dynamodb import DynamoDB

EIGHT = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)  # 20:00 in Seoul
MINUTE = timedelta(minutes=1)
CHANNEL = "C0123456789"
INSTRUCTOR, STUDENT = "U0INSTRUCT", "U0STUDENT"


@dataclass
class Said:
    """One message as it is in Slack now."""

    channel: str
    ts: str
    body: Mapping[str, Any]
    thread: str | None = None
    updates: int = 0

    @property
    def words(self) -> str:
        """Everything a reader sees of it."""
        return " ".join([str(self.body["text"]), *_texts(self.body.get("blocks", []))])

    @property
    def buttons(self) -> list[str]:
        rows = [block["elements"] for block in self.body.get("blocks", []) if block["type"] == "actions"]
        return [button["action_id"] for row in rows for button in row]


@dataclass
class RecordingSlack:
    """Slack as the board speaks to it."""

    messages: list[Said] = field(default_factory=list)
    whispers: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    replies: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    fails: list[Exception | None] = field(default_factory=list)
    """What the next calls fail with, before anything happens; None lets one through."""
    answers_lost: int = 0
    """So many of the next posts happen, and nobody hears of it."""
    lost_with: BaseException = field(default_factory=KeyboardInterrupt)
    _numbers: Any = field(default_factory=itertools.count)

    def post(self, channel: str, message: Message, thread: str | None = None) -> str:
        self._called()
        ts = f"1795000000.{next(self._numbers):06}"
        self.messages.append(Said(channel, ts, judged(message.to_json()), thread))
        if self.answers_lost:
            self.answers_lost -= 1
            raise self.lost_with
        return ts

    def update(self, channel: str, ts: str, message: Message) -> None:
        self._called()
        found = next((each for each in self.messages if (each.channel, each.ts) == (channel, ts)), None)
        if found is None:
            raise MessageGone("message_not_found")
        found.body, found.updates = judged(message.to_json()), found.updates + 1

    def whisper(self, channel: str, user: str, message: Message) -> None:
        self._called()
        self.whispers.append((channel, user, judged(message.to_json())))

    def reply(self, url: str, said: Mapping[str, object]) -> None:
        self._called()
        body = {name: value for name, value in said.items() if name in {"text", "blocks"}}
        judged(body)
        self.replies.append((url, said))

    @property
    def in_channel(self) -> list[Said]:
        return [each for each in self.messages if each.thread is None and each.channel == CHANNEL]

    @property
    def pings(self) -> list[str]:
        """What mentions somebody; plain text, as in a header, mentions nobody."""
        said = [(each.words, str(each.body["text"])) for each in self.messages]
        return [words for words, text in said if "<@" in text or "<!subteam" in text]

    def thread_of(self, said: Said) -> list[str]:
        return [each.words for each in self.messages if each.thread == said.ts]

    def _called(self) -> None:
        failure = self.fails.pop(0) if self.fails else None
        if failure is not None:
            raise failure


def judged(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message, if Slack would take it."""
    found = faults(body)
    assert not found, found
    return body


def _texts(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    for block in blocks:
        for part in (block.get("text"), *block.get("elements", [])):
            text = part.get("text") if isinstance(part, Mapping) else part
            found.append(str(text.get("text") if isinstance(text, Mapping) else text))
    return found


@dataclass
class LabInSlack:
    """A lab with a channel, its ledger in memory, its board, and the hands that move the world."""

    lab: Lab
    clock: Path
    slack: RecordingSlack = field(default_factory=RecordingSlack)
    dynamodb: Any = field(default_factory=DynamoDB)
    moved: list[tuple[str, str]] = field(default_factory=list)
    """Keys of items that changed and of which the board has not heard."""

    def __post_init__(self) -> None:
        self.dynamodb.exceptions = SimpleNamespace(ClientError=ClientError)
        self.dynamodb.listeners.append(self._heard)
        self.ledger = Ledger("ledger", self.dynamodb)
        self.conversation = LedgerSlack("ledger", self.dynamodb)
        self.board = Board(
            self.lab,
            self.ledger,
            self.conversation,
            self.slack,
            page=lambda pool, lease: f"https://pages.example.com/{pool}/{lease}.html?X-Amz-Signature=abc&x=1",
            answer=self.slack.reply,
        )
        self.at(0)

    def _heard(self, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        moved = after or before or {}
        self.moved.append((moved["pk"]["S"], moved["sk"]["S"]))

    def at(self, minutes: float) -> datetime:
        """Stop the clock so many minutes after eight."""
        now = EIGHT + minutes * MINUTE
        stop_at(self.clock, now)
        return now

    def put(self, lease: Lease) -> Lease:
        """The ledger has the lease so."""
        self.dynamodb.put_item(TableName="ledger", Item=items.lease_item(lease))
        return lease

    def note(self, kind: str, what: str, minutes: float, lease: str | None = None, **details: str) -> None:
        at = EIGHT + minutes * MINUTE
        self.ledger.append_audit(
            Entry(at, "gpu", kind, "notices", what, "for a good reason", lease=lease, details=details)
        )

    def set_pool(self, **values: items.Value) -> None:
        item = items.item("POOL#gpu", "STATE", values)
        self.dynamodb.put_item(TableName="ledger", Item=item)

    def tell(self, *keys: tuple[str, str]) -> None:
        """The stream delivers: what moved since, or these keys."""
        moved, self.moved = (list(keys) or self.moved), ([] if not keys else self.moved)
        show(event(moved), self.board)


def show(event: Mapping[str, object], board: Board) -> None:
    """Show what moved; raises the first of what could not be shown."""
    for failure in board_show.show(event, board):
        raise failure.error


def event(keys: Sequence[tuple[str, str]]) -> dict[str, object]:
    """A batch of the stream as Lambda hands it over."""
    return {
        "Records": [
            {
                "eventID": str(number),
                "eventName": "MODIFY",
                "eventSource": "aws:dynamodb",
                "dynamodb": {
                    "Keys": {"pk": {"S": pk}, "sk": {"S": sk}},
                    "SequenceNumber": str(number),
                    "StreamViewType": "KEYS_ONLY",
                },
            }
            for number, (pk, sk) in enumerate(keys)
        ]
    }


def evening(state: LeaseState = LeaseState.OPENING, **more: Any) -> Lease:
    """The evening class, 20:00 to 23:00 in Seoul."""
    times = {"opens": EIGHT, "closes": EIGHT + 180 * MINUTE}
    named = {"owner": "evening-class", "window": "evening", "date": "2026-11-20", "period": ""}
    made = lease("evening-2026-11-20", state=state, hold=Money.of("7.422", "USD"))
    return replace(made, **{**times, **named, **more})


LAB = {
    "name": "gpu-lab",
    "owner": "platform-team",
    "windows": [
        {"name": "evening", "days": "fri", "start": "20:00", "end": "23:00", "owner": "evening-class"}
    ],
    "pools": {"gpu": {"price_per_hour": "1.237", "how_to_use": "ssh class@bastion & kubectl <apply>"}},
    "slack": {
        "channel": CHANNEL,
        "roles": {"instructors": {"members": [INSTRUCTOR], "may": ["open", "extend", "close"]}},
    },
}


def lab_in_slack(monkeypatch: pytest.MonkeyPatch, folder: Path, **more: object) -> LabInSlack:
    """The lab at eight in the evening."""
    found = parse(json.dumps({**LAB, **more}), "lab")
    assert isinstance(found, Lab), found
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(folder / "clock"))
    return LabInSlack(found, folder / "clock")
