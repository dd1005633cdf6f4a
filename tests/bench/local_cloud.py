"""What the embedded cloud shows: how fast it starts, and how a window goes through the controller in real time."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3

from lamplighter.adapters.aws.ledger.ledger import Ledger
from local.aws.functions.durations import Measured
from local.cloud import Cloud
from local.endpoints import Endpoints
from local.kubernetes.api import KubernetesApi
from stacks import cost
from tests.bench.assembly import LAB
from tests.bench.figure import Measurement
from tests.bench.memory import EVENTS, events

OPENS = datetime(2026, 12, 1, 11, 0, tzinfo=UTC)  # window.yaml's window
BEFORE = timedelta(minutes=5)
POOL, NODES = "gpu", 2
#: Until a window is validated in real time, and closed in hurried time.
PATIENCE = timedelta(minutes=20)
#: Seconds between two looks: where they are part of a figure, and where they are not.
LOOK_EVERY, LOOK_SELDOM = 0.1, 20.0


def _start() -> Mapping[str, float]:
    """From the command to the file that says it is ready."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-bench-") as folder:
        out = Path(folder, "cloud.json")
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "local", "up", "--lab", str(LAB), "--json", str(out)],
            stderr=subprocess.DEVNULL,
        )
        try:
            while not out.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"local up ended {process.returncode}")
                time.sleep(LOOK_EVERY)
            return {"local-start": time.perf_counter() - begun}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _window() -> Mapping[str, float]:
    """One window in the lab's time, from its opening to its receipt; functions start cold."""
    functions = Measured()
    with Cloud(LAB, start=OPENS - BEFORE, durations=functions) as cloud:
        endpoints = cloud.up()
        cloud.clock.sleep_until((OPENS - timedelta(seconds=5)).timestamp())
        aws = _Aws(endpoints, cloud)
        ready = _gpus_ready(cloud)
        checked = _Checks(cloud)
        validated = aws.entry("verdict", cloud, meanwhile=checked.look)
        ordered = aws.ordered()
        aws.entry("receipt", cloud, look_every=LOOK_SELDOM)
        fired, transitions = aws.fired(), aws.transitions()
    # What the simulator plays is from the order to GPUs; the rest is ours.
    ours = (ordered - OPENS) + (validated - ready)
    return {
        "firing-to-update": (ordered - fired).total_seconds() * 1000,
        "overhead": ours.total_seconds(),
        "smoke-overhead": (validated - ready - checked.longest).total_seconds(),
        "transitions": transitions,
        "transitions-price": float(cost.price("state_transition") * Decimal(transitions)),
        **events(functions.works, cloud.lab.name),
    }


class _Aws:
    """What is read from the embedded AWS, with the account's own key."""

    def __init__(self, endpoints: Endpoints, cloud: Cloud) -> None:
        session = boto3.session.Session(
            aws_access_key_id=endpoints.access_key_id,
            aws_secret_access_key=endpoints.secret_access_key,
            region_name=endpoints.region,
        )
        lab = cloud.lab
        self._lab = lab.name
        self._cluster, self._nodegroup = lab.cluster_name, lab.nodegroup_name(POOL)
        self._eks: Any = session.client("eks", endpoint_url=endpoints.endpoint)
        self._stepfunctions: Any = session.client("stepfunctions", endpoint_url=endpoints.endpoint)
        dynamodb = session.client("dynamodb", endpoint_url=endpoints.endpoint)
        self._ledger = Ledger(f"{lab.name}-ledger", dynamodb)

    def entry(
        self,
        kind: str,
        cloud: Cloud,
        meanwhile: Callable[[], object] = lambda: None,
        look_every: float = LOOK_EVERY,
    ) -> datetime:
        """When the lease's audit trail first says this; waited for."""
        while cloud.clock.now() < OPENS + PATIENCE + timedelta(hours=1):
            meanwhile()
            for entry in self._ledger.audit(POOL, OPENS - BEFORE):
                if entry.kind == kind:
                    return entry.at
            cloud.clock.sleep(look_every)
        raise RuntimeError(f"the window's trail never said {kind}")

    def ordered(self) -> datetime:
        """When EKS took the order for nodes."""
        names = {"name": self._cluster, "nodegroupName": self._nodegroup}
        updates = self._eks.list_updates(**names)["updateIds"]
        made = [self._eks.describe_update(updateId=one, **names)["update"]["createdAt"] for one in updates]
        return min(at.astimezone(UTC) for at in made)

    def fired(self) -> datetime:
        """When the window's schedule started OpenLab."""
        return min(run["startDate"].astimezone(UTC) for run in self._runs("open"))

    def transitions(self) -> int:
        """State transitions of the window's workflows, a retry being one as well."""
        entered = tried = retried_first = 0
        for run in [*self._runs("open"), *self._runs("close")]:
            for event in self._history(run["executionArn"]):
                entered += event["type"].endswith("StateEntered")
                retried_first += event["type"] == "TaskStateEntered"
                tried += event["type"] in {"TaskScheduled", "LambdaFunctionScheduled"}
        return entered + tried - retried_first

    def _runs(self, workflow: str) -> list[dict[str, Any]]:
        machines = self._stepfunctions.list_state_machines()["stateMachines"]
        (arn,) = (m["stateMachineArn"] for m in machines if m["name"] == f"{self._lab}-{workflow}")
        runs: list[dict[str, Any]] = self._stepfunctions.list_executions(stateMachineArn=arn)["executions"]
        return runs

    def _history(self, execution: str) -> list[dict[str, Any]]:
        pages = self._stepfunctions.get_paginator("get_execution_history").paginate(executionArn=execution)
        return [event for page in pages for event in page["events"]]


class _Checks:
    """How long check pods were on each node before they ended: their own time, pulls and starts included."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._api: KubernetesApi = cloud.control_plane.admin()
        self._looked = cloud.clock.now()
        self._busy: dict[str, timedelta] = {}

    def look(self) -> None:
        now = self._cloud.clock.now()
        pods = self._api.get("/api/v1/namespaces/lamplighter/pods?labelSelector=lamplighter%2Fcheck")["items"]
        running = {
            pod["spec"]["nodeName"]
            for pod in pods
            if pod["status"].get("phase") in {"Pending", "Running"} and "nodeName" in pod["spec"]
        }
        for node in running:
            self._busy[node] = self._busy.get(node, timedelta()) + (now - self._looked)
        self._looked = now

    @property
    def longest(self) -> timedelta:
        return max(self._busy.values(), default=timedelta())


def _gpus_ready(cloud: Cloud) -> datetime:
    """When the operator's validators have found the GPUs of all of the window's nodes good: the boot's end."""
    api: KubernetesApi = cloud.control_plane.admin()
    while cloud.clock.now() < OPENS + PATIENCE:
        pods = api.get("/api/v1/pods?labelSelector=app%3Dnvidia-operator-validator")["items"]
        if sum(pod["status"].get("phase") == "Running" for pod in pods) >= NODES:
            return cloud.clock.now()
        cloud.clock.sleep(LOOK_EVERY)
    raise RuntimeError(f"the window's GPUs were not ready {PATIENCE} after its start")


MEASUREMENTS = (
    Measurement({"local-start": "s"}, _start),
    Measurement(
        {
            "firing-to-update": "ms",
            "overhead": "s",
            "smoke-overhead": "s",
            "transitions": "transitions",
            "transitions-price": "USD",
            **EVENTS,
        },
        _window,
    ),
)
