"""A lease waits for capacity until the history of its run is long. Then another run continues, and opens it."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

LAB = """
name: patient
time_zone: UTC
gpu_operator: {enabled: false}
device_plugin: {enabled: true}
pools:
  gpu: {instance_type: g5.xlarge, max_nodes: 1, price_per_hour: "1.2"}
"""


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    """The deployed lab, on an EC2 without capacity."""
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        cloud.aws.moto_additions.faults.no_capacity("g5.xlarge")
        yield LabDay(cloud)


def test_the_run_hands_the_lease_on_and_the_next_one_opens_it(patient: LabDay) -> None:
    lease = patient.open(1, "4h")
    patient.until(
        "the run has handed it on",
        lambda _: bool(patient.entries(NOON, "handed-on")),
        timedelta(hours=3),
        every=timedelta(minutes=3),
    )
    told = patient.entries(NOON, "announced")
    patient.cloud.aws.moto_additions.faults.clear("g5.xlarge")

    opened = patient.until_state(lease.id, LeaseState.OPEN)

    api = patient.api("stepfunctions")
    (machine,) = [
        each["stateMachineArn"]
        for each in api.list_state_machines()["stateMachines"]
        if each["name"] == "patient-open"
    ]
    runs = api.list_executions(stateMachineArn=machine)["executions"]
    assert {run["name"] for run in runs} >= {opened.run}
    assert {run["status"] for run in runs} <= {"SUCCEEDED", "RUNNING"}
    assert len(runs) == 2
    assert len(told) == 1, "what is not new is not said again"
    assert patient.entries(NOON, "breach") == []
    assert len(patient.entries(NOON, "lease-granted")) == 1
