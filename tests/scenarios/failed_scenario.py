"""What a failed scenario leaves: its cloud's state in a folder, and a section of the report that says how to read it.

docs/how-to/run/read-a-failed-test.md explains the section. A passed scenario leaves nothing. The state is read while
the clock stands, at the instant of the failure, and each part of it by itself: a part that cannot be read says so.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.dynamodb.types import TypeDeserializer
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from lamplighter.adapters.aws.ledger.ledger import Ledger
from local.aws.embedded import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from local.cloud import Cloud
from tests.checkout import ROOT

#: The folder of each failure is in here. Only the newest stay.
FOLDER = ROOT / ".build" / "failed-scenarios"
NEWEST, DIGITS = 5, 5
TITLE = "how to read this failure"
GUIDE = "docs/how-to/run/read-a-failed-test.md"
#: The report has so many lines of the timeline, from before the failure, and of the ledger. The folder has all.
TIMELINE_LINES, LEDGER_LINES = 40, 30
REACHES_BACK = timedelta(days=2)
#: A report does not wait longer for a cloud that does not answer any more.
PART_SECONDS = 30
NO_ANSWER = f"not known: no answer in {PART_SECONDS} s"
#: What a person sets to choose how tests are played.
CHOICES = ("LAMPLIGHTER_TESTS", "LAMPLIGHTER_SEED", "LAMPLIGHTER_KARPENTER")
#: Where Kubernetes lists what a scenario is about.
LISTS = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "events": "/api/v1/events",
    "nodepools": "/apis/karpenter.sh/v1/nodepools",
    "nodeclaims": "/apis/karpenter.sh/v1/nodeclaims",
}


@dataclass(frozen=True)
class Kept:
    """The folder of a failure, and what the report says of it."""

    error: BaseException
    folder: Path
    lines: list[str]


class _Kept:
    last: Kept | None = None


def keep_before_the_end(cloud: Cloud, error: BaseException) -> None:
    """Called by a cloud that ends because of an error, for example in a fixture: afterwards there is no state."""
    if isinstance(error, Exception | pytest.fail.Exception):
        _Kept.last = keep(cloud, error, "fixture")


def pytest_configure() -> None:
    Cloud.before_a_failed_end = keep_before_the_end


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and report.when != "teardown" and call.excinfo is not None:
        report.sections.append((TITLE, "\n".join(_lines(item.nodeid, call.excinfo.value))))
    return report


def _lines(test: str, error: BaseException) -> list[str]:
    kept = _Kept.last if _Kept.last is not None and _Kept.last.error is error else None
    if kept is None and Cloud.present is not None:
        kept = keep(Cloud.present, error, test)
    lines = kept.lines if kept else ["state     none: no cloud of this process was up"]
    return [*lines, *_again(test), f"guide     {GUIDE}"]


def _again(test: str) -> list[str]:
    """The command that plays the test once more, as it was played."""
    chosen = [f"{name}={shlex.quote(os.environ[name])}" for name in CHOICES if name in os.environ]
    seed = os.environ.get("LAMPLIGHTER_SEED", "none: a short run is the same each time")
    return [f"seed      {seed}", f"again     {' '.join([*chosen, '.venv/bin/pytest', shlex.quote(test)])}"]


def keep(cloud: Cloud, error: BaseException, test: str) -> Kept:
    """Writes the state of a cloud to a new folder. A cloud that does not answer is not asked again."""
    folder, texts = new_folder(test), dict[str, str]()
    for name, read in _parts(cloud, _Clients(cloud)):
        texts[name] = _text(read)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(texts[name] + "\n", "utf-8")
        if texts[name] == NO_ANSWER:
            break
    return Kept(error, folder, _summary(cloud, folder, texts))


def _parts(cloud: Cloud, clients: "_Clients") -> Iterator[tuple[str, Callable[[], object]]]:
    """The files of the folder, and what reads each."""
    yield "ledger.json", lambda: list(_ledger(cloud, clients))
    for pool in cloud.lab.pools:
        yield f"timeline/{pool}.txt", partial(_timeline, cloud, clients, pool)
    for name in _names(clients):
        yield f"logs/{name}.log", partial(cloud.logs, name)
    for name, reader in clients.readers().items():
        yield f"aws/{name}.json", reader
    yield "status.txt", partial(_verb, cloud, "status")
    for pool in cloud.lab.pools:
        yield f"why/{pool}.txt", partial(_verb, cloud, "why", pool)
    for kind, path in LISTS.items():
        yield f"kubernetes/{kind}.json", partial(_listed, cloud, path)


def _summary(cloud: Cloud, folder: Path, texts: Mapping[str, str]) -> list[str]:
    where = folder.relative_to(ROOT)
    lines = [
        f"instant   {cloud.clock.now().isoformat(timespec='seconds')}, by the lab's clock",
        f"state     {where} (the newest {NEWEST} failures stay)",
        f"logs      {where}/logs: {sum(name.startswith('logs/') for name in texts)} functions",
    ]
    for name in sorted(name for name in texts if name.startswith("timeline/")):
        told = texts[name].splitlines()
        lines += [f"timeline  of pool {Path(name).stem}, from {where}/{name}"]
        lines += [f"  {line}" for line in told[-TIMELINE_LINES:]] or ["  nothing happened"]
    items = _short(texts["ledger.json"])
    lines += [f"ledger    {len(items)} items, from {where}/ledger.json"]
    return lines + [f"  {item}" for item in items[:LEDGER_LINES]]


def _short(ledger: str) -> list[str]:
    """One line for each item, first those of pools and leases; the timeline has the audit trail."""
    with suppress(ValueError):
        items = [item for item in json.loads(ledger) if not str(item.get("sk", "")).startswith("AUDIT")]
        return [
            " ".join(f"{key}={value}" for key, value in item.items() if isinstance(value, str | int))[:160]
            for item in items
        ]
    return [ledger]


class _Clients:
    """AWS with the account's own key. No call waits for a cloud that does not answer."""

    def __init__(self, cloud: Cloud) -> None:
        self._session = boto3.session.Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=cloud.lab.region)
        self._endpoint = cloud.aws.endpoint

    def of(self, service: str) -> Any:
        limits = Config(
            connect_timeout=PART_SECONDS, read_timeout=PART_SECONDS, retries={"total_max_attempts": 1}
        )
        return self._session.client(service, endpoint_url=self._endpoint, config=limits)  # type: ignore[call-overload]

    def readers(self) -> dict[str, Callable[[], object]]:
        return {
            "instances": lambda: self.of("ec2").describe_instances()["Reservations"],
            "groups": lambda: self.of("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"],
            "schedules": lambda: self.of("scheduler").list_schedules()["Schedules"],
            "stacks": lambda: self.of("cloudformation").describe_stacks()["Stacks"],
            "workflows": lambda: list(self._executions()),
        }

    def _executions(self) -> Iterator[object]:
        states = self.of("stepfunctions")
        for machine in states.list_state_machines()["stateMachines"]:
            for run in states.list_executions(stateMachineArn=machine["stateMachineArn"])["executions"]:
                events = states.get_execution_history(executionArn=run["executionArn"], reverseOrder=True)
                yield {**run, "latest events": events["events"][:50]}


