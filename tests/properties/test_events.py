"""The bus under fire: forged, replayed, late, malformed and odd events, thousands of them.

Whatever comes: who may not ask starts nothing and leaves the ledger as it is, each request has one answer or one
command, and a command is the entry's, whatever the detail says.
"""

import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.application.events.receiving import receive
from lamplighter.application.events.telling import tell
from lamplighter.application.logs import logger
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.allowance import Allowance
from lamplighter.errors import TryLater
from lamplighter.values import instant
from tests.lengths import SEED
from tests.unit.events.bus import CI, LAB, MINUTE, OTHER, TRAINING, LabWithBus, event, lab_with_bus

EVENTS, LONG_EVENTS, OF_ONE_LAB = 4_000, 100_000, 100
POOLS = {"training": {"gpu"}, "jobs": {"gpu", "big"}}
MAY = {"training": {"open", "extend", "close"}, "jobs": {"open", "close"}}
ACCOUNTS = {"training": CI, "jobs": "123456789012"}
OWNERS = {"training": "ci-training", "jobs": "jobs"}
ALLOWANCES = {"training": Allowance(2, timedelta(hours=3)), "jobs": Allowance()}
ENTRIES = {TRAINING: "training", OTHER: "jobs"}
TOKENS = ("run-1", "run-2", "run-3", "run-4", "run-5")
TEXTS = (
    "", " ", "gpu", "big", "*", "\x00", "\n", "\ud800", "x\udfff", "끝", "\u202e", "a" * 5000, "null",
    "' OR 1=1", "../x",
)  # fmt: skip
NUMBERS: tuple[object, ...] = (0, -1, 1, 2, 3, 100, 101, 1.5, 1e308, 10**18, 10**30, -(10**40), True, False)
RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[" * 900 + "]" * 900, "[" * 90_000, "{", "tru",
    '"\\ud800"',
)  # fmt: skip
"""What stands in place of a value, as it is."""
INSTANTS = ("", "now", "2026-11-20", "2026-11-20T21:00:00", "2026-11-20T21:00:00Z", "2026-11-21T06:00:00+09:00",
            "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59",
            "2026-W47-5T21:00:00Z", "2026-11-20T24:00:00Z", "2026-02-30T00:00:00Z")  # fmt: skip
KEYS = ("pool", "nodes", "for_seconds", "until", "because", "token")
FORGED = (
    "owner", "by", "source", "id", "lease", "for_lab", "expires", "allowance", "opens", "add", "verb",
    "command",
)  # fmt: skip
PLACE, DEEPEST = "?place?", 3


@dataclass
class Fuzz:
    """Makes events; `sent` are those that came before."""

    chance: random.Random
    sent: list[str] = field(default_factory=list)
    number: int = 0

    def body(self, now: datetime) -> str:
        """The body of a message, as somebody puts an event or makes one up."""
        if self.sent and self.chance.random() < 0.15:
            return self.chance.choice(self.sent[-20:])
        made = json.dumps(self._event(now), ensure_ascii=self.chance.random() < 0.5)
        while PLACE in made:
            made = made.replace(f'"{PLACE}"', self.chance.choice(RAW), 1)
        if self.chance.random() < 0.05:
            made = self._torn(made)
        self.sent.append(made)
        return made

    def _event(self, now: datetime) -> object:
        self.number += 1
        pick = self.chance.choice
        if self.chance.random() < 0.02:
            return self._odd()
        source = pick((TRAINING, TRAINING, TRAINING, OTHER))
        entry = ENTRIES[source]
        verb = pick(("open", "open", "open", "extend", "close"))
        asked = event(
            self._detail(entry, verb),
            id=f"e-{self.number}",
            source=source,
            account=ACCOUNTS[entry],
            time=instant.written(now - timedelta(seconds=self.chance.choice((0, 0, 1, 30, 600)))),
            **{"detail-type": verb},
        )
        for _ in range(pick((0, 0, 0, 0, 1, 1, 2))):
            self._break(asked, now)
        return asked

    def _break(self, asked: dict[str, object], now: datetime) -> None:
        """One thing about the event is wrong, or odd."""
        pick = self.chance.choice
        match pick(("source", "account", "time", "type", "id", "gone", "odd", "more")):
            case "source":
                asked["source"] = pick(
                    (OTHER, "lamplighter.gpu-lab", "aws.events", "ci.unknown", TRAINING.upper(), self._odd())
                )
            case "account":
                asked["account"] = pick(("123456789012", CI, "999999999999", "", self._odd()))
            case "time":
                seconds = pick((-(10**6), -901, -900, -899, 299, 301, 10**6))
                asked["time"] = pick(
                    (instant.written(now + timedelta(seconds=seconds)), pick(INSTANTS), self._odd())
                )
            case "type":
                asked["detail-type"] = pick(
                    ("Open", "keep", "pause", "lease-granted", "extend", "", self._odd())
                )
            case "id":
                asked["id"] = pick(("", "a b", "x" * 65, "é", self._odd()))
            case "gone":
                del asked[pick(sorted(asked))]
            case "odd":
                asked[pick(sorted(asked))] = self._odd()
            case "more":
                asked[pick(("replay-name", "owner", "commands", "\ud800"))] = self._odd()

    def _detail(self, entry: str, verb: str) -> object:
        pick, given = self.chance.choice, self.chance.random
        if given() < 0.05:
            return self._odd()
        detail: dict[str, object] = {}
        if entry == "jobs" or given() < 0.5:
            detail["pool"] = pick(("gpu", "gpu", "gpu", "big", "gup"))
        if given() < 0.6:
            detail["token"] = pick(TOKENS)
        if verb == "open" and given() < 0.6:
            detail["nodes"] = pick((1, 2, 3, 100))
        if verb != "close" and given() < 0.5:
            detail["for_seconds"] = pick((1, 60, 3600, 10**6))
        if given() < 0.2:
            detail[pick(KEYS)] = self._odd()
        if given() < 0.1:
            detail[pick(("until", "because"))] = pick(INSTANTS)
        if given() < 0.08:
            detail[pick(FORGED)] = pick(("alice", "boss", True, self._odd()))
        return detail

    def _odd(self, depth: int = 0) -> object:
        """Valid JSON of any kind, or a place where anything may stand."""
        pick, few = self.chance.choice, range(self.chance.choice((0, 1, 2)) if depth < DEEPEST else 0)
        makes: tuple[Callable[[], object], ...] = (
            lambda: pick(TEXTS),
            lambda: pick(NUMBERS),
            lambda: pick(INSTANTS),
            lambda: pick((None, PLACE)),
            lambda: [self._odd(depth + 1) for _ in few],
            lambda: {pick((*KEYS, *TEXTS)): self._odd(depth + 1) for _ in few},
        )
        return pick(makes)()

    def _torn(self, made: str) -> str:
        """A message that is cut off, has a character changed, or comes with something before it."""
        at = self.chance.randrange(len(made))
        return self.chance.choice(
            (made[:at], made[:at] + self.chance.choice('{}[]",:\\ \x00') + made[at + 1 :], "[" + made)
        )


@contextmanager
def listening() -> Iterator[list[str]]:
    """Every line that is logged meanwhile."""
    lines: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    heard = logging.getLogger(logger().name)
    with pytest.MonkeyPatch.context() as patch:
        # To write down thousands of lines takes longer than the events.
        patch.setattr(heard, "handlers", [Ear()])
        patch.setattr(heard, "propagate", False)
        heard.setLevel(logging.INFO)
        yield lines


def deciding(bus: LabWithBus, chance: random.Random) -> None:
    """The workflows grant, refuse, or have not decided yet."""

    def decide(command: Command) -> None:
        outcome = chance.choice(("granted", "refused", "later"))
        if outcome == "refused":
            bus.decides(command, "refused")
        elif outcome == "granted" and command.verb.value == "open":
            bus.grants(command)
        elif outcome == "granted":
            bus.decides(command, "closing" if command.verb.value == "close" else "extended")

    bus.workflows.decide = decide


def play(bus: LabWithBus, fuzz: Fuzz, lines: list[str], counts: Counter[str]) -> None:
    """One message, and what has to be true of what comes of it."""
    body = fuzz.body(bus.services.now())
    before, started = dict(bus.dynamodb.items), len(bus.workflows.started)
    lines.clear()
    bus.eventbridge.put.clear()
    retried = False
    try:
        receive(body, bus.services)
    except TryLater:
        retried = True
    changed = {
        key
        for key in before.keys() | bus.dynamodb.items.keys()
        if before.get(key) != bus.dynamodb.items.get(key)
    }
    # A close by token leaves word for an open that comes after it; nothing else of a refused one is left.
    notes = {(pk, sk) for pk, sk in changed if pk.startswith("EVENT#") and sk.startswith("CLOSED#")}
    assert not notes or '"close"' in body
    if retried:
        counts["comes again"] += 1
        assert (changed, bus.eventbridge.put) == (notes, [])
    elif lines == ["request received", "command started"]:
        counts["started"] += 1
        assert bus.eventbridge.put == []
        for start in bus.workflows.started[started:]:
            counts[start.command.verb.value] += 1
            of_the_entry(start.command, parsed(body), bus.services.now())
    else:
        of_eventbridge = ["request received"] if lines[:1] == ["request received"] else []
        answered = ["event told"] if bus.eventbridge.put else []
        assert lines == [*of_eventbridge, "turned away", *answered], (body, lines)
        assert changed == notes, body
        assert len(bus.workflows.started) == started
        refused_once(body, bus.eventbridge.told, counts)


def refused_once(body: str, told: list[tuple[str, Any]], counts: Counter[str]) -> None:
    """One answer, to those who could hear one: each event of EventBridge has an id."""
    counts["refused"] += 1
    if not told:
        counts["without an id"] += 1
        assert not _named(body)
        return
    [(kind, detail)] = told
    counts[str(detail["reason"]["code"])] += 1
    assert kind == "lease-refused"
    assert detail["in_reply_to"] in body
    assert len(detail["reason"]["text"].splitlines()) == 1


def parsed(body: str) -> Any:
    """The body as JSON; a number that Python does not read is text."""
    return json.loads(body, parse_int=lambda digits: int(digits) if len(digits) < 1000 else digits)


def _named(body: str) -> bool:
    """Whether the event has an id as EventBridge gives it."""
    try:
        made = parsed(body)
    except (ValueError, RecursionError):
        return False
    name = made.get("id") if isinstance(made, Mapping) else None
    return (
        isinstance(name, str) and 0 < len(name) <= 64 and name.replace("-", "a").isalnum() and name.isascii()
    )


def of_the_entry(command: Command, sent: Any, now: datetime) -> None:
    """The command is what the entry may ask for, in the entry's name."""
    entry = ENTRIES[sent["source"]]
    detail = sent["detail"]
    assert sent["account"] == ACCOUNTS[entry]
    assert command.verb.value == sent["detail-type"] in MAY[entry]
    assert command.pool in POOLS[entry]
    assert command.pool == (detail.get("pool") or "gpu")
    assert (command.owner, command.by, command.source) == (OWNERS[entry], f"{entry} (event)", "event")
    assert command.allowance == ALLOWANCES[entry]
    assert not command.for_lab
    assert now - 15 * MINUTE <= command.issued <= now
    assert command.expires == command.issued + 15 * MINUTE
    assert set(detail) <= set(KEYS)
    if command.verb.value == "open":
        assert (command.nodes, command.lease, command.add) == (detail.get("nodes") or 1, None, True)
    else:
        assert command.lease is not None
        assert command.lease.startswith("event-")
    assert Command.from_json(json.loads(json.dumps(command.to_json()))) == command


def events_under_fire(folder: Path, seed: object, many: int) -> Counter[str]:
    """So many events, to one lab after the other; everything that is decided is told."""
    counts: Counter[str] = Counter()
    chance = random.Random(f"{seed}")
    with listening() as lines, pytest.MonkeyPatch.context() as patch:
        for _ in range(many // OF_ONE_LAB):
            bus, fuzz = lab_with_bus(patch, folder), Fuzz(chance)
            deciding(bus, chance)
            minutes = 0.0
            for _ in range(OF_ONE_LAB):
                play(bus, fuzz, lines, counts)
                minutes += chance.choice((0, 0, 0, 0.2, 5))
                bus.at(minutes)
            names = [start.name for start in bus.workflows.started]
            assert len(set(names)) == len(names)
            bus.at(minutes + 60)
            bus.eventbridge.put.clear()
            for pool in LAB.pools:
                waiting = {asked.event for asked in bus.services.ledger.asked(pool)}
                tell(pool, bus.services)
                answered = [detail["in_reply_to"] for _, detail in bus.eventbridge.told]
                assert waiting <= set(answered)
                assert bus.services.ledger.asked(pool) == []
    return counts


def test_none_of_thousands_of_events_does_what_it_may_not(tmp_path: Path) -> None:
    counts = events_under_fire(tmp_path, SEED or "brief", EVENTS)

    assert counts["started"] > EVENTS / 10, counts
    assert counts["refused"] > EVENTS / 4, counts
    assert min(counts[what] for what in ("open", "extend", "close", "comes again", "without an id")) > 10, (
        counts
    )
    refusals = ("source-unknown", "account-not-allowed", "too-old", "ahead", "no-json", "no-time", "no-detail",
                "verb-not-allowed", "pool-not-allowed", "nothing-opened", "opened-nothing", "closed-before",
                "for-and-until")  # fmt: skip
    assert [code for code in refusals if not counts[f"command.event.{code}"]] == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_none_of_a_hundred_thousand_does(tmp_path: Path) -> None:
    assert events_under_fire(tmp_path, f"long {SEED}", LONG_EVENTS)["started"] > 0
