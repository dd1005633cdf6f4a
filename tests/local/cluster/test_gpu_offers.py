"""A window's GPU settings on a simulated cluster: shared, sliced, changed, and as before when it closes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.apply import apply_gpu_settings
from lamplighter.application.cluster.overrides import give_back_settings
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.settings import await_gpus
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.lab.model import Lab as LabFile
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import reason
from lamplighter.values.instant import written
from tests.local.cluster.lab import POLICY, await_true
from tests.local.cluster.test_cluster_steps import poll

CHANGE = {"dcgmExporter": {"enabled": False}}
TIMES = {"days": "daily", "start": "10:00", "end": "11:00"}
RENAMED = {"strategy": "mps", "replicas": 2, "rename": True}
LAB = LabFile.model_validate(
    {
        "name": "lab",
        "pools": {
            "gpu": {},
            "sliced": {"instance_type": "p4d.24xlarge", "max_nodes": 1, "price_per_hour": "30"},
        },
        "windows": [
            {"name": "class", "pool": "gpu", **TIMES, "gpu": {"share": 4}},
            {"name": "renamed", "pool": "gpu", **TIMES, "gpu": {"sharing": RENAMED}},
            {"name": "quiet", "pool": "gpu", **TIMES, "gpu": {"cluster_policy": CHANGE}},
            {"name": "loud", "pool": "gpu", **TIMES, "gpu": {"cluster_policy": {"dcgm": {"enabled": True}}}},
            {"name": "parts", "pool": "sliced", **TIMES, "gpu": {"mig": "1g.5gb"}},
        ],
    }
)


@dataclass(frozen=True)
class Told(Run):
    """A run whose leases are told by the test, and whose loans are in a ledger on moto."""

    told: tuple[Lease, ...] = ()
    ledger: Ledger = field(default_factory=lambda: Ledger("lab-ledger"))

    def leases(self) -> list[Lease]:
        return list(self.told)

    def leases_of(self, pool: str) -> list[Lease]:
        return [lease for lease in self.told if lease.pool == pool]

    def books(self) -> Ledger:
        return self.ledger


@pytest.fixture(scope="module", autouse=True)
def operator(lab, helm, charts) -> Iterator[None]:
    """The operator with the sharings of the lab, as our template installs it."""
    from lamplighter.domain.gpu.sharing import chart_values  # noqa: PLC0415

    def upgrade(values: dict[str, Any]) -> None:
        done = helm(
            *("upgrade", "gpu-operator", "gpu-operator", "--repo", charts.url, "--version", "v26.3.1"),
            # Tests before this one changed the policy by hand.
            *("--namespace", "gpu-operator", "--timeout", "4m", "--force-conflicts"),
            values=values,
        )
        assert done.returncode == 0, done.stderr

    upgrade(chart_values(LAB))
    lab.await_whole()
    yield
    # A class that is over leaves nothing that keeps Helm from going on.
    upgrade(lab.OPERATOR_VALUES)
    lab.kubernetes.merge(
        f"/api/v1/nodes/{lab.gpu.node_name}",
        {"metadata": {"labels": {"nvidia.com/device-plugin.config": None}}},
    )


@pytest.fixture
def ledger(monkeypatch) -> Iterator[Ledger]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    with mock_aws():
        boto3.client("dynamodb", region_name="ap-northeast-2").create_table(
            TableName="lab-ledger",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )
        yield Ledger("lab-ledger")


@pytest.fixture
def connection(enter, lab, clock, monkeypatch) -> Connection:
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(clock.path))
    found: Connection = enter("cluster")
    return found


@pytest.fixture
def open_for(lab, clock, ledger) -> Callable[..., Told]:
    """A run for a window's lease on a machine, with other leases beside it."""

    def run(window: str, machine=None, *others: Lease, pool: str = "gpu", **results: object) -> Told:
        machine = machine or lab.gpu
        group = {"eks.amazonaws.com/nodegroup": f"lab-ng-{pool}"}
        lab.kubernetes.merge(f"/api/v1/nodes/{machine.node_name}", {"metadata": {"labels": group}})
        launched = written(datetime.fromtimestamp(machine.launched, UTC))
        nodes = {"instances": [{"id": machine.instance_id, "launched": launched}]}
        mine = lease(clock, window, pool)
        return Told(pool, mine.id, {"AwaitNodes": nodes, **results}, (mine, *others), ledger)

    return run


