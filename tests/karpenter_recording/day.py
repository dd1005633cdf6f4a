"""The events of a static NodePool, in the order in which they are played: each is a function of what people do."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from local.cloud import Cloud
from tests.karpenter_recording.watching import CLAIMS, EVERY, Watch, await_

POOL = "gpu"
#: Real seconds that Karpenter may take for anything but its longest waits.
SOON, LONG = 180.0, 420.0


@dataclass
class Day:
    """A cloud whose functions are deleted, so that nobody but this file acts on the NodePool."""

    cloud: Cloud
    watch: Watch

    @property
    def name(self) -> str:
        return self.cloud.lab.node_pool_name(POOL)

    def bar(self, *, shut: bool) -> None:
        at = self.cloud.clock.now() + timedelta(hours=-1 if shut else 8)
        self.watch.note("the bar is shut" if shut else "the bar is open")
        address = f"/api/v1/namespaces/lamplighter/configmaps/{self.cloud.lab.name}-{POOL}"
        self.watch.api.merge(address, {"data": {"notAfter": f"{at:%Y-%m-%dT%H:%M:%SZ}"}})

    def write(self, **spec: object) -> None:
        for key, value in spec.items():
            self.watch.note(f"writes {key} {value['nodes'] if isinstance(value, dict) else value}")
        self.watch.api.merge(f"/apis/karpenter.sh/v1/nodepools/{self.name}", {"spec": spec})

    def claims(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.watch.api.get(CLAIMS)["items"]
        return found

    def count(self, what: str) -> int:
        return sum(1 for moment in self.watch.moments if moment["what"] == what)

    def until(self, what: str, times: int = 1, within: float = SOON, every: float = EVERY) -> None:
        """Until it was seen so often in this event."""
        self.watched(lambda: self.count(what) >= times, f"{what} x {times}", within, every)

    def watched(
        self, seen: Callable[[], bool], what: str, within: float = SOON, every: float = EVERY
    ) -> None:
        if not await_(self.watch, self.cloud.clock.sleep, seen, within, every):
            self.watch.note(f"NOT SEEN: {what}")

    def look_on(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.watched(lambda: time.monotonic() > end, "the end of the look", seconds + SOON)

    def empty(self) -> None:
        self.watched(lambda: not self.claims(), "no claim", LONG)


def shut_bar(day: Day) -> None:
    """Scaled without a lease: refused again and again, with growing pauses; 0 and then N cuts the pause short."""
    day.bar(shut=True)
    day.write(replicas=1)
    day.until("refused by the bar", 13)
    day.bar(shut=False)
    # The next try would be ten seconds after the last one.
    day.look_on(6)
    day.write(replicas=0)
    day.write(replicas=1)
    day.until("GPU")


def extend(day: Day) -> None:
    """The bar moves, and nothing else happens."""
    day.bar(shut=False)
    day.look_on(20)


def grow(day: Day) -> None:
    day.write(replicas=2)
    day.until("GPU")


def shrink(day: Day) -> None:
    """One very node: the limit, the claim, the size; no other node comes."""
    claim = min(day.claims(), key=lambda one: one["metadata"]["creationTimestamp"])
    day.write(limits={"nodes": "1"})
    day.watch.note("deletes the oldest claim")
    day.watch.api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
    day.write(replicas=1)
    day.until("gone")
    day.write(limits={"nodes": "2"})
    day.look_on(75)


def interruption(day: Day) -> None:
    """EC2 warns that it takes the instance back: the claim leaves, and another one comes."""
    [claim] = day.claims()
    day.watch.note("EC2 warns")
    day.cloud.aws.moto_additions.instance_events.interrupt(claim["status"]["providerID"].rpartition("/")[2])
    day.until("gone", within=LONG)
    day.until("GPU", within=LONG)


def close(day: Day) -> None:
    day.bar(shut=True)
    day.write(replicas=0)
    day.empty()


def close_beside_a_guarded_pod(day: Day) -> None:
    """A pod that wants no disruption holds its node until the grace of the NodePool ends."""
    day.bar(shut=False)
    day.write(replicas=1)
    day.until("GPU")
    [claim] = day.claims()
    pods = "/api/v1/namespaces/default/pods"
    container = {"name": "main", "image": "busybox", "command": ["sleep", "infinity"]}
    day.watch.api.create(
        pods,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "guarded", "annotations": {"karpenter.sh/do-not-disrupt": "true"}},
            "spec": {
                "nodeName": claim["status"]["nodeName"],
                "containers": [container],
                "terminationGracePeriodSeconds": 5,
            },
        },
    )
    running = "Running"
    day.watched(
        lambda: day.watch.api.get(f"{pods}/guarded")["status"].get("phase") == running, "the pod runs"
    )
    day.bar(shut=True)
    day.write(replicas=0)
    day.empty()


def shortage(day: Day) -> None:
    """Claims come and go while EC2 has none; its end is noticed minutes later."""
    day.cloud.fault_on("no-capacity", POOL)
    day.bar(shut=False)
    day.write(replicas=1)
    day.look_on(100)
    day.watch.note("EC2 has instances again")
    day.cloud.fault_off("no-capacity", POOL)
    day.until("Launched", within=LONG)
    close(day)


def quota(day: Day) -> None:
    """The same reason in the event, another code in its words."""
    day.cloud.fault_on("vcpu-quota")
    day.bar(shut=False)
    day.write(replicas=1)
    day.until("InsufficientCapacityError")
    day.cloud.fault_off("vcpu-quota")
    close(day)


def denial(day: Day) -> None:
    """One claim stays, and says Unauthorized, until IAM allows its launch."""
    day.cloud.fault_on("launch-denied", POOL)
    day.bar(shut=False)
    day.write(replicas=1)
    day.until("Unauthorized")
    day.look_on(20)
    day.watch.note("IAM allows it again")
    day.cloud.fault_off("launch-denied", POOL)
    day.until("Launched", within=LONG)
    close(day)


def never_registers(day: Day) -> None:
    """After a quarter of an hour the claim is given up, and the next one comes: all of them paid."""
    day.cloud.fault_on("node-not-joined", POOL)
    day.bar(shut=False)
    day.write(replicas=1)
    day.until("created", 2, within=1200, every=10)
    day.cloud.fault_off("node-not-joined", POOL)
    close(day)


Events = Mapping[str, Callable[[Day], None]]
EVENTS: Events = {
    "shut-bar": shut_bar,
    "extend": extend,
    "grow": grow,
    "shrink": shrink,
    "interruption": interruption,
    "close": close,
    "close-beside-a-guarded-pod": close_beside_a_guarded_pod,
    "denial": denial,
    "shortage": shortage,
    "quota": quota,
}
#: Played only when asked for by name: it takes half an hour.
SLOW: Events = {"never-registers": never_registers}
