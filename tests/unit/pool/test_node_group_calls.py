"""The calls to EKS about a node group, and how its answers are read."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.capacity.node_group.nodegroups import AT_MOST, NodeGroups
from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.node_group.evidence import NodeGroup, NodeGroupUpdate
from lamplighter.errors import OutsideFailed, TryLater

MADE = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
NAMED = {"clusterName": "lab", "nodegroupName": "gpu"}
UPDATES = {"name": "lab", "nodegroupName": "gpu"}


@pytest.fixture
def eks() -> Iterator[Stubber]:
    client = boto3.client("eks", "ap-northeast-2", aws_access_key_id="test", aws_secret_access_key="test")
    with Stubber(client) as stub:
        yield stub
        stub.assert_no_pending_responses()


def node_groups(eks: Stubber) -> NodeGroups:
    client: Any = eks.client
    return NodeGroups("lab", client)


def update(name: str, kind: str, status: str, **more: Any) -> dict[str, Any]:
    return {"update": {"id": name, "type": kind, "status": status, **more}}


def test_a_node_group_is_read_with_all_that_eks_says(eks: Stubber) -> None:
    eks.add_response(
        "describe_nodegroup",
        {
            "nodegroup": {
                "status": "DEGRADED",
                "scalingConfig": {"minSize": 1, "maxSize": 3, "desiredSize": 2},
                "resources": {"autoScalingGroups": [{"name": "eks-gpu"}, {"name": "eks-other"}]},
                "health": {
                    "issues": [{"code": "AccessDenied", "message": "no"}, {"code": "InternalFailure"}]
                },
                "launchTemplate": {"id": "lt-1", "version": "7"},
                "instanceTypes": ["g5.xlarge"],
                "amiType": "AL2023_x86_64_NVIDIA",
                "diskSize": 100,
            }
        },
        NAMED,
    )

    assert node_groups(eks).read("gpu") == NodeGroup(
        cluster="lab",
        name="gpu",
        status="DEGRADED",
        minimum=1,
        maximum=3,
        desired=2,
        group="eks-gpu",
        health=(HealthIssue("AccessDenied", "no"), HealthIssue("InternalFailure", "")),
        instance_types=("g5.xlarge",),
        ami_type="AL2023_x86_64_NVIDIA",
        disk_gib=100,
        template=("lt-1", "7"),
    )


def test_what_eks_leaves_out_reads_as_nothing(eks: Stubber) -> None:
    eks.add_response("describe_nodegroup", {"nodegroup": {}}, NAMED)
    eks.add_response("describe_nodegroup", {"nodegroup": {"launchTemplate": {"id": "lt-1"}}}, NAMED)

    empty = NodeGroup("lab", "gpu", "ACTIVE", 0, 0, 0, None, (), (), "", 0, None)
    assert node_groups(eks).read("gpu") == empty
    found = node_groups(eks).read("gpu")
    assert found is not None
    assert found.template == ("lt-1", "$Default")


def test_a_node_group_that_is_not_there_is_none_and_any_other_failure_is_said(eks: Stubber) -> None:
    eks.add_client_error("describe_nodegroup", "ResourceNotFoundException")
    eks.add_client_error("describe_nodegroup", "InvalidRequestException")

    assert node_groups(eks).read("gpu") is None
    with pytest.raises(OutsideFailed):
        node_groups(eks).read("gpu")


def test_an_order_names_the_whole_size_and_puts_the_minimum_to_zero(eks: Stubber) -> None:
    asked = {**NAMED, "scalingConfig": {"minSize": 0, "desiredSize": 2}}
    eks.add_response("update_nodegroup_config", {"update": {"id": "u-1"}}, asked)
    eks.add_response("update_nodegroup_config", {"update": {}}, asked)
    assert [node_groups(eks).scale("gpu", 2) for _ in range(2)] == ["u-1", ""]


def test_bounds_are_put_back_around_the_size_that_is_asked_for(eks: Stubber) -> None:
    asked = {**NAMED, "scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 2}}
    eks.add_response("update_nodegroup_config", {"update": {"id": "u-1"}}, asked)
    assert node_groups(eks).bound("gpu", 3, 2) == "u-1"


def test_a_node_group_in_another_update_is_tried_later(eks: Stubber) -> None:
    for _ in range(2):
        eks.add_client_error("update_nodegroup_config", "ResourceInUseException")
    eks.add_client_error("update_nodegroup_config", "InvalidParameterException")

    groups = node_groups(eks)
    for order in (lambda: groups.scale("gpu", 1), lambda: groups.bound("gpu", 3, 1)):
        with pytest.raises(TryLater, match="EKS is still busy with another update of node group gpu"):
            order()
    with pytest.raises(OutsideFailed):
        node_groups(eks).scale("gpu", 1)


def test_nodes_are_replaced_only_by_a_version_update_that_is_under_way(eks: Stubber) -> None:
    updates = [
        update("u-1", "VersionUpdate", "Successful"),
        update("u-2", "ConfigUpdate", "InProgress"),
        update("u-3", "VersionUpdate", "InProgress", createdAt=MADE),
    ]
    for known in (updates, updates[:2]):
        eks.add_response("list_updates", {"updateIds": [each["update"]["id"] for each in known]}, UPDATES)
        for each in known:
            eks.add_response("describe_update", each, {**UPDATES, "updateId": each["update"]["id"]})

    assert node_groups(eks).rolling("gpu") == NodeGroupUpdate("u-3", "VersionUpdate", "InProgress", MADE, ())
    assert node_groups(eks).rolling("gpu") is None


def test_nodes_that_are_replaced_are_found_on_any_page_of_updates(eks: Stubber) -> None:
    """EKS keeps every update, 100 a page, and promises no order."""
    eks.add_response("list_updates", {"updateIds": ["u-1"], "nextToken": "more"}, UPDATES)
    eks.add_response("list_updates", {"updateIds": ["u-2"]}, {**UPDATES, "nextToken": "more"})
    for name, status in (("u-1", "Successful"), ("u-2", "InProgress")):
        eks.add_response(
            "describe_update", update(name, "VersionUpdate", status), {**UPDATES, "updateId": name}
        )

    found = node_groups(eks).rolling("gpu")

    assert found is not None
    assert found.id == "u-2"


def test_an_update_that_ended_is_described_once_and_one_look_describes_a_bounded_number(eks: Stubber) -> None:
    """The stub answers only what the test expects: one more call fails it."""
    ids = [f"u-{number}" for number in range(AT_MOST + 2)]
    reads = [ids[:AT_MOST], ids[AT_MOST:], ["new"]]
    for listed, described in zip((ids, ids, [*ids, "new"]), reads, strict=True):
        eks.add_response("list_updates", {"updateIds": listed}, UPDATES)
        for name in described:
            found = update(name, "VersionUpdate", "InProgress" if name == "new" else "Successful")
            eks.add_response("describe_update", found, {**UPDATES, "updateId": name})

    groups = node_groups(eks)

    assert [groups.rolling("gpu"), groups.rolling("gpu")] == [None, None]
    replacing = groups.rolling("gpu")
    assert replacing is not None
    assert replacing.id == "new"
    eks.assert_no_pending_responses()


def test_an_update_is_read_with_its_errors(eks: Stubber) -> None:
    errors = [{"errorCode": "AccessDenied", "errorMessage": "no"}, {}]
    eks.add_response("describe_update", update("u-1", "ConfigUpdate", "Failed", errors=errors))
    eks.add_response("describe_update", {"update": {}})

    failed = ("AccessDenied: no", "Unknown: ")
    assert node_groups(eks).update("gpu", "u-1") == NodeGroupUpdate(
        "u-1", "ConfigUpdate", "Failed", None, failed
    )
    assert node_groups(eks).update("gpu", "u-2") == NodeGroupUpdate("u-2", "", "", None, ())