def lease(clock, window: str, pool: str = "gpu", ago: int = 1) -> Lease:
    now = datetime.fromtimestamp(clock.time(), UTC)
    return Lease(
        id=f"{window}-1",
        pool=pool,
        nodes=1,
        owner="alice",
        source="window",
        state=LeaseState.OPENING,
        opens=now - timedelta(minutes=ago),
        closes=now + timedelta(hours=9),
        hold=Money.from_json({"amount": "1", "currency": "USD"}),
        window=window,
    )


def over(run: Told) -> Told:
    """The same run once its lease is being closed."""
    return replace(
        run, told=tuple(replace(each, state=LeaseState.CLOSING) for each in run.told if each.id == run.lease)
    )


def opened(run: Told, connection: Connection) -> tuple[dict[str, Any], dict[str, Any]]:
    """What ApplyGpuSettings and AwaitGpus say."""
    applied = poll(apply_gpu_settings, run, LAB, connection)
    ready = poll(
        await_gpus, replace(run, results={**run.results, "ApplyGpuSettings": applied}), LAB, connection
    )
    return applied, ready


def test_a_class_shares_each_gpu_by_four_and_the_next_lease_has_it_whole_again(lab, connection, open_for):
    applied, ready = opened(open_for("class"), connection)
    assert (applied["state"], applied["reason"]) == ("as-lab", "")
    assert [node["gpus"] for node in ready["nodes"]] == [4]
    labels = lab.node(lab.gpu)["metadata"]["labels"]
    assert labels["nvidia.com/gpu.replicas"] == "4"
    assert labels["nvidia.com/gpu.sharing-strategy"] == "time-slicing"
    assert labels["nvidia.com/gpu.product"].endswith("-SHARED")

    _, ready = opened(open_for("quiet-not"), connection)
    assert [node["gpus"] for node in ready["nodes"]] == [1]
    assert lab.node(lab.gpu)["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] == "none"


def test_shares_may_have_a_name_of_their_own(lab, connection, open_for):
    _, ready = opened(open_for("renamed"), connection)
    assert [node["gpus"] for node in ready["nodes"]] == [2]
    node = lab.node(lab.gpu)
    assert node["status"]["allocatable"]["nvidia.com/gpu.shared"] == "2"
    assert node["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] == "mps"


def test_while_somebody_works_on_a_node_its_gpus_stay_as_they_are(lab, connection, open_for):
    opened(open_for("class"), connection)
    work = lab.run("notebook", "sleep", "inf", gpus=1, **lab.on(lab.gpu))
    lab.await_phase(work, "Running")
    try:
        applied, ready = opened(open_for("none"), connection)
        assert read(applied["reason"]) == reason(
            "gpu.node-in-use", node=ready["nodes"][0]["name"], pod="default/notebook"
        )
        assert [node["gpus"] for node in ready["nodes"]] == [4]
    finally:
        lab.kubernetes.delete(work, {"gracePeriodSeconds": 0})
    await_true(lambda: lab.kubernetes.find(work) is None, "the notebook is gone")


def test_the_pool_keeps_what_the_earlier_lease_asked_for(lab, clock, connection, open_for):
    earlier = lease(clock, "class", ago=30)
    applied, ready = opened(open_for("none", None, earlier), connection)
    assert applied["state"] == "kept-earlier"
    assert read(applied["reason"]) == reason(
        "gpu.opened-first",
        lease=earlier.called(),
        pool="gpu",
        kept=reason("gpu.offer.shared", replicas=4, strategy="time-slicing"),
        asked=reason("gpu.offer.whole"),
    )
    assert [node["gpus"] for node in ready["nodes"]] == [4]


def test_a_window_s_change_of_the_operator_holds_while_it_is_open(lab, connection, open_for, ledger):
    before = lab.kubernetes.get(POLICY)["spec"]
    run = open_for("quiet")
    applied = poll(apply_gpu_settings, run, LAB, connection)
    assert (applied["state"], applied["differs"]) == ("as-window", [])
    assert applied["before"]["cluster_policy"] == {"dcgmExporter.enabled": True}
    assert applied["during"]["cluster_policy"] == {"dcgmExporter.enabled": False}
    assert lab.kubernetes.get(POLICY)["spec"]["dcgmExporter"]["enabled"] is False
    exporter = "/apis/apps/v1/namespaces/gpu-operator/daemonsets/nvidia-dcgm-exporter"
    await_true(lambda: lab.kubernetes.find(exporter) is None, "the exporter is switched off")

    # Still open, nothing is given back, however often it is asked.
    assert poll(give_back_settings, run, LAB, connection)["state"] == "kept"
    # Asked again in a later round it still knows what stood there at first.
    again = poll(apply_gpu_settings, run, LAB, connection)
    assert again["before"]["cluster_policy"] == {"dcgmExporter.enabled": True}

    back = poll(give_back_settings, over(run), LAB, connection)
    assert back["state"] == "given-back"
    assert back["after"] == {"dcgmExporter.enabled": True}
    assert lab.kubernetes.get(POLICY)["spec"] == before
    assert poll(give_back_settings, over(run), LAB, connection)["state"] == "given-back"
    loan = ledger.override("cluster-policy")
    assert loan is not None
    assert loan.ended is not None


def test_two_windows_that_change_different_things_are_not_mixed(lab, clock, connection, open_for):
    first = open_for("quiet")
    poll(apply_gpu_settings, first, LAB, connection)
    later = open_for("loud", None, *first.told)
    found = poll(apply_gpu_settings, later, LAB, connection)
    assert found["state"] == "kept-earlier"
    assert read(found["reason"]) == reason(
        "gpu.override.of-others", leases=("quiet-1",), fields="dcgmExporter.enabled"
    )
    assert not lab.kubernetes.get(POLICY)["spec"]["dcgm"].get("enabled")
    poll(give_back_settings, over(first), LAB, connection)


def test_who_asks_for_the_same_joins_and_the_last_one_gives_back(lab, clock, connection, open_for):
    first = open_for("quiet")
    poll(apply_gpu_settings, first, LAB, connection)
    second = replace(first.told[0], id="quiet-2")
    poll(apply_gpu_settings, replace(first, lease="quiet-2", told=(*first.told, second)), LAB, connection)
    closing = replace(first, told=(*over(first).told, second))
    assert poll(give_back_settings, closing, LAB, connection)["holders"] == ["quiet-2"]
    assert lab.kubernetes.get(POLICY)["spec"]["dcgmExporter"]["enabled"] is False
    done = replace(closing, told=tuple(replace(each, state=LeaseState.CLOSED) for each in closing.told))
    assert poll(give_back_settings, done, LAB, connection)["state"] == "given-back"
    assert lab.kubernetes.get(POLICY)["spec"]["dcgmExporter"]["enabled"] is True


def test_a_field_of_another_manager_is_left_and_said(lab, connection, open_for):
    theirs = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}}
    lab.kubernetes.apply(POLICY, {**theirs, "spec": {"dcgm": {"enabled": False}}}, "lets-go-of-helm")
    lab.kubernetes.apply(POLICY, {**theirs, "spec": {"dcgm": {"enabled": True}}}, "argocd-controller")
    try:
        found = poll(apply_gpu_settings, open_for("loud"), LAB, connection)
        assert found["state"] == "owned-elsewhere"
        assert read(found["reason"]) == reason(
            "gpu.override.owned-elsewhere", field="dcgm.enabled", manager="argocd-controller"
        )
    finally:
        for manager in ("argocd-controller", "lets-go-of-helm"):
            lab.kubernetes.apply(POLICY, theirs, manager)


