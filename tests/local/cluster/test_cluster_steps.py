"""The cluster function's steps against a real API server, with the rights of rbac.yaml and nothing more."""

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.apply import apply_gpu_settings
from lamplighter.application.cluster.at_stake import at_stake
from lamplighter.application.cluster.drain import drain
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.settings import await_gpus
from lamplighter.application.cluster.validate import validate
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import BootStage, Noted, Stage
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.drain import PATIENCE
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.lab.model import Lab as LabFile
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from lamplighter.values.instant import written
from tests.local.cluster.functions import Token
from tests.local.cluster.lab import POLICY, await_true
from tests.steady.http_waits import http_waits

LAB = LabFile.model_validate({"name": "lab"})


@dataclass(frozen=True)
class Told(Run):
    """A run whose ledger is told by the test."""

    ledger: tuple[Lease, ...] = ()
    paused: tuple[Pause, ...] = ()
    noted: list[tuple[str, int, int]] = field(default_factory=list)
    booted: dict[BootStage, Noted] = field(default_factory=dict)
    judged_rows: list[dict[str, Any]] = field(default_factory=list)

    def leases(self) -> list[Lease]:
        return list(self.ledger)

    def pauses(self) -> list[Pause]:
        return list(self.paused)

    def books(self) -> Any:
        return self

    def keep_rows(self, _pool: str, _lease: str, _at: datetime, rows: list[dict[str, Any]]) -> None:
        self.judged_rows[:] = rows

    def rows(self, _pool: str, _lease: str, _at: datetime) -> list[dict[str, Any]]:
        return self.judged_rows

    def begin(self, stage: Stage, of: int) -> None:
        self.note(stage, 0, of)

    def note_boot(self, stages: Mapping[BootStage, Noted]) -> None:
        self.booted.update(stages)

    def note(self, stage: Stage, done: int, of: int) -> None:
        self.noted.append((stage.value, done, of))


@pytest.fixture
def connection(enter, lab, clock, monkeypatch) -> Connection:
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(clock.path))
    found: Connection = enter("cluster")
    # EKS gives this label to its nodes; a machine by itself has none.
    labels = {"eks.amazonaws.com/nodegroup": "lab-ng-gpu"}
    lab.kubernetes.merge(f"/api/v1/nodes/{lab.gpu.node_name}", {"metadata": {"labels": labels}})
    return found


def lease(clock, name: str = "cli-1", nodes: int = 1, hours: int = 9) -> Lease:
    now = datetime.fromtimestamp(clock.time(), UTC)
    return Lease(
        id=name,
        pool="gpu",
        nodes=nodes,
        owner="alice",
        source="cli",
        state=LeaseState.OPENING,
        opens=now - timedelta(minutes=1),
        closes=now + timedelta(hours=hours),
        hold=Money.from_json({"amount": "1", "currency": "USD"}),
    )


def run_for(lab, clock, *leases: Lease, **results: object) -> Told:
    launched = written(datetime.fromtimestamp(lab.gpu.launched, UTC))
    nodes = {"instances": [{"id": lab.gpu.instance_id, "launched": launched}]}
    return Told("gpu", "cli-1", {"AwaitNodes": nodes, **results}, leases or (lease(clock),))


def poll(step: Callable[..., dict[str, object]], *arguments: object) -> dict[str, Any]:
    """Asks again while the step says later, as the workflow does."""
    answer: list[dict[str, Any]] = []

    def done() -> bool:
        with suppress(TryLater):
            answer.append(step(*arguments))
        return bool(answer)

    await_true(done, "the step comes to an end")
    return answer[0]


def judge(run: Told, lab: LabFile, connection: Connection) -> dict[str, Any]:
    """What Validate answers, and as `verdicts` what it kept of each node."""
    return {**poll(validate, run, lab, connection), "verdicts": run.judged_rows}


def test_the_lab_s_settings_are_verified_by_path(lab, clock, connection):
    found = apply_gpu_settings(run_for(lab, clock), LAB, connection)
    assert (found["state"], found["differs"], found["reason"]) == ("as-lab", [], "")
    other = LabFile.model_validate(
        {"name": "lab", "gpu_operator": {"values": {"dcgmExporter": {"enabled": False}}}}
    )
    found = apply_gpu_settings(run_for(lab, clock), other, connection)
    assert found["differs"] == [{"path": "dcgmExporter.enabled", "lab": False, "cluster": True}]


def test_a_window_s_nodes_are_awaited_and_proven_and_no_pod_is_left(lab, clock, connection):
    awaiting = run_for(lab, clock)
    ready = poll(await_gpus, awaiting, LAB, connection)
    assert ready == {
        "nodes": [{"name": lab.gpu.node_name, "instance": lab.gpu.instance_id, "gpus": 1, "ready": True}],
        "not_ready": [],
        "late": False,
    }
    assert awaiting.noted[-1] == ("gpus", 1, 1)
    # The boot that nobody watched is read from what Kubernetes keeps of it, in its order.
    assert list(awaiting.booted) == list(BootStage)
    ends = [each.at for each in awaiting.booted.values()]
    assert ends == sorted(ends)
    assert all(each.whole and each.since <= each.at for each in awaiting.booted.values())
    run = run_for(lab, clock, AwaitGpus=ready)
    proven = judge(run, LAB, connection)
    assert proven["verdict"] == "passed", proven
    checks = [each["check"] for each in proven["verdicts"]]
    assert checks == ["allocatable", "labels", "nvidia-smi", "vectoradd", "xid"]
    assert (run.noted[0], run.noted[-1]) == (("checks", 0, 2), ("checks", 2, 2))
    pods = "/api/v1/namespaces/lamplighter/pods?labelSelector=lamplighter/lease%3Dcli-1"
    await_true(lambda: not lab.kubernetes.get(pods)["items"], "the check pods are gone")


