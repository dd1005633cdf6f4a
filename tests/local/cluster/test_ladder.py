"""The ladder of checks on two simulated nodes: against a real API server, with the rights of rbac.yaml."""

from contextlib import suppress

import pytest

from lamplighter.application.cluster.validate import clean_up, validate
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab as LabFile
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import reason
from tests.local.cluster.functions import may
from tests.local.cluster.lab import await_true
from tests.local.cluster.test_cluster_steps import Told, connection, judge, lease, run_for

__all__ = ["connection"]

NODE_CHECKS = ["nvidia-smi", "vectoradd", "gpu-health", "dcgm-1", "dcgm-2"]
CHECKS = "/api/v1/namespaces/lamplighter/pods?labelSelector=lamplighter/check"
JOBS = "/apis/batch/v1/namespaces/lamplighter/jobs"
SERVICES = "/api/v1/namespaces/lamplighter/services"


class WithoutHistory(Told):
    """A run in a pool of which nothing was ever proven."""

    def proofs(self, _pool, _most):
        return []


def lab_with(**checks: object) -> LabFile:
    return LabFile.model_validate({"name": "lab", "checks": checks})


@pytest.fixture
def second(lab, connection):
    machine = lab.gpu_node()
    lab.await_gpus(machine)
    labels = {"eks.amazonaws.com/nodegroup": "lab-ng-gpu"}
    lab.kubernetes.merge(f"/api/v1/nodes/{machine.node_name}", {"metadata": {"labels": labels}})
    yield machine
    lab.end(machine)


def ready(*machines):
    rows = [
        {"name": each.node_name, "instance": each.instance_id, "gpus": 1, "ready": True} for each in machines
    ]
    return {"nodes": rows, "not_ready": []}


def nothing_is_left(lab):
    await_true(lambda: not lab.kubernetes.get(CHECKS)["items"], "no check pod is left")
    await_true(lambda: not lab.kubernetes.get(JOBS)["items"], "no Job is left")
    await_true(lambda: not lab.kubernetes.get(SERVICES)["items"], "no Service is left")


def outcomes(proven, check):
    return [(row["node"], row["verdict"]) for row in proven["verdicts"] if row["check"] == check]


def test_a_deep_ladder_passes_on_two_nodes_and_leaves_nothing(lab, clock, connection, second):
    run = run_for(lab, clock, lease(clock, nodes=2), AwaitGpus=ready(lab.gpu, second))
    proven = judge(run, lab_with(ladder="deep"), connection)

    assert proven["verdict"] == "passed", proven
    both = {(lab.gpu.node_name, "passed"), (second.node_name, "passed")}
    between = ("all_reduce", "all_gather", "sustained")
    for check in ("allocatable", "labels", *NODE_CHECKS, *between, "dcgm-3", "xid"):
        assert set(outcomes(proven, check)) == both, check
    assert proven["not_judged"] == []
    reduced = next(row for row in proven["verdicts"] if row["check"] == "all_reduce")
    assert float(reduced["measurements"]["busbw_gb_per_second"]) > 1
    assert reduced["measurements"]["floor_gb_per_second"] == "0.25"
    assert all(row["seconds"] is not None for row in proven["verdicts"] if row["check"] in NODE_CHECKS)
    # The second node had none of the images yet.
    fresh = {
        row["check"]: row["pull_seconds"] for row in proven["verdicts"] if row["node"] == second.node_name
    }
    assert fresh["dcgm-1"] > 5
    assert fresh["all_reduce"] > 100
    assert fresh["dcgm-2"] == 0
    nothing_is_left(lab)


def test_nvlinks_that_are_down_fail_where_dcgm_passes_and_the_slowest_of_three_is_named(
    lab, clock, connection
):
    labels = {"eks.amazonaws.com/nodegroup": "lab-ng-gpu"}
    groups = ("lab-ng-gpu", "lab-ng-gpu", "lab-ng-slow")
    well, other, slow = machines = [lab.gpu_node(group, "p5.48xlarge") for group in groups]
    for machine in machines:
        lab.await_gpus(machine)
        lab.kubernetes.merge(f"/api/v1/nodes/{machine.node_name}", {"metadata": {"labels": labels}})
    lab.fleet.faults.on("nvlink-down", "lab-ng-slow")
    try:
        run = run_for(lab, clock, lease(clock, nodes=3), AwaitGpus=ready(*machines))
        proven = judge(run, lab_with(ladder="standard"), connection)
    finally:
        lab.fleet.faults.off()
        for machine in machines:
            lab.end(machine)
    for check in ("fabric", "dcgm-2"):
        assert [verdict for _, verdict in outcomes(proven, check)] == ["passed"] * 3
    links = {row["node"]: row["verdict"] for row in proven["verdicts"] if row["check"] == "nvlink"}
    assert links == {well.node_name: "passed", other.node_name: "passed", slow.node_name: "failed"}
    rows = {row["node"]: row for row in proven["verdicts"] if row["check"] == "all_reduce_node"}
    assert [rows[each.node_name]["verdict"] for each in (well, other, slow)] == ["passed", "passed", "failed"]
    said = rows[slow.node_name]
    assert (said["measurements"]["ranks"], said["measurements"]["floor_gb_per_second"]) == (8, "192.5")
    assert "the slowest of the pool: 10" in str(read(said["reason"]))
    assert "slowest" not in str(read(rows[well.node_name]["reason"]))
    nothing_is_left(lab)


