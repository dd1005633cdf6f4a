"""The file of the how-to for JupyterHub: one lease for all servers, whatever starts and stops at once."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from cli.reference import event_schemas
from lamplighter.domain.events.lab_event import KINDS
from tests.builders import jupyterhub
from tests.builders.jupyterhub import FILES, Hub

BEGINS = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
SERVER_SECONDS = 3 * 3600


class Lab:
    """The lab as the hub's two clients see it: requests in, answers in the logs."""

    def __init__(self) -> None:
        self.now = BEGINS.timestamp()
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.leases: dict[str, str] = {}
        self.refuses: dict[str, str] = {}
        self.code = "any"
        self.opens = "pool-open"

    def put_events(self, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803 (boto3's word)
        [entry] = Entries
        request, detail = entry["DetailType"], json.loads(entry["Detail"])
        document = {"detail-type": request, "detail": detail}
        assert Draft202012Validator(event_schemas.requests()).is_valid(document), document
        event = f"event-{len(self.requests)}"
        self.requests.append((request, detail))
        if request in self.refuses:
            self._tell(
                "lease-refused", in_reply_to=event, reason={"text": self.refuses[request], "code": self.code}
            )
            return {"FailedEntryCount": 0, "Entries": [{"EventId": event}]}
        lease = self.leases.setdefault(detail["token"], f"lease-{len(self.leases)}")
        about = {"in_reply_to": event, "lease": lease, "reason": {"text": "as asked"}}
        if request == "open":
            ends = datetime.fromtimestamp(self.now, UTC) + timedelta(seconds=detail["for_seconds"])
            self._tell("lease-granted", closes=ends.isoformat().replace("+00:00", "Z"), **about)
            self._tell(self.opens, **about)
        elif request == "extend":
            self._tell("extended", closes=detail["until"], **about)
        else:
            self._tell("pool-closing", **about)
        return {"FailedEntryCount": 0, "Entries": [{"EventId": event}]}

    def _tell(self, kind: str, **detail: object) -> None:
        assert kind in {each.TYPE for each in KINDS}
        self.told.append((kind, detail))

    def get_paginator(self, _: str) -> "Lab":
        return self

    def paginate(self, *, filterPattern: str, **_: object) -> "Found":  # noqa: N803 (boto3's word)
        return Found(
            [
                {"message": json.dumps({"detail_type": kind, "detail": detail})}
                for kind, detail in self.told
                if f'"{kind}"' in filterPattern
                and any(f'{key} = "{value}"' in filterPattern for key, value in detail.items())
            ]
        )

    async def pause(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    async def killed(self, _: float) -> None:
        raise Killed

    def asked(self) -> list[str]:
        return [request for request, _ in self.requests]


class Killed(BaseException):
    """The process of the hub ends while it waits."""


class Found:
    def __init__(self, events: list[dict[str, str]]) -> None:
        self._events = events

    def build_full_result(self) -> dict[str, Any]:
        return {"events": self._events}


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab()
    monkeypatch.setattr(boto3, "client", lambda _: made)
    return made


def hub(lab: Lab) -> Hub:
    module = jupyterhub.gpu_pool()
    bus = module.Bus("gpu-lab", "jupyterhub.gpu", "gpu", lambda: lab.now, lab.pause)
    return Hub(module, module.GpuLease(bus, SERVER_SECONDS))


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_two_servers_that_start_at_once_share_a_lease_and_the_last_one_closes_it(lab: Lab) -> None:
    async def story() -> None:
        running = hub(lab)
        ann, bob = await asyncio.gather(running.start("ann"), running.start("bob"))
        assert lab.asked() == ["open"]

        await running.stop(ann)
        assert lab.asked() == ["open"]
        await running.stop(bob)
        assert lab.asked() == ["open", "close"]
        assert lab.requests[0][1]["token"] == lab.requests[1][1]["token"]

    play(story())


def test_a_server_of_another_profile_asks_for_nothing(lab: Lab) -> None:
    async def story() -> None:
        running = hub(lab)
        await running.stop(await running.start("ann", "cpu"))
        assert lab.asked() == []

    play(story())


def test_a_server_that_starts_while_the_last_one_stops_gets_a_lease_of_its_own(lab: Lab) -> None:
    async def story() -> None:
        running = hub(lab)
        ann = await running.start("ann")
        await asyncio.gather(running.stop(ann), running.start("bob"))
        assert lab.asked() == ["open", "close", "open"]
        assert len(lab.leases) == 2

    play(story())


def test_a_server_that_starts_before_the_last_one_stops_keeps_the_lease(lab: Lab) -> None:
    async def story() -> None:
        running = hub(lab)
        ann = await running.start("ann")
        await asyncio.gather(running.start("bob"), running.stop(ann))
        assert lab.asked() == ["open"]

    play(story())


@pytest.mark.parametrize(
    ("opens", "refuses", "asked"),
    [
        ("pool-open", {"open": "the budget of december is used"}, ["open"]),
        ("pool-degraded", {}, ["open", "close"]),
    ],
)
def test_a_person_reads_why_there_is_no_gpu_and_nothing_stays_open(
    lab: Lab, opens: str, refuses: dict[str, str], asked: list[str]
) -> None:
    lab.opens, lab.refuses = opens, refuses

    async def story() -> None:
        with pytest.raises(Exception) as refused:  # noqa: PT011 (the class is the file's own)
            await hub(lab).start("ann")
        reason = refuses.get("open", "as asked")
        assert refused.value.jupyterhub_message == f"No GPU: {reason}."  # type: ignore[attr-defined]
        assert lab.asked() == asked

    play(story())


def test_a_lease_lasts_longer_than_every_server_may(lab: Lab) -> None:
    async def story() -> None:
        running = hub(lab)
        await running.start("ann")
        lab.now += 2 * 3600
        await running.start("bob")
        assert lab.asked() == ["open", "extend"]
        until = datetime.fromisoformat(lab.requests[1][1]["until"]).timestamp()
        assert until > lab.now + SERVER_SECONDS

        lab.now, lab.refuses = lab.now + 2 * 3600, {"extend": "the lease may last 5h at most"}
        with pytest.raises(Exception, match="the lease may last 5h at most"):
            await running.start("eve")
        assert lab.asked() == ["open", "extend", "extend"], "the lease of the others stays"

    play(story())


def test_a_lease_that_somebody_closed_is_followed_by_a_new_one(lab: Lab) -> None:
    async def story() -> None:
        running = hub(lab)
        ann = await running.start("ann")
        lab.now += 2 * 3600
        lab.refuses, lab.code = {"extend": "it is closed; open anew"}, "lease.ended"
        bob = await running.start("bob")
        assert lab.asked() == ["open", "extend", "open"]
        assert lab.requests[0][1]["token"] != lab.requests[2][1]["token"]

        for server in (ann, bob):
            await running.stop(server)
        assert lab.asked() == ["open", "extend", "open", "close"]

    play(story())


def test_a_restarted_hub_knows_who_holds_the_lease(lab: Lab) -> None:
    async def story() -> None:
        before = hub(lab)
        ann, bob = await before.start("ann"), await before.start("bob")

        after = hub(lab)
        ann, bob = after.found(ann), after.found(bob)
        eve = await after.start("eve")
        for server in (ann, bob, eve):
            assert lab.asked() == ["open"]
            await after.stop(server)
        assert lab.asked() == ["open", "close"]

    play(story())


def test_a_hub_that_restarts_during_the_wait_closes_what_it_asked_for(lab: Lab) -> None:
    lab.opens = "warned"  # not yet open

    async def story() -> None:
        before, after = hub(lab), hub(lab)
        ann = before.server("ann")
        before.lease.bus.pause = lab.killed
        with pytest.raises(Killed):
            await ann.take_gpu()

        await after.stop(after.found(ann))
        assert lab.asked() == ["open", "close"]

    play(story())


def test_the_role_of_the_hub_may_do_what_its_file_calls_and_no_more() -> None:
    policy = json.loads((FILES / "permissions.json").read_text("utf-8"))

    assert {each["Action"] for each in policy["Statement"]} == {"events:PutEvents", "logs:FilterLogEvents"}
    assert all(each["Resource"] != "*" for each in policy["Statement"])
    [trust] = json.loads((FILES / "trust.json").read_text("utf-8"))["Statement"]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}


def test_the_values_of_the_chart_name_the_profile_and_end_servers_before_the_lease() -> None:
    values = yaml.safe_load((FILES / "values.yaml").read_text("utf-8"))
    environment = values["hub"]["extraEnv"]

    assert environment["GPU_PROFILE"] in [each["slug"] for each in values["singleuser"]["profileList"]]
    assert values["cull"]["maxAge"] <= int(environment["GPU_SERVER_SECONDS"])


def test_the_chart_runs_the_file_among_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero to JupyterHub executes it in its own configuration, whose `get_config` wants the key of a value."""
    values = yaml.safe_load((FILES / "values.yaml").read_text("utf-8"))
    for name, value in values["hub"]["extraEnv"].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "kubespawner", SimpleNamespace(KubeSpawner=jupyterhub.KubeSpawner))
    config = SimpleNamespace(JupyterHub=SimpleNamespace(), KubeSpawner=SimpleNamespace())
    code = (FILES / "gpu_pool.py").read_text("utf-8")
    exec(compile(code, "gpu_pool.py", "exec"), {"c": config, "get_config": lambda key: key})  # noqa: S102
    assert issubclass(config.JupyterHub.spawner_class, jupyterhub.KubeSpawner)
    assert callable(config.KubeSpawner.pre_spawn_hook)
    assert callable(config.KubeSpawner.post_stop_hook)
