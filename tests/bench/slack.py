"""The door in Slack: how long answers take, warm among many callers and cold; and that none is lost."""

import hashlib
import hmac
import itertools
import json
import math
import statistics
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import boto3

from lamplighter.adapters.aws.ledger.ledger import Ledger
from local.aws.functions.durations import PLACING_SECONDS, Measured
from local.cloud import Cloud
from tests.bench.figure import Measurement

LAB = Path(__file__).parent / "labs" / "slack.yaml"
USER, CHANNEL = "U0123456789", "C0123456789"
CALLERS, CALLS = 20, 25
COMMANDS = 1000
#: The best of so many cold starts: what it takes when nothing else wants the machine.
TIMES = 5
PATIENCE_SECONDS = 60
#: Real seconds before somebody types again whom the address had no room for, and how often one does.
TYPES_AGAIN_AFTER, TYPES_AGAIN = 0.05, 100
NO_ROOM, UNSIGNED = {429, 503}, 401
#: Seconds of the lab's time, as Slack has them.
GOOD_FOR = 299


@dataclass
class Caller:
    """Somebody with the app's signing secret, who types as fast as the lab answers."""

    cloud: Cloud
    url: str
    secret: str
    _numbers: Any = field(default_factory=itertools.count)

    def type(self, text: str) -> tuple[float, str]:
        """Milliseconds until the answer, and what it says; typed again where there was no room for it."""
        for _ in range(TYPES_AGAIN):
            signed_at = self.cloud.clock.time()
            body, headers = self.signed(text)
            request = urllib.request.Request(self.url, data=body, headers=dict(headers), method="POST")
            begun = time.perf_counter()
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                    said = json.loads(answer.read())
            except urllib.error.HTTPError as refusal:
                # A clock in a hurry may jump past the five minutes for which a signature is good.
                stale = refusal.code == UNSIGNED and self.cloud.clock.time() - signed_at > GOOD_FOR
                if refusal.code not in NO_ROOM and not stale:
                    raise
                time.sleep(TYPES_AGAIN_AFTER)
                continue
            return (time.perf_counter() - begun) * 1000, str(said["text"])
        raise TimeoutError

    def signed(self, text: str) -> tuple[bytes, Mapping[str, str]]:
        """The body and the headers that Slack would send."""
        form = {"team_id": "T1", "user_id": USER, "user_name": "sora", "channel_id": CHANNEL}
        form |= {"command": "/gpu", "text": text, "trigger_id": str(next(self._numbers))}
        body, stamp = urlencode(form).encode(), str(int(self.cloud.clock.time()))
        base = b"v0:" + stamp.encode() + b":" + body
        signature = "v0=" + hmac.new(self.secret.encode(), base, hashlib.sha256).hexdigest()
        return body, {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature,
        }


def _take() -> Mapping[str, float]:
    functions = Measured()
    with Cloud(LAB, durations=functions) as cloud, ExitStack() as passing:
        cloud.up()
        passing.enter_context(cloud.clock.idle())  # the callers are threads of their own
        caller = caller_of(cloud)
        cold = min(_cold(caller, functions) for _ in range(TIMES))
        # One after another: the embedded cloud does one thing at a time, and a queue is none of the door's doing.
        _among_many(caller, ["status"] * 3, 1)
        warm = _among_many(caller, ["status"] * (CALLERS * CALLS), 1)
    ordered = sorted(warm)
    return {
        "slack-cold": cold,
        "slack-warm-p50": statistics.median(ordered),
        "slack-warm-p99": ordered[int(len(ordered) * 0.99) - 1],
    }


def _take_at_once() -> Mapping[str, float]:
    with Cloud(LAB) as cloud, ExitStack() as passing:
        cloud.up()
        passing.enter_context(cloud.clock.idle())
        lost, leases = _at_once(cloud, caller_of(cloud))
    return {"slack-lost": lost, "slack-leases": leases}


def caller_of(cloud: Cloud) -> Caller:
    """Somebody whom the lab's Slack knows, once the cloud is up."""
    endpoints = cloud.endpoints()
    assert endpoints.slack_url is not None
    assert endpoints.signing_secret is not None
    cloud.slack.people[USER] = {"name": "sora", "real_name": "sora", "tz": "Asia/Seoul"}
    return Caller(cloud, endpoints.slack_url, endpoints.signing_secret)


def _among_many(caller: Caller, texts: Sequence[str], callers: int) -> list[float]:
    with ThreadPoolExecutor(callers) as pool:
        return [took for took, _ in pool.map(caller.type, texts)]


def _at_once(cloud: Cloud, caller: Caller) -> tuple[float, float]:
    """Commands without a good answer, and leases that were granted, where everybody wants the only node."""

    def wants(_: int) -> bool:
        try:
            return bool(caller.type("open 1 for 1h")[1])
        except (urllib.error.URLError, TimeoutError, ValueError):
            return False

    with ThreadPoolExecutor(CALLERS) as pool:
        answered = sum(pool.map(wants, range(COMMANDS)))
    return COMMANDS - answered, len(_granted(cloud))


def _client(cloud: Cloud, service: str) -> Any:
    endpoints = cloud.endpoints()
    session: Any = boto3.session.Session(
        aws_access_key_id=endpoints.access_key_id,
        aws_secret_access_key=endpoints.secret_access_key,
        region_name=endpoints.region,
    )
    return session.client(service, endpoint_url=endpoints.endpoint)


def _granted(cloud: Cloud) -> Sequence[str]:
    leases = Ledger(f"{cloud.lab.name}-ledger", _client(cloud, "dynamodb")).leases("gpu")
    return [lease.id for lease in leases]


def _cold(caller: Caller, functions: Measured) -> float:
    """Milliseconds to an answer where there was no worker, as its processor time and its memory have it."""
    cloud = caller.cloud
    client = _client(cloud, "lambda")
    name = f"{cloud.lab.name}-slack"
    client.update_function_configuration(FunctionName=name, Description=str(len(functions.works)))
    _, said = caller.type("status")
    if "is closed" not in said:
        return math.inf  # it had to say that it has no time to look
    work = next(work for work in reversed(functions.works) if work.function == name)
    if work.init is None:
        return math.inf  # a command that had gone stale on its way has started the worker
    return (PLACING_SECONDS + work.billed(work.memory)) * 1000


MEASUREMENTS = (
    Measurement({"slack-cold": "ms", "slack-warm-p50": "ms", "slack-warm-p99": "ms"}, _take),
    Measurement({"slack-lost": "commands", "slack-leases": "leases"}, _take_at_once),
)
