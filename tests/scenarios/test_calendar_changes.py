"""People and deploys change the calendar of a running lab: a pause, an emergency, a window that ends sooner."""

from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.conftest import LAB
from tests.scenarios.lab_day import LabDay

MINUTE = timedelta(minutes=1)


@pytest.mark.long
def test_a_window_that_a_deploy_ends_sooner_ends_after_a_quarter_of_an_hour_s_notice(
    lab: LabDay, tmp_path: Path
) -> None:
    # given a lab that is paused: nobody opens anything, and is told why
    begun = lab.now
    assert lab.command("pause", "because", "new", "windows").code == 0
    refused = lab.command("open", "gpu", "1")
    assert refused.code == 1
    assert "paused the lab because new windows: nothing opens until somebody resumes it" in refused.stdout

    # when a window is deployed that should be open already, then it waits for the end of the pause
    starts = (begun - MINUTE).replace(second=0)
    lab.cloud.redeploy(_with(tmp_path, starts.strftime("%H:%M"), (starts + 120 * MINUTE).strftime("%H:%M")))
    name = f"moved-{starts:%Y-%m-%d}"
    assert lab.lease(name).state is LeaseState.PLANNED
    assert lab.command("resume").code == 0
    opened = lab.until_state(name, LeaseState.OPEN)

    # when another deploy moves its end to the next few minutes
    ends = (lab.now + 5 * MINUTE).replace(second=0)
    moved = lab.now
    lab.cloud.redeploy(_with(tmp_path, starts.strftime("%H:%M"), ends.strftime("%H:%M")))
    lab.until("the end is moved", lambda _: lab.lease(name).closes < opened.closes, 10 * MINUTE)

    # then it is announced, and the lease goes on for fifteen minutes more, on its node
    sooner = lab.lease(name)
    assert moved + 15 * MINUTE <= sooner.closes <= lab.now + 16 * MINUTE
    lab.until(
        "the new end is announced",
        lambda _: any("closes at" in str(entry.what) for entry in lab.entries(moved, "announced")),
        sooner.closes - lab.now,
    )
    assert lab.lease(name).in_force(sooner.closes - MINUTE)
    lab.until_state(name, LeaseState.CLOSED)
    lab.until_quiet()
    for verdict in lab.verdicts(begun, 1, 2, 5, 7).values():
        assert verdict.held, f"law {verdict.law}: {verdict.evidence}"
    lab.cloud.redeploy(LAB)


@pytest.mark.long
def test_all_of_a_pool_is_closed_by_one_order(lab: LabDay) -> None:
    # given a lease, and a node beside it that no lease justifies
    lease = lab.open(1, "2h")
    lab.until_state(lease.id, LeaseState.OPEN)
    lab.until_updated()
    lab.api("eks").update_nodegroup_config(
        clusterName=lab.pool.cluster, nodegroupName=lab.pool.nodegroup, scalingConfig={"desiredSize": 2}
    )

    # when somebody closes all of it
    asked = lab.command("close", "--all", "gpu")
    assert asked.code == 1
    assert "say --yes" in asked.stderr
    assert lab.command("close", "--all", "gpu", "--yes").code == 0

    # then both go, and zero is proven
    lab.until_state(lease.id, LeaseState.CLOSED)
    lab.until_quiet()
    assert lab.receipt(lease.id)["proof_of_zero"]["instances"] == []


def _with(folder: Path, start: str, end: str) -> Path:
    """The lab with a window of today beside its own."""
    path = folder / "lab.yaml"
    window = f'  - {{name: moved, nodes: 1, days: daily, start: "{start}", end: "{end}"}}\n'
    path.write_text(LAB.read_text("utf-8") + window, "utf-8")
    return path
