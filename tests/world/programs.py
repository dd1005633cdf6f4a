"""Programs on the lab's bus: what they put there, honestly, twice, late, out of order or forged.

`training` may open, extend and close a little on every pool; `jobs` may open and close on pool gpu. An event arrives
as EventBridge made it: with an id, the account, the source and the time. Nobody else can put one, but a rule that is
wrong, a replay or a mistake in the bus's policy could: those are forged here.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.world.world import World

Json = dict[str, Any]
TRAINING, JOBS = "ci.training", "night.jobs"
ACCOUNTS = {TRAINING: "111122223333", JOBS: "123456789012"}
GIVERS = {TRAINING: "training (event)", JOBS: "jobs (event)"}
OWNERS = {TRAINING: "ci", JOBS: "jobs"}
MOST, LONGEST = 2, timedelta(hours=2)
MAY = {GIVERS[TRAINING]: {"open", "extend", "close"}, GIVERS[JOBS]: {"open", "close"}}
POOLS = {GIVERS[TRAINING]: {"gpu", "big"}, GIVERS[JOBS]: {"gpu"}}
GOOD_FOR = timedelta(minutes=15)
EVENTS: Json = {
    "allow": {
        "training": {
            "source": TRAINING,
            "principals": [f"arn:aws:iam::{ACCOUNTS[TRAINING]}:role/ci"],
            "max_nodes": MOST,
            "longest": "2h",
            "owner": "ci",
        },
        "jobs": {
            "source": JOBS,
            "principals": [f"arn:aws:iam::{ACCOUNTS[JOBS]}:user/jobs"],
            "may": ["open", "close"],
            "pools": ["gpu"],
        },
    }
}
TOO_LONG: Json = {"detail": {"for_seconds": 5 * 3600}}
"""Longer than LONGEST. Where a curfew ends the lease within LONGEST, it is granted until then, and rightly."""
FORGED: tuple[Json, ...] = (
    {"source": "ci.unknown"},
    {"source": "lamplighter.gpu-lab"},
    {"source": JOBS},
    {"account": "999999999999"},
    {"account": None},
    {"time": timedelta(minutes=-16)},
    {"time": timedelta(days=2)},
    {"time": None},
    {"id": None},
    {"id": "not an id"},
    {"detail-type": "keep"},
    {"detail-type": "Open"},
    {"detail": {"owner": "boss"}},
    {"detail": {"by": "boss", "for_lab": True}},
    {"detail": {"nodes": 99}},
    {"detail": {"nodes": 3}},
    {"detail": {"nodes": True}},
    TOO_LONG,
    {"detail": {"opens": "2026-11-01T00:00:00Z"}},
    {"detail": {"allowance": None}},
    {"detail": {"pool": "*"}},
    {"detail": {"because": "x" * 20_000}},
)
"""What is wrong about an open of somebody who wants more than is theirs."""


@dataclass(frozen=True)
class Request:
    """One event that was put."""

    event: Json
    token: str | None
    forged: bool = False

    @property
    def pool(self) -> str:
        detail = self.event.get("detail")
        return str(detail.get("pool")) if isinstance(detail, dict) else ""

    @property
    def command(self) -> str:
        """The id of the command that it gives."""
        return command(self.event["source"], self.pool, self.event["detail-type"], self.token) or str(
            self.event["id"]
        )

    @property
    def lease(self) -> str:
        """The lease that an open of this makes; of other verbs the one that the open with its token made."""
        opens = command(self.event["source"], self.pool, "open", self.token) or self.command
        return f"event-{hashlib.sha256(opens.encode()).hexdigest()[:8]}"


def command(source: str, pool: str, verb: str, token: str | None) -> str | None:
    """The id of the command of a token."""
    return (
        None
        if token is None
        else f"event-{verb}-{hashlib.sha256(f'{source} {pool} {token}'.encode()).hexdigest()[:16]}"
    )


@dataclass
class Programs:
    """All that put events; `requests` are those of this history."""

    world: "World"
    requests: list[Request] = field(default_factory=list)

    def put(
        self, verb: str, detail: Json, source: str = TRAINING, *, ago: timedelta = timedelta(0)
    ) -> Request:
        """A program puts an event, some time ago."""
        made = self._event(verb, detail, source, self.world.now - ago)
        return self._sent(Request(made, detail.get("token")))

    def again(self, number: int) -> Request | None:
        """An event that was put before is delivered once more."""
        if not self.requests:
            return None
        request = self.requests[number % len(self.requests)]
        self.world.bus.deliver(request.event)
        return request

    def forge(self, detail: Json, wrong: Json) -> Request:
        """An open comes that nobody who may has put."""
        detail = {**detail, "token": f"forged-{len(self.requests)}", **wrong.get("detail", {})}
        made = self._event("open", detail, TRAINING, self.world.now)
        for key in wrong.keys() - {"detail", "time"}:
            made[key] = wrong[key]
        if "time" in wrong:
            made["time"] = None if wrong["time"] is None else _written(self.world.now + wrong["time"])
        return self._sent(Request(made, detail["token"], forged=wrong is not TOO_LONG))

    def _event(self, verb: str, detail: Json, source: str, at: datetime) -> Json:
        return {
            "version": "0",
            "id": f"00000000-0000-4000-8000-{len(self.requests):012}",
            "detail-type": verb,
            "source": source,
            "account": ACCOUNTS[source],
            "time": _written(at),
            "region": "ap-northeast-2",
            "resources": [],
            "detail": detail,
        }

    def _sent(self, request: Request) -> Request:
        self.requests.append(request)
        self.world.bus.deliver(request.event)
        return request


def _written(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
