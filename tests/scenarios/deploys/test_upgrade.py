"""Another release is deployed while pools are leased: this one over the previous one, back, and up again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.assembly import Assembly, synthesise
from local.cloud import Cloud
from tests.scenarios.conftest import BEGINS, LAB
from tests.scenarios.deploys import release
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

PREVIOUS = "0.1.0"
COMPLETE = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def lab(releases: Path) -> Iterator[LabDay]:
    """The lab, deployed by the previous release."""

    def previous(present: Assembly) -> Assembly:
        return release.load(PREVIOUS, releases / "first", present)

    with Cloud(LAB, start=BEGINS, progress=print, release=previous) as cloud:
        cloud.up()
        yield LabDay(cloud)


def test_up_to_this_release_back_and_up_again_disturbs_no_lease(lab: LabDay, releases: Path) -> None:
    # given alice's lease, granted by the previous release
    hers = by_the_command_line_of_then(lab, "alice")
    lab.until_state(hers.id, LeaseState.OPEN)
    (node,) = lab.live()
    before = lab.code()

    # when this release is deployed over it
    ended = lab.cloud.redeploy(LAB)

    # then that goes through, its functions are in charge, and the lease goes on
    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert lab.code() != before
    undisturbed(lab, hers, node)

    # when the previous release is deployed again, bob gets a node from it, and this one follows
    ended = lab.cloud.deploy_assembly(release.load(PREVIOUS, releases / "again", synthesise(LAB)))
    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert lab.code() == before
    his = by_the_command_line_of_then(lab, "bob")
    lab.until_state(his.id, LeaseState.OPEN)
    ended = lab.cloud.redeploy(LAB)

    # then that goes through as well, and both leases go on
    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert lab.code() != before
    both = lab.live()
    undisturbed(lab, hers, node)
    undisturbed(lab, his, *both)

    # and each closes with its own receipt, and then nothing is left
    for lease in (his, hers):
        closed = lab.command("close", lease.id, "--yes", "--json")
        assert closed.code == 0, closed
        lab.until_state(lease.id, LeaseState.CLOSED)
    end = lab.until_quiet()
    assert lab.receipt(hers.id)["node_seconds"] > lab.receipt(his.id)["node_seconds"] > 0
    assert end.failsafe == ()


def by_the_command_line_of_then(lab: LabDay, owner: str) -> Lease:
    """A lease of a person.

    The old command line started the workflow itself, because the lab had no address of its own.
    """
    given = orders.order(
        Verb.OPEN, "gpu", command_id=f"cli-open-of-then-{owner}", by=owner, source="cli", now=lab.now
    )
    command = replace(given, nodes=1, lasting=timedelta(hours=2), add=True)
    workflows = lab.api("stepfunctions")
    [opening] = [
        each["stateMachineArn"]
        for each in workflows.list_state_machines()["stateMachines"]
        if each["name"] == f"{lab.lab.name}-open"
    ]
    sent = json.dumps({"command": command.to_json()})
    workflows.start_execution(stateMachineArn=opening, name=command.id, input=sent)
    lab.until(
        "it is decided", lambda _: lab.ledger.command("gpu", command.id) is not None, timedelta(minutes=5)
    )
    return lab.lease(command.lease_id)


def undisturbed(lab: LabDay, lease: Lease, *instances: str) -> None:
    """Over more than one sweep, the lease has the same end, and its nodes still exist."""
    then, begun = lab.now + timedelta(minutes=6), len(lab.samples)
    lab.until("a sweep passed", lambda sample: sample.at >= then, timedelta(minutes=10))
    now = lab.lease(lease.id)
    assert (now.state, now.closes) == (LeaseState.OPEN, lease.closes)
    assert all(set(instances) <= set(sample.instances) for sample in lab.samples[begun:])
    assert min(lab.look().failsafe) >= lease.closes + timedelta(minutes=10)
