"""Watches a NodePool's claims, nodes and events and Karpenter's log, and notes each change with its real second."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from local.kubernetes.api import ApiError, KubernetesApi, Object

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
PODS = "/api/v1/namespaces/kube-system/pods"
STAGES = ("Launched", "Registered", "Initialized", "Drained", "VolumesDetached", "InstanceTerminating")
#: Seconds between two reads of Karpenter's log. Objects are watched.
EVERY = 0.25
DENIED = "denied request: lamplighter"
#: The codes and words by which a refused launch is told apart; the rest of a text has names and numbers.
WORDS = re.compile(
    r"InsufficientInstanceCapacity|VcpuLimitExceeded|all requested instance types were unavailable during launch"
)


@dataclass
class Watch:
    """`moments` are what was seen since the last `begin`, in order."""

    api: KubernetesApi
    moments: list[Object] = field(default_factory=list)
    _begun: float = 0.0
    _claims: dict[str, int] = field(default_factory=dict)
    _known: set[tuple[str, ...]] = field(default_factory=set)
    _read: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """A new event: its moments count from now."""
        with self._lock:
            self.moments, self._begun = [], time.monotonic()

    def note(self, what: str, **more: object) -> None:
        """Something that was done or seen now."""
        with self._lock:
            self.moments.append({"at": round(time.monotonic() - self._begun, 1), "what": what, **more})

    @contextmanager
    def watching(self) -> Iterator[None]:
        stop = threading.Event()
        followed = ((CLAIMS, self._claim), (NODES, self._node), (EVENTS, self._event))
        threads = [
            threading.Thread(target=self.api.follow, args=(path, seen, stop), daemon=True)
            for path, seen in followed
        ]
        for thread in threads:
            thread.start()
        yield
        stop.set()
        self.api.hang_up()

    def listen(self) -> None:
        """Notes what Karpenter's pods have printed since the last time: only the refusals of admission."""
        for pod in self.api.get(f"{PODS}?labelSelector=app.kubernetes.io/name=karpenter")["items"]:
            name = pod["metadata"]["name"]
            try:
                text = self.api.text(f"{PODS}/{name}/log")
            except ApiError:
                continue
            news, self._read[name] = text[self._read.get(name, 0) :], len(text)
            for line in news.splitlines():
                if DENIED in line:
                    self.note("refused by the bar")

    def _claim(self, change: str, claim: Object) -> None:
        uid = claim["metadata"]["uid"]
        number = self._claims.setdefault(uid, len(self._claims) + 1)

        def once(what: str, **more: object) -> None:
            if (uid, what) not in self._known:
                self._known.add((uid, what))
                self.note(what, claim=number, **more)

        once("created")
        for condition in claim.get("status", {}).get("conditions", []):
            if condition["type"] in STAGES and condition["status"] == "True":
                once(condition["type"])
            if condition["type"] == "Launched" and condition["reason"] == "Unauthorized":
                once("Unauthorized")
        if "deletionTimestamp" in claim["metadata"]:
            once("leaving")
        if change == "DELETED":
            once("gone")

    def _node(self, change: str, node: Object) -> None:
        if "karpenter.sh/nodepool" not in node["metadata"].get("labels", {}):
            return
        uid = node["metadata"]["uid"]
        gpus = node["status"].get("allocatable", {}).get("nvidia.com/gpu", "0")
        states = {"node": True, "GPU": gpus != "0", "node gone": change == "DELETED"}
        for what, true in states.items():
            if true and (uid, what) not in self._known:
                self._known.add((uid, what))
                self.note(what)

    def _event(self, change: str, event: Object) -> None:
        if change == "DELETED" or event.get("involvedObject", {}).get("kind") != "NodeClaim":
            return
        key = (event["metadata"]["uid"], str(event.get("count")))
        found = WORDS.search(event.get("message", ""))
        if event["reason"] in {"InsufficientCapacityError", "SpotInterrupted"} and key not in self._known:
            self._known.add(key)
            self.note(event["reason"], says=found[0] if found else "")


def await_(
    watch: Watch,
    sleep: Callable[[float], None],
    seen: Callable[[], bool],
    within: float,
    every: float = EVERY,
) -> bool:
    """Lets time pass until something is seen; False after `within` real seconds."""
    deadline = time.monotonic() + within
    while not seen():
        if time.monotonic() > deadline:
            return False
        sleep(every)
        watch.listen()
    return True


def text_of(recording: Object) -> str:
    """One moment a line, so that two recordings can be compared by eye."""
    head = json.dumps({key: value for key, value in recording.items() if key != "events"}, indent=1)
    events = ",\n".join(
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(moment)}" for moment in moments) + "\n  ]"
        for name, moments in recording["events"].items()
    )
    return f'{head[:-2]},\n "events": {{\n{events}\n }}\n}}\n'