def test_a_node_that_never_comes_is_reported_once_the_time_is_up(lab, clock, connection):
    long_ago = written(datetime.fromtimestamp(clock.time(), UTC) - timedelta(minutes=20))
    run = run_for(lab, clock, AwaitNodes={"instances": [{"id": "i-0never", "launched": long_ago}]})
    found = await_gpus(run, LAB, connection)
    assert found["not_ready"] == [{"name": "i-0never", "why": document(reason("gpu.not-joined"))}]
    proven = poll(validate, run_for(lab, clock, AwaitGpus=found), LAB, connection)
    assert proven["verdict"] == "not-proven"


def test_a_lease_that_is_over_ends_quietly(lab, clock, connection):
    over = run_for(lab, clock, lease(clock, "somebody-else"))
    assert await_gpus(over, LAB, connection)["over"] is True
    assert validate(over, LAB, connection)["over"] is True


def test_drain_keeps_what_another_lease_justifies(lab, clock, connection):
    run = run_for(lab, clock, lease(clock), lease(clock, "cli-2", hours=10))
    assert drain(run, LAB, connection) == {"nodes": [], "evicted": 0, "forced": [], "forced_more": 0}
    assert not lab.node(lab.gpu)["spec"].get("unschedulable")
    assert at_stake(run, LAB, connection) == {"nodes": [], "pods": [], "staying": 1}


@pytest.fixture
def guarded_pod(lab):
    """A pod on the GPU node that a PodDisruptionBudget holds."""
    path = lab.run(
        "holds", namespace="default", labels={"app": "holds"}, restartPolicy="Always", **lab.on(lab.gpu)
    )
    lab.await_phase(path, "Running")
    budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    body = {
        "metadata": {"name": "holds"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "holds"}}},
    }
    lab.kubernetes.create(budget, body)
    await_true(
        lambda: lab.kubernetes.get(f"{budget}/holds").get("status", {}).get("currentHealthy"),
        "the budget counts",
    )
    yield path
    lab.kubernetes.delete(f"{budget}/holds")
    lab.kubernetes.delete(path, {"gracePeriodSeconds": 0})
    await_true(lambda: lab.kubernetes.find(path) is None, "the pod is gone")


@pytest.mark.usefixtures("guarded_pod")
def test_what_is_at_stake_is_named_and_not_touched(lab, clock, connection):
    found = at_stake(run_for(lab, clock, lease(clock)), LAB, connection)

    assert found == {"nodes": [lab.gpu.private_dns], "pods": ["default/holds"], "staying": 0}
    assert not lab.node(lab.gpu)["spec"].get("unschedulable")


@pytest.mark.usefixtures("guarded_pod")
def test_drain_respects_a_budget_for_a_while_then_forces_and_says_so(lab, clock, connection):
    run = run_for(lab, clock)
    with pytest.raises(TryLater, match="default/holds"):
        drain(run, LAB, connection)
    node = lab.node(lab.gpu)
    assert node["spec"]["unschedulable"] is True
    clock.jump_to(clock.time() + PATIENCE.total_seconds() + 1)
    found = poll(drain, run, LAB, connection)
    assert found["nodes"] == [{"name": lab.gpu.node_name, "instance": lab.gpu.instance_id}]
    assert found["forced"] == ["default/holds"]

    # A lease that needs the node after all gets it back.
    poll(await_gpus, run_for(lab, clock), LAB, connection)
    assert not lab.node(lab.gpu)["spec"].get("unschedulable")
    assert not any(
        note.startswith("lamplighter/") for note in lab.node(lab.gpu)["metadata"].get("annotations", {})
    )


def test_the_functions_may_do_their_work_and_no_more(enter):
    cluster, guard = enter("cluster"), enter("guard")
    assert cluster.ask("GET", "/api/v1/nodes").ok
    assert guard.ask("GET", "/api/v1/nodes").ok
    for path in ("/api/v1/secrets", "/api/v1/configmaps", "/apis/apps/v1/deployments"):
        for connection in (cluster, guard):
            with pytest.raises(OutsideFailed, match="adopt --rbac"):
                connection.ask("GET", path)
    with pytest.raises(OutsideFailed, match="forbidden"):
        cluster.ask("PATCH", f"{POLICY}-2", body={"spec": {}}, content_type="application/merge-patch+json")
    with pytest.raises(OutsideFailed, match="forbidden"):
        guard.ask("PATCH", POLICY, body={"spec": {}}, content_type="application/merge-patch+json")
    with pytest.raises(OutsideFailed, match="forbidden"):
        cluster.ask("DELETE", POLICY)
    with pytest.raises(OutsideFailed, match="forbidden"):
        guard.ask("DELETE", "/api/v1/namespaces/default/pods/any")


def test_an_unreachable_api_server_is_told_within_ten_seconds(control_plane):
    with socket.create_server(("127.0.0.1", 0)) as silent, http_waits() as waits:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        connection = Connection(url, control_plane.ca_pem, Token("x"))
        with pytest.raises(OutsideFailed, match="no answer"):
            connection.get("/api/v1/nodes")
    assert 0 < waits.seconds < 10
