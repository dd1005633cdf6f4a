"""Many nodes of eight GPUs: opened, proven, shown and closed. What grows with nodes stays below all size limits."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

NODES = 100
#: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
STATE = 262_144
LAB = f"""
name: big
time_zone: UTC
quotas: {{g_and_vt_vcpus: {NODES * 192}}}
gpu_operator: {{enabled: false}}
device_plugin: {{enabled: true}}
guard:
  budget: {{amount: "100000", currency: USD, period: month}}
pools:
  gpu: {{instance_type: g5.48xlarge, max_nodes: {NODES}, price_per_hour: "20.0277"}}
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def lease(big: LabDay) -> Lease:
    """An open lease of the whole pool, after its notice."""
    lease = big.open(NODES, "1h")
    big.until(
        "the lease is announced",
        lambda _: any(entry.details.get("notice") for entry in big.entries(NOON, "announced")),
        timedelta(minutes=40),
    )
    return big.lease(lease.id)


def test_every_gpu_is_proven_and_everybody_can_read_it(big: LabDay, lease: Lease) -> None:
    assert lease.state is LeaseState.OPEN, big.entries(NOON, "announced")

    (pool,) = big.command("status", "--gpus", "--json").document["pools"]
    assert len(pool["nodes"]) == NODES
    assert {node["verdict"] for node in pool["nodes"]} == {"passed"}

    said = {entry.what for entry in big.entries(NOON, "verdict")}
    assert len({str(what).rpartition(" ")[2] for what in said}) == NODES
    assert big.command("why", "gpu").code == 0
    (shown,) = big.command("status", "--json").document["pools"]
    assert shown["leases"][0]["verdict"] == "passed"


def test_no_state_carries_more_than_half_of_what_it_may(big: LabDay, lease: Lease) -> None:
    del lease
    (run,) = [arn for arn in executions(big) if ":big-open:" in arn]
    assert max(len(each.encode()) for each in carried(big, run)) < STATE / 2


def test_it_closes_to_zero_and_its_receipt_has_every_node(big: LabDay, lease: Lease, tmp_path: Path) -> None:
    assert big.command("close", "gpu", "--json").code == 0
    big.until_state(lease.id, LeaseState.CLOSED)
    receipt = big.receipt(lease.id)

    assert receipt["proof_of_zero"]["instances"] == []
    assert {row["node"] for row in receipt["verdicts"]} == {
        node["name"] for node in results(big, "AwaitGpus")["nodes"]
    }
    assert {row["verdict"] for row in receipt["verdicts"]} == {"passed"}
    page = tmp_path / "receipt.html"
    assert big.command("receipt", "--html", str(page)).code == 0
    text = page.read_text("utf-8")
    assert all(node["name"] in text for node in results(big, "AwaitGpus")["nodes"])
    assert big.until_quiet().instances == ()


def executions(lab: LabDay) -> list[str]:
    api = lab.api("stepfunctions")
    return [
        str(execution["executionArn"])
        for machine in api.list_state_machines()["stateMachines"]
        for execution in api.list_executions(stateMachineArn=machine["stateMachineArn"])["executions"]
    ]


def carried(lab: LabDay, run: str) -> list[str]:
    """The input and output of each state of a run."""
    pages = lab.api("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=run)
    return [
        said
        for page in pages
        for event in page["events"]
        for details in event.values()
        if isinstance(details, dict)
        for said in (details.get("input"), details.get("output"))
        if said
    ]


def results(lab: LabDay, step: str) -> dict[str, Any]:
    (run,) = [arn for arn in executions(lab) if ":big-open:" in arn]
    described = lab.api("stepfunctions").describe_execution(executionArn=run)
    found: dict[str, Any] = json.loads(described["output"])["results"][step]
    return found
