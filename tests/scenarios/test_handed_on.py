"""A lease waits for capacity until the history of its run is long. Then another run continues, and opens it."""

from datetime import timedelta

import pytest

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.lab_day import LabDay


@pytest.mark.long
def test_the_run_hands_the_lease_on_and_the_next_one_opens_it(lab: LabDay) -> None:
    # given an EC2 without capacity
    begun = lab.now
    with lab.faults() as faults:
        faults.no_capacity("g5.xlarge")
        lease = lab.open(1, "4h")
        lab.until(
            "the run has handed it on",
            lambda _: bool(lab.entries(begun, "handed-on")),
            timedelta(hours=3),
            every=timedelta(minutes=3),
        )
        told = lab.entries(begun, "announced")

    opened = lab.until_state(lease.id, LeaseState.OPEN)

    api = lab.api("stepfunctions")
    [machine] = [
        each["stateMachineArn"]
        for each in api.list_state_machines()["stateMachines"]
        if each["name"] == f"{lab.lab.name}-open"
    ]
    runs = [
        run for run in api.list_executions(stateMachineArn=machine)["executions"] if run["startDate"] >= begun
    ]
    assert {run["name"] for run in runs} >= {opened.run}
    assert {run["status"] for run in runs} <= {"SUCCEEDED", "RUNNING"}
    assert len(runs) == 2
    assert len(told) == 1, "what is not new is not said again"
    assert lab.entries(begun, "breach") == []
    assert len(lab.entries(begun, "lease-granted")) == 1
    assert lab.command("close", "gpu", "--yes").code == 0
