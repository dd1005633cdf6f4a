"""Functions that read and answer, with a fault in one of their calls: board, slack, pages, doctor and deploy.

Each is called at one moment of an evening: leases run, one was closed, a request waits for approval, and answers are
owed. It is called with the fault, and then as AWS calls it again. Whatever failed, the ledger of leases stays as it
was, nothing that Slack or the pages should show is lost, and a message comes at most as often as its outcome was
unknown. The ledger, Slack and the bucket are put back before the next case.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch
from urllib.parse import urlencode

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.ledger.slack.slack import LedgerSlack
from lamplighter.application.slack.receiving import SIGNATURE, STAMP
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.slack.asked import signature
from lamplighter.domain.slack.kept import Reply
from tests.lengths import SEED
from tests.world.chat import HOOK, TEACHER
from tests.world.fault_story import LAB, names_of
from tests.world.faults import DISTORTIONS, HTTPS, STATUSES, Fault
from tests.world.history import Play, Step
from tests.world.labs import of_kinds
from tests.world.our_code import forget_workers
from tests.world.slack_site import CHANNEL, SECRET
from tests.world.world import World

Json = dict[str, Any]
START = datetime(2026, 11, 20, 16, 54, tzinfo=UTC)
ORDER = "open big 1 for 20m"
AGAIN, APART = 3, timedelta(minutes=2)
"""How often a function is called after its fault is over, and how long after."""
DEPLOYED: tuple[tuple[str, str, Json], ...] = (
    ("Update", "Gate", {"Pool": "gpu", "Digest": "2"}),
    ("Update", "Gate", {"Pool": "big", "Digest": "2"}),
    ("Delete", "Gate", {"Pool": "big", "Digest": "1"}),
    ("Update", "Pools", {"Pools": "gpu,big", "Most": "gpu=1,big=1"}),
    ("Update", "Currency", {"Currency": "USD", "Period": "day", "TimeZone": "Etc/UTC"}),
    ("Update", "Plan", {"Digest": "2"}),
    ("Create", "ServiceCidr", {"Cluster": "gpu-lab"}),
    ("Create", "Swept", {}),
    ("Delete", "Emptied", {"Bucket": "gpu-lab-pages"}),
)
NOTES_IT = frozenset({"dynamodb.delete_item", "dynamodb.put_item", "dynamodb.update_item"})
"""The board writes with these that a message was sent. Where it cannot, it is sent again."""
MOST = 3
DECLINED = frozenset(f"error {status}" for status in (200, *STATUSES) if status not in {429, 500, 503, 504})
"""A question's own address takes no answer: it has no other. The person asks again."""
NO_LEDGER = "error ResourceNotFoundException"
"""A first deploy has none, and no lease."""
OF_OURS = ("Error: ", "Exception: ")