def _names(clients: _Clients) -> list[str]:
    with suppress(Exception):
        pages = clients.of("lambda").get_paginator("list_functions").paginate()
        return [str(function["FunctionName"]) for page in pages for function in page["Functions"]]
    return []


def _timeline(cloud: Cloud, clients: _Clients, pool: str) -> str:
    ledger = Ledger(f"{cloud.lab.name}-ledger", clients.of("dynamodb"))
    entries = ledger.audit(pool, cloud.clock.now() - REACHES_BACK)
    return "\n".join(f"{entry.at:%d %H:%M:%S} {entry.kind} {entry.what}: {entry.why}" for entry in entries)


def _ledger(cloud: Cloud, clients: _Clients) -> Iterator[Mapping[str, object]]:
    types = TypeDeserializer()
    pages = clients.of("dynamodb").get_paginator("scan").paginate(TableName=f"{cloud.lab.name}-ledger")
    for item in (item for page in pages for item in page["Items"]):
        yield {name: types.deserialize(value) for name, value in sorted(item.items())}


def _listed(cloud: Cloud, path: str) -> object:
    return cloud.control_plane.admin().get(path)["items"]


def _verb(cloud: Cloud, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        env={**os.environ, **cloud.played()},
        capture_output=True,
        text=True,
        check=False,
        timeout=PART_SECONDS,
    )
    return done.stdout + done.stderr


def _text(read: Callable[[], object]) -> str:
    try:
        found = read()
    except (ReadTimeoutError, ConnectTimeoutError, TimeoutError, subprocess.TimeoutExpired):
        return NO_ANSWER
    except Exception as error:  # noqa: BLE001 -- whatever fails, the other parts are read
        return f"not known: {type(error).__name__}: {error}"
    return found.rstrip() if isinstance(found, str) else json.dumps(found, indent=1, default=str)


def new_folder(test: str) -> Path:
    """A folder for this failure, by its number. Older ones than the newest few are deleted."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folders = sorted(FOLDER.iterdir())
    for old in folders[: max(0, len(folders) + 1 - NEWEST)]:
        shutil.rmtree(old, ignore_errors=True)
    name = "".join(letter if letter.isalnum() else "-" for letter in test.partition("scenarios/")[2])
    first = 1 + max((int(folder.name[:DIGITS]) for folder in folders), default=0)
    for number in count(first):  # another process may have taken the first
        folder = FOLDER / f"{number:0{DIGITS}}-{name[:100]}"
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError("numbers do not end")
