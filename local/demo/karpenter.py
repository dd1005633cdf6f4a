"""The third act: a short evening on a NodePool of the real Karpenter, in real time, and a size without a lease.

This file has the order of events; karpenter_laws.py judges law 1, which the API server itself holds here.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamplighter.domain.audit.entry import TIMELINE
from lamplighter.errors import OutsideFailed
from lamplighter.values.instant import written
from local.demo import karpenter_laws
from local.demo.awaited import Awaited
from local.demo.play import Stage
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


class KarpenterAct(Awaited):
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
        self.wait_until_open(stage, OPENS + OPEN_WITHIN)
        self.extend(stage, MORE)
        self.replay(stage, OPENS)
        extended = stage.cloud.clock.now()
        self.wait_for_zero(stage, max(CLOSES, extended) + ZERO_WITHIN)
        self.ask_too_much(stage)
        self.act(
            stage, "somebody", "breach", "scales the NodePool to 1 by hand, outside any lease", self._by_hand
        )
        scaled = stage.cloud.clock.now()
        self.wait_for(
            stage, "the API server's refusal", lambda: self._is_refused(stage), scaled + ANSWERED_WITHIN
        )
        self.wait_for(stage, "the guard's answer", lambda: self._is_set_back(stage), scaled + ANSWERED_WITHIN)

    def report(self, stage: Stage) -> dict[str, Any]:
        day = self.day(stage)
        by_hand = karpenter_laws.ByHand(self._scaled, refused=self._refused, back=self._back)
        return self.document(day, karpenter_laws.judge(day, by_hand), TIMELINE) | {
            "act": "karpenter",
            "claims": list(self._claims.values()),
        }

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