class Answers:
    """The evening stands still at one moment. `functions` are those that can be called in it."""

    functions = ("board", "slack", "pages", "doctor", "deploy")

    def __init__(self) -> None:
        lab = of_kinds(LAB, ("karpenter", "node-group"))
        self.world = World({**lab, "slack": {**lab["slack"], "channel": CHANNEL}}, START, 3)
        self._asked = 0
        self._usual: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        world = self.world.__enter__()
        play = Play(world, 3)
        world.run(timedelta(minutes=6))
        for pool in ("big", "gpu"):
            play.step(Step("open", pool, number=1, minutes=60))
        play.step(Step("asks", "gpu", number=2, minutes=30))
        play.chat.presses(TEACHER, "tell-me", p="gpu", n=1, s=1800)
        play.chat.types(TEACHER, "open gpu 1 for 30m")
        self._order_without_an_address()
        world.run(timedelta(minutes=8))
        play.step(Step("close", "big", number=1))
        world.run(timedelta(minutes=10))
        self._items = dict(world.dynamodb.items)
        self._sorted = {key: list(kept) for key, kept in world.dynamodb._sorted.items()}
        self._now, self._executions = world.now, dict(world.workflows.executions)
        self._due = list(world.event_queue._due)
        self._waits = patch.object(clock, "sleep", self._wait)
        self._waits.start()
        for function in self.functions:
            self._usual[function] = self._shown(function, ())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waits.stop()
        self.world.__exit__(kind, error, trace)

    def _wait(self, seconds: float) -> None:
        self.world.event_queue.now += timedelta(seconds=seconds)

    def known(self) -> list[tuple[str, str]]:
        """Each call of these functions, without faults."""
        return sorted(each for each in self.world.functions.known if each[0] in self.functions)

    def broken(self, fault: Fault) -> list[str]:
        """What does not hold where that function meets the fault in its first call."""
        function = str(fault.function)
        self.world.functions.fault_chance.seed(f"{SEED} {fault}")
        shown = self._shown(function, (fault,))
        found = [f"an error without a name: {each}" for each in self.world.functions.unnamed]
        found += self._unanswered
        found += self._written(function)
        if fault.kind not in DISTORTIONS or fault.call.startswith("slack."):
            found += _differences(self._usual[function], shown, fault)
        if fault.of:
            mine, other = ("gpu", "big") if fault.of == names_of("gpu") else ("big", "gpu")
            of_other = [text for text in self._usual[function] if other in text and mine not in text]
            found += [
                f"not told for pool {mine}'s sake: {text}" for text in of_other if text not in self._first
            ]
        return found

    def _order_without_an_address(self) -> None:
        """Its answer goes to its asker alone, in the channel."""
        until = self.world.now + timedelta(hours=1)
        owed = Reply("slack-open-owed", "gpu", TEACHER, None, CHANNEL, "open gpu", until)
        LedgerSlack("gpu-lab-ledger").order(owed, "owed", self.world.now)
        Ledger("gpu-lab-ledger").decide("gpu", Decision(owed.command, "refused", "no", self.world.now))

    # --- one case --------------------------------------------------------------------------------------

    def _shown(self, function: str, faults: tuple[Fault, ...]) -> list[str]:
        """What is shown at the end: with the faults in the first call, and with none after it."""
        self._put_back()
        call = getattr(self, f"_{function}")(faults)
        self.world.functions.faults = faults
        call()
        self.world.functions.faults = ()
        self._first = self._seen(function)
        for _ in range(AGAIN):
            self.world.event_queue.now += APART
            call()
        self.world.event_queue.now = self._now
        return self._seen(function)

    def _put_back(self) -> None:
        world = self.world
        world.dynamodb.items = dict(self._items)
        world.dynamodb._sorted = {key: list(kept) for key, kept in self._sorted.items()}
        world.workflows.executions = dict(self._executions)
        world.event_queue._due = list(self._due)
        world.slack.forget()
        world.buckets.clear()
        world.said.clear()
        world.functions.unnamed.clear()
        self._unanswered: list[str] = []
        self._asked += 1
        forget_workers()

    def _seen(self, function: str) -> list[str]:
        world = self.world
        match function:
            case "pages":
                return sorted(key for objects in world.buckets.values() for key in objects)
            case "doctor":
                # One that the topic did not take is handed to the function that tries again.
                handed = len(world.event_queue._due) - len(self._due)
                return ["the result of the month"] * (len(world.said) + handed)
            case "slack":
                # A request that a call fails is answered with that.
                return ["an answer"] * len(world.slack.told)
        return world.slack.said

    def _call(self, function: str, event: Json) -> Json | None:
        return self.world.functions.now(self.world.arn("lambda", f"function:gpu-lab-{function}"), event)[0]

    def _records(self) -> list[Json]:
        """The ledger's stream, as if all of it had just been written; a sweep comes last."""
        keys = sorted(self.world.dynamodb.items, key=lambda key: key[1] == "STATE")
        return [
            {"dynamodb": {"Keys": {"pk": {"S": pk}, "sk": {"S": sk}}, "SequenceNumber": str(number)}}
            for number, (pk, sk) in enumerate(keys)
        ]

    def _board(self, _faults: object) -> Callable[[], object]:
        return lambda: self._call("board", {"Records": self._records()})

    def _pages(self, _faults: object) -> Callable[[], object]:
        return lambda: self._call("pages", {"Records": self._records()})

    def _doctor(self, _faults: object) -> Callable[[], object]:
        return lambda: self._call("doctor", {})

    def _slack(self, _faults: object) -> Callable[[], object]:
        """A question and an order: the queue hands out again what failed, and the board gives late answers."""
        left = {each["messageId"]: each for each in map(self._signed, ("status", ORDER))}
        ordered = self._key(left)

        def call() -> None:
            if left:
                answer = self._call("slack", {"Records": list(left.values())})
                if answer is not None:
                    again = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
                    for name in left.keys() - again:
                        del left[name]
            if not self.world.functions.faults and not left:
                Ledger("gpu-lab-ledger").decide("big", Decision(ordered, "refused", "no", self._now))
                self._call("board", {"Records": self._records()})

        return call

    def _signed(self, text: str) -> Json:
        form = {
            "team_id": "T1", "channel_id": CHANNEL, "user_id": TEACHER, "user_name": "tom", "command": "/gpu",
            "text": text, "response_url": HOOK, "trigger_id": str(self._asked),
        }  # fmt: skip
        body, stamp = urlencode(form), str(int(self._now.timestamp()))
        values = {STAMP: stamp, SIGNATURE: signature.signed(SECRET, stamp, body.encode())}
        return {
            "messageId": text,
            "body": body,
            "attributes": {"SentTimestamp": f"{stamp}000", "ApproximateReceiveCount": "1"},
            "messageAttributes": {name: {"stringValue": value} for name, value in values.items()},
        }

    def _key(self, messages: Mapping[str, Json]) -> str:
        message = messages[ORDER]
        stamp = message["messageAttributes"][STAMP]["stringValue"]
        return f"slack-open-{signature.key_of(stamp, message['body'].encode())}"

    def _deploy(self, faults: tuple[Fault, ...]) -> Callable[[], object]:
        """CloudFormation gets an answer to each step, and none lets it change a pool that a lease holds."""
        formation = self.world.cloudformation
        unheard = any(fault.call.startswith(f"{HTTPS}.") for fault in faults)
        lies = any(fault.kind in {*DISTORTIONS, NO_LEDGER} for fault in faults)

        def call() -> None:
            for request, kind, properties in DEPLOYED:
                formation.reason = ""
                old = {**properties, "Digest": "1", "Most": "gpu=2,big=2"} if request == "Update" else None
                answer = formation.ask(request, kind, f"{kind}-1", properties, old)
                step = f"{request} {kind} {properties.get('Pool', '')}"
                if answer is None and formation.reason == "no answer" and not unheard:
                    self._unanswered.append(f"{step}: CloudFormation waits for an hour")
                if any(word in formation.reason.partition(" ")[0] + " " for word in OF_OURS):
                    self._unanswered.append(f"{step}: {formation.reason}")
                if answer is not None and (kind, properties.get("Pool")) == ("Gate", "gpu") and not lies:
                    self._unanswered.append(f"{step}: the pool changes under a lease")

        return call

    def _written(self, function: str) -> Iterator[str]:
        """What it wrote in the ledger beside its own part."""
        after = self.world.dynamodb.items
        for key in self._items.keys() | after.keys():
            if self._items.get(key) is not after.get(key) and not _may_write(function, *key):
                yield f"{function} wrote {key}: {json.dumps(dict(after.get(key) or {}))[:300]}"


