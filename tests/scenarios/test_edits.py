"""Edits of a lab that EKS does not take in one update of a node group: they work, or are refused before all else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local.aws.cloudformation.stack import Stack
from tests.scenarios.conftest import LAB
from tests.scenarios.lab_day import LabDay

COMPLETE = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
SYSTEM = "scenario-lab-ng-1"


def test_another_type_and_maximum_in_one_edit_are_deployed(lab: LabDay, tmp_path: Path) -> None:
    # when type and maximum of a pool are changed in one edit
    ended = edit(lab, tmp_path, {"g5.xlarge": "g5.2xlarge", "max_nodes: 2": "max_nodes: 1"})

    # then both are in force, and no node came of it
    assert complete(ended), told(ended)
    assert (nodegroup(lab)["scalingConfig"], instance_type(lab)) == (sizes(1), "g5.2xlarge")
    assert lab.live() == ()

    # and back again in one edit, and with the type alone
    assert complete(back := lab.cloud.redeploy(LAB)), told(back)
    assert (nodegroup(lab)["scalingConfig"], instance_type(lab)) == (sizes(2), "g5.xlarge")
    assert complete(edit(lab, tmp_path, {"g5.xlarge": "g5.2xlarge"}))
    assert complete(edit(lab, tmp_path, {"max_nodes: 2": "max_nodes: 3"} | {"g5.xlarge": "g5.2xlarge"}))
    assert (nodegroup(lab)["scalingConfig"], instance_type(lab)) == (sizes(3), "g5.2xlarge")
    assert complete(lab.cloud.redeploy(LAB))


def test_an_edit_that_fails_after_it_takes_the_maximum_back(lab: LabDay, tmp_path: Path) -> None:
    # given machines that EKS cannot roll the pool to
    # when type and maximum are changed, and nothing of it can be done
    # then the pool is as it was
    lab.cloud.aws.behaviours.faults.no_capacity("g5.2xlarge")
    ended = edit(lab, tmp_path, {"g5.xlarge": "g5.2xlarge", "max_nodes: 2": "max_nodes: 1"})
    lab.cloud.aws.behaviours.faults.clear()

    assert ended[-1].status == "UPDATE_ROLLBACK_COMPLETE", told(ended)
    assert (nodegroup(lab)["scalingConfig"], instance_type(lab)) == (sizes(2), "g5.xlarge")


def edit(lab: LabDay, folder: Path, changes: dict[str, str], more: str = "") -> list[Stack]:
    text = LAB.read_text("utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path = folder / "lab.yaml"
    path.write_text(text + more, "utf-8")
    return lab.cloud.redeploy(path)


def complete(ended: Sequence[Stack]) -> bool:
    return {stack.status for stack in ended} <= COMPLETE


def told(ended: Sequence[Stack]) -> str:
    return "; ".join(f"{stack.name} {stack.status} {stack.failure()}" for stack in ended)


def sizes(most: int) -> dict[str, int]:
    return {"minSize": 0, "maxSize": most, "desiredSize": 0}


def nodegroup(lab: LabDay, name: str | None = None) -> dict[str, Any]:
    asked = {"clusterName": lab.pool.cluster, "nodegroupName": name or lab.pool.nodegroup}
    found: dict[str, Any] = lab.api("eks").describe_nodegroup(**asked)["nodegroup"]
    return found


def instance_type(lab: LabDay, name: str | None = None) -> str:
    template = nodegroup(lab, name)["launchTemplate"]
    [version] = lab.api("ec2").describe_launch_template_versions(
        LaunchTemplateId=template["id"], Versions=[template["version"]]
    )["LaunchTemplateVersions"]
    return str(version["LaunchTemplateData"]["InstanceType"])
