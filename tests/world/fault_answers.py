"""Functions that read and answer, with a fault in one of their calls: board, slack, pages, doctor, deploy and planner.

Each is called at one moment of an evening: leases run, one was closed, a request waits for approval, and answers are
owed. It is called with the fault, and then as AWS calls it again. Whatever failed, the ledger of leases stays as it
was, nothing that Slack or the pages should show is lost, and a message comes at most as often as its outcome was
unknown. The ledger, Slack and the bucket are put back before the next case.
"""

import json
import re
from collections.abc import Callable, Iterator
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
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.slack.asked import signature
from lamplighter.domain.slack.kept import Reply
from tests.lengths import SEED
from tests.world.chat import HOOK, TEACHER
from tests.world.fault_deploy import deploying
from tests.world.fault_judgement import differences, may_write
from tests.world.fault_story import LAB, names_of
from tests.world.faults import DISTORTIONS, Fault
from tests.world.history import Play, Step
from tests.world.labs import of_kinds
from tests.world.our_code import forget_workers
from tests.world.school import ADDRESS, school
from tests.world.slack_site import CHANNEL, SECRET
from tests.world.world import World

Json = dict[str, Any]
START = datetime(2026, 11, 20, 16, 54, tzinfo=UTC)
ORDER = "open big 1 for 20m"
AGAIN, APART, HOUR = 3, timedelta(minutes=2), timedelta(hours=1)
"""How often a function is called after its fault is over, and how long after: the planner is, every hour."""
COURSE = {"name": "course", "pool": "big", "nodes": 1, "calendar": ADDRESS}
OF_WINDOWS = ("LEASE#late-", "LEASE#course", "COURSE#", "COMMAND#course")
"""What the planner makes: it finds only the windows of today, whose time is over an hour later."""
TODAY = "2026-11-20"
END = "18:40"
"""A deploy whose steps wait, played four times, is over by then. Its planner would say that a window is missed."""
GROUP_OF_PEOPLE = {
    "AutoScalingGroupName": "theirs", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0, "Instances": [], "Tags": [],
    "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"},
}  # fmt: skip
"""The doctor asks its launch template what it may start."""