def test_ranks_that_cannot_reach_each_other_fail_and_nothing_is_left(lab, clock, connection, second):
    lab.fleet.network.allows = lambda _source, _target, _port: False
    try:
        run = run_for(lab, clock, lease(clock, nodes=2), AwaitGpus=ready(lab.gpu, second))
        proven = judge(run, lab_with(ladder="standard"), connection)
    finally:
        lab.fleet.network.allows = lambda _source, _target, _port: True
    assert proven["verdict"] == "failed", [
        (r["check"], r["verdict"], r["reason"]) for r in proven["verdicts"]
    ]
    assert {verdict for _, verdict in outcomes(proven, "all_reduce")} == {"failed"}
    (said,) = {
        str(read(row["reason"]))
        for row in proven["verdicts"]
        if row["check"] == "all_reduce" and row["node"] == second.node_name
    }
    assert "the ranks never met" in said
    nothing_is_left(lab)


def test_what_does_not_end_in_the_budget_is_not_proven(lab, clock, connection):
    run = run_for(lab, clock, AwaitGpus=ready(lab.gpu))
    blocker = lab.run("blocks", "sleep", "infinity", namespace="lamplighter", gpus=1, **lab.on(lab.gpu))
    lab.await_phase(blocker, "Running")
    with pytest.raises(TryLater):
        validate(run, lab_with(), connection)

    def refused():
        pods = lab.kubernetes.get(CHECKS)["items"]
        return all(_scheduled(pod).get("status") == "False" for pod in pods) and pods

    await_true(refused, "the scheduler has looked at the checks")
    clock.jump_to(clock.time() + 121)
    proven = judge(run, lab_with(), connection)
    lab.kubernetes.delete(blocker, {"gracePeriodSeconds": 0})
    assert proven["verdict"] == "not-proven"
    said = str(read(next(row["reason"] for row in proven["verdicts"] if row["check"] == "vectoradd")))
    assert "2 minutes from the node's Ready ended while the check waited" in said
    assert "Insufficient nvidia.com/gpu" in said
    await_true(lambda: lab.kubernetes.find(blocker) is None, "the blocker is gone")


def test_other_people_s_work_is_left_alone_and_named(lab, clock, connection):
    work = lab.run("notebook", "sleep", "infinity", gpus=1, **lab.on(lab.gpu))
    lab.await_phase(work, "Running")
    told = run_for(lab, clock, AwaitGpus=ready(lab.gpu))
    run = WithoutHistory(told.pool, told.lease, told.results, told.ledger)
    proven = judge(run, lab_with(), connection)
    lab.kubernetes.delete(work, {"gracePeriodSeconds": 0})
    why = read(next(row["reason"] for row in proven["verdicts"] if row["check"] == "nvidia-smi"))
    busy = reason("check.gpus-in-use", pods=("default/notebook",))
    assert why == reason("check.of", check="nvidia-smi", why=busy)
    await_true(lambda: lab.kubernetes.find(work) is None, "the work is gone")


def test_smoke_needs_no_more_rights_than_the_release_before(lab, clock, connection):
    # An administrator applied rbac.yaml of a release that knew neither Jobs nor device plugins' logs.
    roles = "/apis/rbac.authorization.k8s.io/v1"
    role = lab.kubernetes.get(f"{roles}/namespaces/lamplighter/roles/lamplighter-checks")
    older = [rule for rule in role["rules"] if not {"jobs", "services"} & set(rule["resources"])]
    lab.kubernetes.merge(f"{roles}/namespaces/lamplighter/roles/lamplighter-checks", {"rules": older})
    cluster = lab.kubernetes.get(f"{roles}/clusterroles/lamplighter-cluster")
    older = [rule for rule in cluster["rules"] if "pods/log" not in rule["resources"]]
    lab.kubernetes.merge(f"{roles}/clusterroles/lamplighter-cluster", {"rules": older})
    group = "lamplighter:cluster"
    jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]}
    logs = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
    await_true(lambda: not may(lab.kubernetes, group, "lamplighter", jobs), "Jobs are out of reach")
    await_true(lambda: not may(lab.kubernetes, group, "", logs), "others' logs are out of reach")

    run = run_for(lab, clock, AwaitGpus=ready(lab.gpu))
    proven = judge(run, lab_with(), connection)

    assert proven["verdict"] == "passed", proven
    assert [each["check"] for each in proven["not_judged"]] == ["xid"]
    nothing_is_left(lab)


def test_what_a_dead_run_left_goes_with_its_lease_and_with_the_next_one(lab, clock, connection, second):
    run = run_for(lab, clock, lease(clock, nodes=2), AwaitGpus=ready(lab.gpu, second))
    deadline = clock.time() + 1200

    def jobs():
        with suppress(TryLater):
            validate(run, lab_with(ladder="standard"), connection)
        return lab.kubernetes.get(JOBS)["items"] or clock.time() > deadline

    await_true(jobs, "the Job between the nodes is there")
    clean_up(connection, "cli-1")
    nothing_is_left(lab)

    # A lease that is over, whose run died: the next lease of the pool sweeps up after it.
    await_true(lambda: _tried(run, connection), "checks were asked for")
    other = run_for(lab, clock, lease(clock, "cli-2"), AwaitGpus=ready())
    other = type(other)(other.pool, "cli-2", other.results, other.ledger)
    validate(other, lab_with(), connection)
    nothing_is_left(lab)


def _scheduled(pod):
    conditions = pod["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def _tried(run, connection):
    with pytest.raises(TryLater):
        validate(run, lab_with(ladder="standard"), connection)
    return True
