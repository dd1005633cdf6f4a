"""Slack: how long answers take, cold and warm, for a class, for a thousand and in a flood; that none is lost or doubled.

All times but the address's are the lab's: functions start cold where AWS's would, ten of them run at once, and each takes
the processor time that it used.
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
FORGED_A_SECOND, FLOOD_SECONDS = 200, 15
#: Longer than any answer may take, an attempt that failed and comes again included.
PATIENCE_SECONDS = 600.0
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
        """Seconds until each answer, of those that came, once all came or nothing more does."""
        clock, there = self.cloud.clock, self.cloud.slack.replies
        for each in asked:
            clock.wait_until(clock.time() + PATIENCE_SECONDS, lambda each=each: bool(there(each.address)))
        came = {
            str(each["address"]): datetime.fromisoformat(each["at"]).timestamp()
            for each in reversed(self.cloud.slack.told)
            if each["call"] == REPLY and each["answer"]["ok"]
        }
        return [came[each.address] - each.at for each in asked if each.address in came]

    def figures(self, name: str, asked: Sequence[Asked]) -> Mapping[str, float]:
        """Commands without an answer, or with two; leases; and the longest time until an answer."""
        times = self.times(asked)
        self.cloud.clock.sleep(PATIENCE_SECONDS)  # a second answer would have come by then
        answers = Counter(len(self.cloud.slack.replies(each.address)) for each in asked)
        return {
            f"{name}-lost": answers[0],
            f"{name}-twice": sum(count for number, count in answers.items() if number > 1),
            f"{name}-leases": len(
                Ledger(f"{self.cloud.lab.name}-ledger", _client(self.cloud, "dynamodb")).leases("gpu")
            ),
            f"{name}-longest": max(times),
        }


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


def _class() -> Mapping[str, float]:
    with classroom() as room:
        return room.figures("slack-class", room.over(CLASS_SECONDS, [WANTS] * len(PEOPLE)))


def _many() -> Mapping[str, float]:
    with classroom() as room:
        asked = room.over(MANY_SECONDS, [WANTS] * MANY)
        ordered = sorted(each.took for each in asked)
        found = room.figures("slack-many", asked)
    return {**found, "slack-address-p99": ordered[int(len(ordered) * 0.99) - 1] * 1000}


def _flood() -> Mapping[str, float]:
    """A class, in the middle of a flood of requests that Slack has not signed."""
    with classroom() as room:
        each = round(FORGED_A_SECOND * CLASS_SECONDS / len(PEOPLE))

        def flood() -> None:
            for _ in range(each):
                room.talk.forged(WANTS)

        def alone(seconds: float) -> None:
            for _ in range(round(seconds * len(PEOPLE) / CLASS_SECONDS)):
                flood()
                room.cloud.clock.sleep(CLASS_SECONDS / len(PEOPLE))

        alone(CLASS_SECONDS)
        asked = room.over(CLASS_SECONDS, [WANTS] * len(PEOPLE), flood)
        alone(FLOOD_SECONDS - 2 * CLASS_SECONDS)
        return room.figures("slack-flood", asked)


def _client(cloud: Cloud, service: str) -> Any:
    endpoints = cloud.endpoints()
    session: Any = boto3.session.Session(
        aws_access_key_id=endpoints.access_key_id,
        aws_secret_access_key=endpoints.secret_access_key,
        region_name=endpoints.region,
    )
    return session.client(service, endpoint_url=endpoints.endpoint)


def _counted(name: str) -> Mapping[str, str]:
    units = {"lost": "commands", "twice": "commands", "leases": "leases", "longest": "s"}
    return {f"{name}-{what}": unit for what, unit in units.items()}


MEASUREMENTS = (
    Measurement(
        {"slack-cold": "ms", "slack-warm-p50": "ms", "slack-warm-p99": "ms", "slack-decided": "ms"}, _single
    ),
    Measurement(_counted("slack-class"), _class),
    Measurement(_counted("slack-flood"), _flood),
    Measurement({**_counted("slack-many"), "slack-address-p99": "ms"}, _many),
)