class Answers:
    """The evening stands still at one moment. `functions` are those that can be called in it."""

    functions = ("board", "slack", "pages", "doctor", "deploy", "planner")

    def __init__(self) -> None:
        lab = of_kinds(LAB, ("karpenter", "node-group"))
        lab["windows"] = [*({**window, "end": END} for window in lab["windows"]), COURSE]
        lab["guard"] = {**lab["guard"], "look_again": ["24h", "40m"]}
        self.world = World({**lab, "slack": {**lab["slack"], "channel": CHANNEL}}, START, 3)
        self._school = school(self.world.functions.cross)
        self._asked = 0
        self._usual: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        self._school.__enter__()
        world = self.world.__enter__()
        groups: Any = world.supply.services["autoscaling"]
        groups.of_people.append(GROUP_OF_PEOPLE)
        play = Play(world, 3)
        world.run(timedelta(minutes=6))
        for pool in ("big", "gpu"):
            play.step(Step("open", pool, number=1, minutes=55))
        play.step(Step("asks", "gpu", number=2, minutes=30))
        for pool in ("big", "gpu"):
            play.chat.presses(TEACHER, "tell-me", p=pool, n=1, s=1800)
        play.chat.types(TEACHER, "open gpu 1 for 30m")
        self._order_without_an_address()
        world.run(timedelta(minutes=8))
        play.step(Step("close", "big", number=1))
        world.run(timedelta(minutes=10))
        leases = Ledger("gpu-lab-ledger").leases("gpu")
        [lease] = [each.id for each in leases if each.granted]
        planned = [each for each in leases if each.state is LeaseState.PLANNED]
        self._ahead = max(planned, key=lambda lease: lease.opens).id
        self._pressed: dict[str, Json] = {
            "tell-me": {"p": "gpu", "n": 2, "s": 1800},
            "approve": {"a": play.chat.asks[-1]},
            "extend": {"l": lease, "s": 600},
        }
        self._items = dict(world.dynamodb.items)
        self._sorted = {key: list(kept) for key, kept in world.dynamodb._sorted.items()}
        self._now, self._executions = world.now, dict(world.workflows.executions)
        self._due = list(world.event_queue._due)
        # Who waits until a time by `monotonic` waits as long as the others.
        self._waits = (
            patch.object(clock, "sleep", self._wait),
            patch.object(clock, "monotonic", self._seconds),
        )
        for each in self._waits:
            each.start()
        for function in self.functions:
            self._usual[function] = self._shown(function, ())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._waits:
            each.stop()
        self.world.__exit__(kind, error, trace)
        self._school.__exit__(kind, error, trace)

    def _seconds(self) -> float:
        return self.world.event_queue.now.timestamp()

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
            found += differences(self._usual[function], shown, fault)
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
        if function == "planner":
            self._forget_windows()
        call = getattr(self, f"_{function}")(faults)
        self.world.functions.faults = faults
        call()
        self.world.functions.faults = ()
        self._first = self._seen(function)
        for _ in range(AGAIN):
            self.world.event_queue.now += HOUR if function == "planner" else APART
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
        self._looked = 0
        forget_workers()

    def _forget_windows(self) -> None:
        """As a day before: the planner has not seen the calendar or the windows of tomorrow."""
        for pk, sk in list(self.world.dynamodb.items):
            if sk.startswith(OF_WINDOWS) and not sk.endswith(TODAY) and not self._runs(pk, sk):
                self.world.dynamodb.delete_item(TableName="", Key={"pk": {"S": pk}, "sk": {"S": sk}})

    def _runs(self, pk: str, sk: str) -> bool:
        """Whether it is a lease that is more than planned."""
        found = self.world.dynamodb.items.get((pk, sk), {})
        return sk.startswith("LEASE#") and found.get("state") != {"S": "planned"}

    def _seen(self, function: str) -> list[str]:
        world = self.world
        match function:
            case "pages":
                return sorted(key for objects in world.buckets.values() for key in objects)
            case "doctor":
                # One that the topic did not take is handed to the function that tries again.
                # So is each check of a window, to the function that tells it.
                handed = len(world.event_queue._due) - len(self._due) - self._looked
                checked = ("LAB", f"LOOK#{self._ahead}") in world.dynamodb.items
                results = ["the result of the month"] * (len(world.said) + handed)
                return [*results, *["the check of a window"] * checked]
            case "planner":
                keys = [key for key in world.dynamodb.items if key[1].startswith(OF_WINDOWS[:2])]
                planned = [" ".join(key) for key in sorted(keys) if not self._runs(*key)]
                return [*planned, *["a notice"] * len(world.said)]
            case "slack":
                # A request that a call fails is answered with that. Its asker hears of an approval beside that.
                return ["an answer" for each in world.slack.told if "Approved by" not in str(each["text"])]
        # An offer ends ten minutes after it was made.
        return [re.sub(r"by \d\d:\d\d", "in time", text) for text in world.slack.said]

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
        def call() -> None:
            self._call("doctor", {})
            answer = self._call("doctor", {"look": {"pool": "gpu", "lease": self._ahead}})
            self._looked += answer is not None

        return call

    def _planner(self, _faults: object) -> Callable[[], object]:
        return lambda: self._call("planner", {})

    def _slack(self, _faults: object) -> Callable[[], object]:
        """A question, buttons and an order: the queue hands out what failed, and the board gives late answers."""
        typed = {
            text: {
                "channel_id": CHANNEL,
                "user_id": TEACHER,
                "user_name": "tom",
                "command": "/gpu",
                "text": text,
            }
            for text in ("status", ORDER)
        }
        forms = {**typed, **{name: {"payload": json.dumps(self._press(name))} for name in self._pressed}}
        left = {name: self._signed(name, form) for name, form in forms.items()}
        ordered = {
            f"slack-open-{self._key(left[ORDER])}": "big",
            f"slack-open-{self._pressed['approve']['a']}": "gpu",
            f"slack-extend-{self._key(left['extend'])}": "gpu",
        }

        def call() -> None:
            if left:
                answer = self._call("slack", {"Records": list(left.values())})
                if answer is not None:
                    again = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
                    for name in left.keys() - again:
                        del left[name]
            if not self.world.functions.faults and not left:
                for command, pool in ordered.items():
                    Ledger("gpu-lab-ledger").decide(pool, Decision(command, "refused", "no", self._now))
                self._call("board", {"Records": self._records()})

        return call

    def _press(self, action: str) -> Json:
        pressed = {"action_id": action, "value": json.dumps(self._pressed[action])}
        user = {"id": TEACHER, "username": "tom"}
        where = {"channel": {"id": CHANNEL}, "response_url": HOOK, "trigger_id": str(self._asked)}
        return {"type": "block_actions", "team": {"id": "T1"}, "user": user, "actions": [pressed], **where}

    def _signed(self, name: str, form: Json) -> Json:
        """The message of the queue for what somebody did."""
        form = {"team_id": "T1", "response_url": HOOK, "trigger_id": str(self._asked), **form}
        body, stamp = urlencode(form), str(int(self._now.timestamp()))
        values = {STAMP: stamp, SIGNATURE: signature.signed(SECRET, stamp, body.encode())}
        return {
            "messageId": name,
            "body": body,
            "attributes": {"SentTimestamp": f"{stamp}000", "ApproximateReceiveCount": "1"},
            "messageAttributes": {name: {"stringValue": value} for name, value in values.items()},
        }

    @staticmethod
    def _key(message: Json) -> str:
        stamp = message["messageAttributes"][STAMP]["stringValue"]
        return signature.key_of(stamp, message["body"].encode())

    def _deploy(self, faults: tuple[Fault, ...]) -> Callable[[], object]:
        return deploying(self.world, faults, self._unanswered)

    def _written(self, function: str) -> Iterator[str]:
        """What it wrote in the ledger beside its own part."""
        after = self.world.dynamodb.items
        for key in self._items.keys() | after.keys():
            if self._items.get(key) is after.get(key):
                continue
            state = self._items.get(key, {}).get("state")
            if not may_write(function, *key) or (
                key[1].startswith("LEASE#") and state not in (None, {"S": "planned"})
            ):
                yield f"{function} wrote {key}: {json.dumps(dict(after.get(key) or {}))[:300]}"
