"""The third act: a short evening on a NodePool of the real Karpenter, in real time, and a size without a lease.

This file has the order of events; karpenter_laws.py judges law 1, which the API server itself holds here.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamplighter.domain.audit.entry import TIMELINE
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.errors import OutsideFailed
from lamplighter.values.instant import written
from local.demo import karpenter_laws
from local.demo.play import Play, Stage
from local.demo.script import Act, ask_too_much, command_line, replay
from local.kubernetes.karpenter.controller import built_controller

START = datetime(2027, 3, 27, 10, 58, tzinfo=UTC)  # Saturday 19:58 in Seoul
OPENS = datetime(2027, 3, 27, 11, 0, tzinfo=UTC)
CLOSES = datetime(2027, 3, 27, 11, 7, tzinfo=UTC)
MORE = timedelta(minutes=2)
OPEN_WITHIN = timedelta(minutes=15)
ZERO_WITHIN = timedelta(minutes=25)
ANSWERED_WITHIN = timedelta(minutes=8)
POOLS, CLAIMS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims"
PODS = "/api/v1/namespaces/kube-system/pods"
STAGES = ("Launched", "Registered", "Initialized")
REFUSAL = "lamplighter: no lease for NodePool"


class KarpenterDay(Play):
    """The real controller starts and ends the nodes. Its timers are real, so time flows as on a wall."""

    lab = Path(__file__).with_name("karpenter.yaml")
    start = START
    real_time = True

    def play(self) -> dict[str, Any]:
        """Plays the act. Raises OutsideFailed on a machine without Karpenter's program."""
        if built_controller() is None:
            raise OutsideFailed("no Karpenter on this machine: `make karpenter` builds its controller, once")
        return super().play()

    def perform(self, stage: Stage) -> None:
        self._claims: dict[str, dict[str, Any]] = {}
        self._scaled: datetime | None = None
        self._back: datetime | None = None
        self._refused = False
        self.observers.append(lambda at: self._note_claims(stage, at))
        self._await(
            stage, "the window open and proven", lambda: self._is(LeaseState.OPEN), OPENS + OPEN_WITHIN
        )
        self._act(
            stage,
            "instructor",
            "command",
            "extends the evening by 2 minutes from the command line",
            self._extend,
        )
        self._act(
            stage,
            "a retry",
            "command",
            "delivers a command to open that expired an hour ago",
            lambda stage: replay(stage.doors, stage.pool, OPENS, self.answers),
        )
        end = stage.cloud.clock.now() + ZERO_WITHIN
        self._await(stage, "proof of zero", lambda: self._over(stage), max(CLOSES + ZERO_WITHIN, end))
        self._act(
            stage,
            "instructor",
            "command",
            "asks for 2 nodes for 3 hours, more than the budget has left",
            lambda stage: ask_too_much(stage.doors, stage.pool, self.answers),
        )
        self._act(
            stage, "somebody", "breach", "scales the NodePool to 1 by hand, outside any lease", self._by_hand
        )
        scaled = stage.cloud.clock.now()
        self._await(
            stage, "the API server's refusal", lambda: self._is_refused(stage), scaled + ANSWERED_WITHIN
        )
        self._await(stage, "the guard's answer", lambda: self._is_set_back(stage), scaled + ANSWERED_WITHIN)

    def report(self, stage: Stage) -> dict[str, Any]:
        day = self.day(stage)
        by_hand = karpenter_laws.ByHand(self._scaled, refused=self._refused, back=self._back)
        return self.document(day, karpenter_laws.judge(day, by_hand), TIMELINE) | {
            "act": "karpenter",
            "claims": list(self._claims.values()),
        }

    def _act(self, stage: Stage, who: str, kind: str, what: str, do: Callable[[Stage], None]) -> None:
        self.do(Act(stage.cloud.clock.now(), who, what, kind, lambda: do(stage)))

    def _await(self, stage: Stage, what: str, seen: Callable[[], bool], end: datetime) -> None:
        if not self.until(stage, seen, end):
            self.answers.failures.append(f"not seen by {end:%H:%M} UTC: {what}")

    def _is(self, state: LeaseState) -> bool:
        last = self.watch.samples[-1:]
        return any(lease.state is state for sample in last for lease in sample.leases)

    def _extend(self, stage: Stage) -> None:
        words = ("extend", stage.pool.name, f"{MORE // timedelta(minutes=1)}m", "--json")
        done = command_line(stage.doors, *words)
        if done.returncode != 0:
            self.answers.failures.append(
                f"the extension was not granted: {(done.stdout + done.stderr).strip()}"
            )

    def _over(self, stage: Stage) -> bool:
        closed = any(entry.kind == "receipt" for entry in self.watch.entries)
        gone = not any(sample.instances or sample.desired for sample in self.watch.samples[-1:])
        return closed and gone and not stage.look.running()

    def _by_hand(self, stage: Stage) -> None:
        self._scaled = stage.cloud.clock.now()
        api = stage.cloud.control_plane.admin()
        api.merge(f"{POOLS}/{stage.pool.nodegroup}", {"spec": {"replicas": 1}})

    def _is_refused(self, stage: Stage) -> bool:
        api = stage.cloud.control_plane.admin()
        pods = api.get(f"{PODS}?labelSelector=app.kubernetes.io/name=karpenter")["items"]
        self._refused = any(REFUSAL in api.text(f"{PODS}/{pod['metadata']['name']}/log") for pod in pods)
        return self._refused

    def _is_set_back(self, stage: Stage) -> bool:
        pool = stage.cloud.control_plane.admin().get(f"{POOLS}/{stage.pool.nodegroup}")
        if pool["spec"]["replicas"] == 0:
            self._back = stage.cloud.clock.now()
        return self._back is not None

    def _note_claims(self, stage: Stage, at: datetime) -> None:
        """When each NodeClaim reached each stage, by Karpenter's own conditions."""
        for claim in stage.cloud.control_plane.admin().get(CLAIMS)["items"]:
            known = self._claims.setdefault(
                claim["metadata"]["name"],
                {"claim": claim["metadata"]["name"], "created": claim["metadata"]["creationTimestamp"]},
            )
            for condition in claim.get("status", {}).get("conditions", []):
                if condition["type"] in STAGES and condition["status"] == "True":
                    known.setdefault(condition["type"].lower(), condition["lastTransitionTime"])
            if "deletionTimestamp" in claim["metadata"]:
                known.setdefault("leaving", claim["metadata"]["deletionTimestamp"])
            known["last_seen"] = written(at)
