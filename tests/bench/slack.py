"""The door in Slack: how long answers take, warm among many callers and cold on half a processor; that none is lost."""

import base64
import hashlib
import hmac
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import boto3

from lamplighter.adapters.aws.ledger import Ledger
from local.assembly import synthesise
from local.aws.runnable_layer import runnable
from local.cloud import Cloud
from local.slack.workspace import PATH
from tests.bench.assembly import code_of, layer_of
from tests.bench.figure import Measurement

LAB = Path(__file__).with_name("slack.yaml")
USER, CHANNEL = "U0123456789", "C0123456789"
CALLERS, CALLS = 20, 25
COMMANDS = 1000
#: The best of so many cold starts: what it takes when nothing else wants the machine.
TIMES = 5
PATIENCE_SECONDS = 60
#: What the door is deployed with.
MEMORY_MIB = 1024
#: One processor, shared with whoever else is limited to it.
ALONE = """
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
"""
BUSY = f"{ALONE}while True: pass"
#: A fresh interpreter in the door's memory, as Lambda has it, from its start to the answer.
COLD = f"""{ALONE}
import json, resource, sys
resource.setrlimit(resource.RLIMIT_DATA, ({MEMORY_MIB} << 20, {MEMORY_MIB} << 20))
sys.path.append(sys.argv[1])
from handlers.slack import handler
reply = handler(json.loads(sys.argv[2]), None)
assert reply["statusCode"] == 200, reply
print("is closed" in reply["body"])
"""


@dataclass
class Caller:
    """Somebody with the app's signing secret, who types as fast as the lab answers."""

    cloud: Cloud
    url: str
    secret: str
    _numbers: Any = field(default_factory=itertools.count)

    def type(self, text: str) -> tuple[float, str]:
        """Milliseconds until the answer, and what it says."""
        body, headers = self.signed(text)
        request = urllib.request.Request(self.url, data=body, headers=dict(headers), method="POST")
        begun = time.perf_counter()
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            said = json.loads(answer.read())
        return (time.perf_counter() - begun) * 1000, str(said["text"])

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
    with Cloud(LAB) as cloud, ExitStack() as passing:
        endpoints = cloud.up()
        passing.enter_context(cloud.clock.idle())  # the callers are threads of their own
        assert endpoints.slack_url is not None
        assert endpoints.signing_secret is not None
        cloud.slack.people[USER] = {"name": "sora", "real_name": "sora", "tz": "Asia/Seoul"}
        caller = Caller(cloud, endpoints.slack_url, endpoints.signing_secret)
        cold = _cold(cloud, caller)
        # One after another: the embedded cloud does one thing at a time, and a queue is none of the door's doing.
        _among_many(caller, ["status"] * 3, 1)
        warm = _among_many(caller, ["status"] * (CALLERS * CALLS), 1)
        lost, leases = _at_once(cloud, caller)
    ordered = sorted(warm)
    return {
        "slack-cold": cold,
        "slack-warm-p50": statistics.median(ordered),
        "slack-warm-p99": ordered[int(len(ordered) * 0.99) - 1],
        "slack-lost": lost,
        "slack-leases": leases,
    }


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


def _granted(cloud: Cloud) -> Sequence[str]:
    endpoints = cloud.endpoints()
    session = boto3.session.Session(
        aws_access_key_id=endpoints.access_key_id,
        aws_secret_access_key=endpoints.secret_access_key,
        region_name=endpoints.region,
    )
    dynamodb: Any = session.client("dynamodb", endpoint_url=endpoints.endpoint)
    leases = Ledger(f"{cloud.lab.name}-ledger", dynamodb).leases("gpu")
    return [lease.id for lease in leases]


def _cold(cloud: Cloud, caller: Caller) -> float:
    """From nothing to an answer in the door's memory, on one processor that it shares with a busy program."""
    endpoints = cloud.endpoints()
    functions: Any = boto3.session.Session(
        aws_access_key_id=endpoints.access_key_id,
        aws_secret_access_key=endpoints.secret_access_key,
        region_name=endpoints.region,
    ).client("lambda", endpoint_url=endpoints.endpoint)
    found = functions.get_function_configuration(FunctionName=f"{cloud.lab.name}-slack")
    assembly = synthesise(LAB)
    folder = code_of(assembly)
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **endpoints.environment(),
        **found["Environment"]["Variables"],
        "LAMPLIGHTER_INSTANT": str(cloud.clock.path),
        "SLACK_API_URL": f"{endpoints.endpoint}{PATH}/api/",
    }
    body, headers = caller.signed("status")
    event = {
        "rawPath": "/slack",
        "requestContext": {"http": {"method": "POST"}},
        "headers": {name.lower(): value for name, value in headers.items()},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
    # Nothing is written: what bytecode there is, the assets carry.
    command = [sys.executable, "-S", "-B", "-c", COLD, str(runnable(layer_of(assembly))), json.dumps(event)]

    def run() -> float:
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        if b"True" not in done.stdout:
            return math.inf  # it had to say that it has no time to look
        return (time.perf_counter() - begun) * 1000

    return _beside_a_busy_program(run)


def _beside_a_busy_program(run: Callable[[], float]) -> float:
    busy = subprocess.Popen([sys.executable, "-S", "-c", BUSY])
    try:
        return min(run() for _ in range(TIMES))
    finally:
        busy.kill()
        busy.wait()


MEASUREMENTS = (
    Measurement(
        {
            "slack-cold": "ms",
            "slack-warm-p50": "ms",
            "slack-warm-p99": "ms",
            "slack-lost": "commands",
            "slack-leases": "leases",
        },
        _take,
    ),
)
