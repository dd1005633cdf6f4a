"""Slack: how long answers take, cold, warm, for a class, for a thousand and in a flood; that none is lost or doubled.

All times but the address's are the lab's: functions start cold where AWS's would, ten of them run at once, and each
takes the processor time that it used.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3

from lamplighter.adapters.aws.ledger.ledger import Ledger
from local.aws.functions.durations import Measured
from local.cloud import Cloud
from local.slack.workspace import REPLY
from tests.bench.figure import Measurement
from tests.scenarios.slack.slack_talk import Talk

LAB = Path(__file__).parent / "labs" / "slack.yaml"
PEOPLE = [f"U0CLASS{number:02}" for number in range(30)]
COLD, WARM, WARM_UP = 20, 100, 5
CLASS_SECONDS, MANY, MANY_SECONDS = 5.0, 1000, 60.0
FIFTY_A_SECOND = MANY / 50
FORGED_A_SECOND = 200
#: Longer than any answer may take, an attempt that failed and comes again included.
PATIENCE_SECONDS, LOOK_EVERY_SECONDS = 600.0, 0.5
WANTS = "open 1 for 1h"


@dataclass(frozen=True)
class Asked:
    """A command: when it was posted, and where its answer goes."""

    at: float
    address: str
    took: float
    """Real seconds until the address answered."""


@dataclass(frozen=True)
class Classroom:
    """People of a lab that is up, and what they are answered."""

    cloud: Cloud
    talk: Talk

    def ask(self, who: str, text: str) -> Asked:
        at, begun = self.cloud.clock.time(), time.perf_counter()
        address = self.talk.sends(who, text)
        return Asked(at, address, time.perf_counter() - begun)

    def over(
        self, seconds: float, texts: Sequence[str], beside: Callable[[], None] | None = None
    ) -> list[Asked]:
        """Everybody in turn, evenly over so many seconds; `beside` is done before each."""
        asked = []
        for number, text in enumerate(texts):
            if beside is not None:
                beside()
            asked.append(self.ask(PEOPLE[number % len(PEOPLE)], text))
            self.cloud.clock.sleep(seconds / len(texts))
        return asked

    def times(self, asked: Sequence[Asked]) -> list[float]:
        """Seconds until each answer, of those that came within the patience."""
        clock, over = self.cloud.clock, self.cloud.clock.time() + PATIENCE_SECONDS
        while not (came := self._answered()).keys() >= {each.address for each in asked}:
            if clock.time() > over:
                break
            clock.sleep(LOOK_EVERY_SECONDS)
        return [came[each.address] - each.at for each in asked if each.address in came]

    def _answered(self) -> Mapping[str, float]:
        """By address, when its first answer came."""
        told = [
            each for each in reversed(self.cloud.slack.told) if each["call"] == REPLY and each["answer"]["ok"]
        ]
        return {str(each["address"]): datetime.fromisoformat(each["at"]).timestamp() for each in told}

    def judged(self, asked: Sequence[Asked]) -> "Judged":
        """What came of it, once no second answer can come any more."""
        times = self.times(asked)
        self.cloud.clock.sleep(PATIENCE_SECONDS)
        answers = Counter(len(self.cloud.slack.replies(each.address)) for each in asked)
        ledger = Ledger(f"{self.cloud.lab.name}-ledger", _client(self.cloud, "dynamodb"))
        twice = sum(count for number, count in answers.items() if number > 1)
        return Judged(answers[0], twice, len(ledger.leases("gpu")), max(times))


@dataclass(frozen=True)
class Judged:
    """Commands without an answer and with two; the leases of a pool of one node; seconds until the last answer."""

    lost: int
    twice: int
    leases: int
    longest: float


@contextmanager
def classroom() -> Iterator[Classroom]:
    with Cloud(LAB, durations=Measured()) as cloud:
        cloud.up()
        yield Classroom(cloud, Talk(cloud))


def _single() -> Mapping[str, float]:
    """Answers to `status`, one after another."""
    with classroom() as room:
        cold = []
        for number in range(COLD):
            client = _client(room.cloud, "lambda")
            client.update_function_configuration(
                FunctionName=f"{room.cloud.lab.name}-slack", Description=str(number)
            )
            cold += room.times([room.ask(PEOPLE[0], "status")])
        warm = [room.times([room.ask(PEOPLE[0], "status")])[0] for _ in range(WARM_UP + WARM)][WARM_UP:]
        [decided] = room.times([room.ask(PEOPLE[0], WANTS)])
    ordered = sorted(warm)
    return {
        "slack-cold": max(cold) * 1000,
        "slack-warm-p50": statistics.median(ordered) * 1000,
        "slack-warm-p99": ordered[int(len(ordered) * 0.99) - 1] * 1000,
        "slack-decided": decided * 1000,
    }


def _several() -> Mapping[str, float]:
    """A class; the same in a flood; and as many within a minute, and at fifty a second."""
    with classroom() as room:
        alone = room.judged(room.over(CLASS_SECONDS, [WANTS] * len(PEOPLE)))
    with classroom() as room:
        flooded = room.judged(_in_a_flood(room))
    with classroom() as room:
        asked = room.over(MANY_SECONDS, [WANTS] * MANY)
        many = room.judged(asked)
    with classroom() as room:
        at_fifty = room.over(FIFTY_A_SECOND, [WANTS] * MANY)
        fifty = room.judged(at_fifty)
    every = (alone, flooded, many, fifty)
    return {
        "slack-lost": sum(each.lost for each in every),
        "slack-twice": sum(each.twice for each in every),
        "slack-leases": max(each.leases for each in every),
        "slack-class": alone.longest,
        "slack-flood": flooded.longest,
        "slack-many": many.longest,
        "slack-fifty": fifty.longest,
        "slack-address-p99": _address_p99(asked),
        "slack-address-fifty-p99": _address_p99(at_fifty),
    }


def _address_p99(asked: Sequence[Asked]) -> float:
    """Milliseconds."""
    return sorted(each.took for each in asked)[int(len(asked) * 0.99) - 1] * 1000


def _in_a_flood(room: Classroom) -> list[Asked]:
    """A class, while somebody posts what Slack has not signed: for five seconds before, meanwhile, and after."""
    step = CLASS_SECONDS / len(PEOPLE)

    def flood() -> None:
        for _ in range(round(FORGED_A_SECOND * step)):
            room.talk.forged(WANTS)

    def beside(seconds: float) -> None:
        for _ in range(round(seconds / step)):
            flood()
            room.cloud.clock.sleep(step)

    beside(CLASS_SECONDS)
    asked = room.over(CLASS_SECONDS, [WANTS] * len(PEOPLE), flood)
    beside(CLASS_SECONDS)
    return asked


def _client(cloud: Cloud, service: str) -> Any:
    endpoints = cloud.endpoints()
    session: Any = boto3.session.Session(
        aws_access_key_id=endpoints.access_key_id,
        aws_secret_access_key=endpoints.secret_access_key,
        region_name=endpoints.region,
    )
    return session.client(service, endpoint_url=endpoints.endpoint)


MEASUREMENTS = (
    Measurement(
        {"slack-cold": "ms", "slack-warm-p50": "ms", "slack-warm-p99": "ms", "slack-decided": "ms"}, _single
    ),
    Measurement(
        {
            "slack-lost": "commands",
            "slack-twice": "commands",
            "slack-leases": "leases",
            "slack-class": "s",
            "slack-flood": "s",
            "slack-many": "s",
            "slack-fifty": "s",
            "slack-address-p99": "ms",
            "slack-address-fifty-p99": "ms",
        },
        _several,
    ),
)