def _may_write(function: str, pk: str, sk: str) -> bool:
    match function:
        case "board":
            return pk.startswith("SLACK")
        case "slack":
            return pk.startswith(("SLACK", "LAB", "PERSON")) or sk.startswith(("COMMAND#", "AUDIT#"))
        case "doctor":
            return pk in {"POOL#*", "LAB"}
        case "deploy":
            # The planner runs in it, and says what it corrected. While a step waits, the guard sweeps.
            return pk == "LAB" or pk.startswith("DEPLOY#") or sk == "STATE" or sk.startswith("AUDIT#")
    return False


def _differences(usual: Sequence[str], shown: Sequence[str], fault: Fault) -> Iterator[str]:
    """What is shown less often than without the fault, or more often than its outcome was unknown."""
    unknown = fault.kind in {"lost", "text", *DISTORTIONS} or fault.call in NOTES_IT
    refused = (fault.function, fault.call) == ("slack", "slack.response_url") and fault.kind in DECLINED
    for text in sorted({*usual, *shown}):
        least, most = usual.count(text), usual.count(text) * (MOST if unknown else 1)
        # A post whose time stamp is false is not found again, so it is not changed.
        if fault.call == "slack.chat.postMessage" and fault.kind in DISTORTIONS:
            least = 0
        if not least <= shown.count(text) <= most and not refused:
            yield f"{shown.count(text)} times instead of {usual.count(text)}: {text[:200]}"
