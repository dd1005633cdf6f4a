"""Edits of a lab that EKS cannot do in one update of a node group: they work, or are refused before any change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local.aws.cloudformation.stack import Stack
from tests.scenarios.conftest import LAB
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long
COMPLETE = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
SYSTEM = "scenario-lab-ng-1"


def test_another_type_and_maximum_in_one_edit_are_deployed(lab: LabDay, tmp_path: Path) -> None:
    # when type and maximum of a pool are changed in one edit, then both are in force
    ended = edit(lab, tmp_path, {"g5.xlarge": "g5.2xlarge", "max_nodes: 2": "max_nodes: 1"})
    assert complete(ended), told(ended)
    assert (nodegroup(lab)["scalingConfig"], instance_type(lab)) == (sizes(1), "g5.2xlarge")

    # and back
    assert complete(ended := lab.cloud.redeploy(LAB)), told(ended)
    assert (nodegroup(lab)["scalingConfig"], instance_type(lab)) == (sizes(2), "g5.xlarge")


def test_what_takes_two_updates_is_refused_before_anything_changes(lab: LabDay, tmp_path: Path) -> None:
    # given an edit for which EKS needs two updates of the system nodes and of the pool
    before = [nodegroup(lab), nodegroup(lab, SYSTEM)]
    tags = "tags: {CostCentre: '4711'}\n"
    labels = "  system_nodes: {labels: {team: gpu}}\n"

    # when it is deployed
    ended = edit(lab, tmp_path, {}, f'\ncluster:\n  kubernetes_version: "1.34"\n{labels}{tags}')

    # then one sentence says what to deploy first, and nothing is changed: no control plane, which could not go back
    assert [stack.status for stack in ended] == ["UPDATE_ROLLBACK_COMPLETE"]
    assert (
        "EKS does not replace the nodes of a group and change its other settings in one update: deploy "
        "cluster.system_nodes.labels and tags first and leave cluster.kubernetes_version as before, then deploy "
        "the rest"
    ) in ended[-1].failure()
    cluster = lab.api("eks").describe_cluster(name=lab.pool.cluster)["cluster"]
    assert cluster["version"] == "1.35"
    assert [nodegroup(lab), nodegroup(lab, SYSTEM)] == before

    # and what the sentence says can be done: labels and tags, then other nodes
    first = f"\ncluster:\n{labels}{tags}"
    assert complete(ended := edit(lab, tmp_path, {}, first)), told(ended)
    assert nodegroup(lab, SYSTEM)["labels"] == {"team": "gpu"}
    assert {group["tags"]["CostCentre"] for group in (nodegroup(lab), nodegroup(lab, SYSTEM))} == {"4711"}
    another = {"g5.xlarge": "g5.2xlarge"}
    assert complete(ended := edit(lab, tmp_path, another, first)), told(ended)
    assert instance_type(lab) == "g5.2xlarge"

    # and so can the other order: other nodes, then labels and tags
    ended = lab.cloud.redeploy(LAB)
    assert "deploy tags first and leave pools.gpu.instance_type as before" in ended[-1].failure()
    assert complete(ended := edit(lab, tmp_path, {}, first)), told(ended)
    assert complete(ended := lab.cloud.redeploy(LAB)), told(ended)
    assert "CostCentre" not in nodegroup(lab)["tags"]
    assert (nodegroup(lab, SYSTEM)["labels"], instance_type(lab)) == ({"tier": "primary"}, "g5.xlarge")


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