def test_an_operator_that_is_switched_off_is_said(lab, connection, open_for):
    deployment = "/apis/apps/v1/namespaces/gpu-operator/deployments/gpu-operator"
    lab.kubernetes.merge(deployment, {"spec": {"replicas": 0}})
    pods = "/api/v1/namespaces/gpu-operator/pods?labelSelector=app%3Dgpu-operator"
    try:
        await_true(lambda: not lab.kubernetes.get(pods)["items"], "the operator's pod is gone")
        found = poll(apply_gpu_settings, open_for("none"), LAB, connection)
        assert found["state"] == "stopped"
        assert str(read(found["reason"])).startswith(
            "the GPU Operator is switched off: none of its pods runs"
        )
    finally:
        # It comes back where it was: on the system node.
        node = f"/api/v1/nodes/{lab.gpu.node_name}"
        lab.kubernetes.merge(node, {"spec": {"unschedulable": True}})
        lab.kubernetes.merge(deployment, {"spec": {"replicas": 1}})
        await_true(
            lambda: lab.kubernetes.get(deployment)["status"].get("availableReplicas") == 1,
            "the operator is back",
        )
        lab.kubernetes.merge(node, {"spec": {"unschedulable": None}})


def test_gpus_are_cut_into_slices_where_the_model_can_be(lab, connection, open_for):
    machine = lab.gpu_node("lab-ng-sliced", "p4d.24xlarge")
    try:
        lab.await_gpus(machine)
        _, ready = opened(open_for("parts", machine, pool="sliced"), connection)
        assert [node["gpus"] for node in ready["nodes"]] == [8 * 7]
        labels = lab.node(machine)["metadata"]["labels"]
        assert labels["nvidia.com/mig.config.state"] == "success"
        assert labels["nvidia.com/gpu.product"].endswith("-MIG-1g.5gb")
    finally:
        lab.end(machine)
