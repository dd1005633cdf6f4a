"""A configuration file of JupyterHub: servers of one profile get the GPUs of a pool of Lamplighter.

The first server opens the pool by an event and waits for proven GPUs, further ones share its lease, the last one closes
it. A hub is one process, and changes of the lease wait for each other: two servers never open or close at once.
"""

import asyncio
import json
import os
import time
import uuid
from datetime import UTC, datetime

import boto3
from botocore.exceptions import BotoCoreError, ClientError


class NoGpu(Exception):
    """The server does not start. JupyterHub shows the message to the person."""

    def __init__(self, reason):
        self.jupyterhub_message = f"No GPU: {reason}."
        super().__init__(self.jupyterhub_message)


class Bus:
    """The bus of the lab: puts requests, and reads the answers in the logs of the two functions that tell them."""

    def __init__(self, lab, source, pool, now=time.time, pause=asyncio.sleep):
        self.lab, self.source, self.pool, self.now, self.pause = lab, source, pool, now, pause
        self.events, self.logs = boto3.client("events"), boto3.client("logs")

    async def ask(self, request, *answers, **detail):
        """Puts a request, and returns the lab's answer to it as (detail-type, detail)."""
        entry = {
            "EventBusName": self.lab,
            "Source": self.source,
            "DetailType": request,
            "Detail": json.dumps({"pool": self.pool, **detail}),
        }
        since = self.now()
        put = await self._call(self.events.put_events, Entries=[entry])
        if put["FailedEntryCount"]:
            raise NoGpu(f"the lab takes no event of this hub ({put['Entries'][0]['ErrorCode']})")
        return await self.heard("in_reply_to", put["Entries"][0]["EventId"], answers, since, within=300)

    async def heard(self, key, value, types, since, within):
        """The first event of these types with this value in its detail, once the lab tells it."""
        wanted = " || ".join(f'$.detail_type = "{name}"' for name in types)
        pattern = f'{{ $.message = "event told" && $.detail.{key} = "{value}" && ({wanted}) }}'
        until = self.now() + within
        while self.now() < until:
            for function in ("events", "lifecycle"):
                pages = self.logs.get_paginator("filter_log_events").paginate(
                    logGroupName=f"/aws/lambda/{self.lab}-{function}",
                    filterPattern=pattern,
                    startTime=int((since - 60) * 1000),
                )
                for told in (await self._call(pages.build_full_result))["events"]:
                    line = json.loads(told["message"])
                    return line["detail_type"], line["detail"]
            await self.pause(10)
        raise NoGpu("the lab did not answer in time")

    async def _call(self, call, **given):
        try:
            return await asyncio.to_thread(call, **given)
        except (BotoCoreError, ClientError) as error:
            raise NoGpu(f"the hub cannot ask the lab ({error})") from error


class GpuLease:
    """The one lease of all servers. It ends `seconds` after the last start or later: no server may live longer."""

    def __init__(self, bus, seconds, warm_up=3600):
        self.bus, self.seconds, self.warm_up = bus, seconds, warm_up
        self.servers = set()
        self.held = {}
        self.opening = None
        self.change = asyncio.Lock()

    async def hold(self, server):
        """Opens or extends the lease, and returns what a restarted hub must know of it."""
        async with self.change:
            now = self.bus.now()
            if self.held.get("closes", 0) < now + self.seconds and not await self._extended(now):
                await self._open(now)
            self.servers.add(server)
            return dict(self.held)

    async def proven(self):
        """Returns when the GPUs are proven; all servers wait for the same answer."""
        if self.opening is None:
            self.opening = asyncio.create_task(self._await_open(self.held["lease"], self.held["since"]))
        await asyncio.shield(self.opening)

    async def leave(self, server):
        """Closes after the last server. The next one opens only when the lab has taken the close."""
        async with self.change:
            self.servers.discard(server)
            if self.held and not self.servers:
                try:
                    await self._ask("close", "pool-closing")
                finally:
                    self.held, self.opening = {}, None

    def resume(self, server, held):
        """After a restart of the hub: a server that was there before it."""
        self.servers.add(server)
        self.held = max(self.held, held, key=lambda each: each.get("closes", 0))

    async def _open(self, now):
        # A request without an answer is put again with its token, so it opens one lease. A close ends it however late.
        if not self.held or "closes" in self.held:
            self.held, self.opening = {"token": f"hub-{uuid.uuid4()}", "since": now}, None
        length = self.seconds + self.warm_up
        told, detail = await self._ask("open", "lease-granted", for_seconds=length)
        if told == "lease-refused":
            self.held = {}
            raise NoGpu(detail["reason"]["text"])
        self.held |= {"lease": detail["lease"], "closes": instant(detail["closes"])}

    async def _extended(self, now):
        """False where there is no lease, or somebody has closed it."""
        if "closes" not in self.held:
            return False
        until = datetime.fromtimestamp(now + self.seconds + 60, UTC).isoformat(timespec="seconds")
        told, detail = await self._ask("extend", "extended", until=until)
        if told == "extended":
            self.held["closes"] = instant(detail["closes"])
        elif detail["reason"]["code"] != "lease.ended":
            raise NoGpu(detail["reason"]["text"])
        return told == "extended"

    async def _ask(self, request, answer, **detail):
        return await self.bus.ask(request, answer, "lease-refused", token=self.held["token"], **detail)

    async def _await_open(self, lease, since):
        types = ("pool-open", "pool-degraded", "pool-closing", "pool-closed")
        told, detail = await self.bus.heard("lease", lease, types, since, self.warm_up)
        if told != "pool-open":
            raise NoGpu(detail["reason"]["text"])


def instant(written):
    return datetime.fromisoformat(written).timestamp()


def gpu_spawner(base, lease, profile):
    """The spawner `base`, whose servers of the profile hold the lease."""

    class GpuSpawner(base):
        held = None

        async def take_gpu(self):
            """The hook before a start. What it holds is in the hub's database before the wait begins."""
            if self.user_options.get("profile") == profile:
                self.held = await lease.hold(self.key())
                self.orm_spawner.state = self.get_state()
                self.db.commit()
                await lease.proven()

        async def return_gpu(self):
            """The hook after a stop, and after a start that failed."""
            if self.user_options.get("profile") == profile or self.held:
                await lease.leave(self.key())

        def key(self):
            return f"{self.user.name}/{self.name}"

        def get_state(self):
            return {**super().get_state(), **({"gpu": self.held} if self.held else {})}

        def load_state(self, state):
            super().load_state(state)
            self.held = state.get("gpu")
            if self.held:
                lease.resume(self.key(), self.held)

        def clear_state(self):
            super().clear_state()
            self.held = None

    return GpuSpawner


# JupyterHub gives `c`. The chart runs this file among its own names, where `get_config` is another function
# (jupyterhub/files/hub/jupyterhub_config.py of zero-to-jupyterhub-k8s).
config = globals().get("c")
if config is not None:
    from kubespawner import KubeSpawner

    bus = Bus(os.environ["GPU_LAB"], os.environ["GPU_SOURCE"], os.environ["GPU_POOL"])
    seconds = int(os.environ["GPU_SERVER_SECONDS"])
    config.JupyterHub.spawner_class = gpu_spawner(
        KubeSpawner, GpuLease(bus, seconds), os.environ["GPU_PROFILE"]
    )
    config.KubeSpawner.pre_spawn_hook = lambda spawner: spawner.take_gpu()
    config.KubeSpawner.post_stop_hook = lambda spawner: spawner.return_gpu()
