"""What the reference says that a change of a key does, held against what CloudFormation would do for the templates.

CloudFormation replaces a resource for a property that AWS's own resource schema calls create-only (cfn-lint ships the
schemas). EKS replaces the nodes of a group for a new launch template, version or release.
"""

import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lamplighter.lab.cluster import Cluster, SystemNodes
from lamplighter.lab.keys import fields
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.node_groups import NodeGroup
from lamplighter.lab.pools import Pool
from lamplighter.lab.types import Part
from tests.infra.conftest import Assembly, Resource, Template

OWN = {"ami_type": "CUSTOM", "image": "ami-01234567"}
RESERVED = {"buy": "reserved", "reservation": "cr-0123456789abcdef0"}
TAINT = [{"key": "team", "value": "a"}]

#: By key, the value after the change. Each key has a group of its own, which is named after it.
OF_BOTH: dict[str, object] = {
    "ami_type": "BOTTLEROCKET_x86_64_NVIDIA",
    "disk_gib": 200,
    "image": {**OWN, "image": "ami-89abcdef"},
    "image_family": {**OWN, "image_family": "bottlerocket"},
    "instance_type": "g5.2xlarge",
    "labels": {"a": "b"},
    "max_nodes": 5,
    "packages": ["tree"],
    "taints": TAINT,
}
OF_A_POOL: dict[str, object] = {
    **OF_BOTH,
    "buy": "spot",
    "curfew": "04:00",
    "how_to_use": "ssh in",
    "instance_types": ["g5.xlarge", "g6.xlarge"],
    "metadata_hop_limit": 3,
    "price_per_hour": "2",
    "zone_index": 1,
    "zones": [0, 1],
    "fallback": "other",
    "fallback_ask": True,
    "seats_per_gpu": 4,
    "reservation": {**RESERVED, "reservation": "cr-89abcdef"},
    "reservation_type": {**RESERVED, "reservation_type": "capacity-block"},
}
#: What a group has before the change of a key that only such a group may have.
BEFORE = {"image": OWN, "image_family": OWN, "reservation": RESERVED, "reservation_type": RESERVED}
OF_A_GROUP: dict[str, object] = {
    **OF_BOTH,
    "instance_type": "m5.xlarge",
    "max_pods": 30,
    "min_nodes": 2,
    "nodes": 3,
}
OF_THE_SYSTEM: dict[str, object] = {
    **OF_BOTH,
    "instance_type": "m5.large",
    "max_pods": 30,
    "metadata_hop_limit": 3,
    "min_nodes": 2,
    "nodes": 3,
    "update_packages": False,
}
#: Only for a group that the lab does not create.
OF_ADOPTED = {"auto_scaling_group", "existing"}
#: Only for a pool that is no node group.
OF_A_NODE_POOL = {"kind", "drain", "efa"}
#: Only for a pool of Spot Instances. The templates have nothing of it.
OF_SPOT = {"on_interruption"}


def schema(kind: str) -> dict[str, Any]:
    """AWS's schema of a resource type."""
    installed = find_spec("cfnlint")  # to import it takes seconds
    assert installed is not None
    assert installed.origin is not None
    folder = Path(installed.origin).parent / "data" / "schemas"
    file = json.loads((folder / "providers" / "us-east-1.json").read_text("utf-8"))[kind]
    document: dict[str, Any] = json.loads((folder / "resources" / f"{file}.json").read_text("utf-8"))
    return document


CREATE_ONLY = {path.split("/")[2] for path in schema("AWS::EKS::Nodegroup")["createOnlyProperties"]}
ROLLING = {"LaunchTemplate", "ReleaseVersion", "Version"}


def keys(changes: Mapping[str, object], *, changed: bool) -> dict[str, object]:
    """A group for each key, before or after its change."""
    return {
        key: (value if isinstance(value, dict) and key in BEFORE else {key: value})
        if changed
        else BEFORE.get(key, {})
        for key, value in changes.items()
    }


def said(part: type[Part]) -> dict[str, str]:
    """What the reference says of each key of a part."""
    found = {}
    for key, field in fields(part).items():
        extra = field.json_schema_extra
        found[key] = str(extra.get("change", "")) if isinstance(extra, dict) else ""
    return found


def happens(before: Template, now: Template, name: str) -> str:
    """What CloudFormation and EKS do to a node group."""
    old, new = (_sent(template, name) for template in (before, now))
    differ = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    if differ & CREATE_ONLY:
        return "replaced"
    return "rolled" if differ & ROLLING else "in place" if differ else ""


def _sent(template: Template, name: str) -> Resource:
    """The properties of a node group; its template's content and its sizes are in the place of references to them."""
    group = template.one("AWS::EKS::Nodegroup", NodegroupName=name)
    content = template.resources[group["LaunchTemplate"]["Id"]["Ref"]]["Properties"]["LaunchTemplateData"]
    sizes = dict(group["ScalingConfig"])
    for key, value in sizes.items():
        if isinstance(value, dict):
            sizes[key] = template.resources[value["Fn::GetAtt"][0]]["Properties"].get(key)
    # What a size step is told at deploy time is no part of the lab.
    sizes = {key: value for key, value in sizes.items() if not isinstance(value, dict)}
    return {**group, "LaunchTemplate": content, "ScalingConfig": sizes}


@pytest.fixture(scope="module")
def before(synthesise: Callable[..., Assembly]) -> Template:
    return _lab(synthesise, changed=False)


@pytest.fixture(scope="module")
def now(synthesise: Callable[..., Assembly]) -> Template:
    return _lab(synthesise, changed=True)


def _lab(synthesise: Callable[..., Assembly], *, changed: bool) -> Template:
    return synthesise(
        pools=keys(OF_A_POOL, changed=changed), cluster={"node_groups": keys(OF_A_GROUP, changed=changed)}
    ).template("gpu-lab-cluster")


@pytest.mark.parametrize("key", OF_A_POOL)
def test_the_reference_says_what_a_change_of_a_pool_s_key_does(
    before: Template, now: Template, key: str
) -> None:
    assert happens(before, now, f"gpu-lab-ng-{key}") == said(Pool)[key]


@pytest.mark.parametrize("key", OF_A_GROUP)
def test_the_reference_says_what_a_change_of_a_group_s_key_does(
    before: Template, now: Template, key: str
) -> None:
    assert happens(before, now, f"gpu-lab-{key}") == said(NodeGroup)[key]


@pytest.mark.parametrize("key", OF_THE_SYSTEM)
def test_the_reference_says_what_a_change_of_the_system_nodes_does(
    synthesise: Callable[..., Assembly], cluster: Template, key: str
) -> None:
    nodes = keys(OF_THE_SYSTEM, changed=True)[key]
    changed = synthesise(cluster={"system_nodes": nodes}).template("gpu-lab-cluster")
    if key.startswith("image"):
        cluster = synthesise(cluster={"system_nodes": OWN}).template("gpu-lab-cluster")

    assert happens(cluster, changed, "gpu-lab-ng-1") == said(SystemNodes)[key]


@pytest.mark.parametrize(("lab", "part", "key"), [
    ({"cluster": {"kubernetes_version": "1.34"}}, Cluster, "kubernetes_version"),
    ({"cluster": {"workload_identity": "pod"}}, Cluster, "workload_identity"),
    ({"tags": {"CostCentre": "4711"}}, Lab, "tags"),
])  # fmt: skip
def test_the_reference_says_what_a_change_of_the_whole_lab_does(
    synthesise: Callable[..., Assembly], cluster: Template, lab: dict[str, object], part: type[Part], key: str
) -> None:
    changed = synthesise(**lab).template("gpu-lab-cluster")
    for group in ("gpu-lab-ng-1", "gpu-lab-ng-gpu"):
        assert happens(cluster, changed, group) == said(part)[key]


def test_taints_of_an_image_of_the_user_s_roll_its_nodes(synthesise: Callable[..., Assembly]) -> None:
    """They are in the user data; the reference says so below its list."""
    one, other = (
        synthesise(cluster={"node_groups": {"own": {**OWN, **keys}}}).template("gpu-lab-cluster")
        for keys in ({}, {"taints": TAINT})
    )

    assert happens(one, other, "gpu-lab-own") == "rolled"


def test_every_key_of_a_group_is_tried() -> None:
    assert {*OF_A_POOL, *OF_ADOPTED, *OF_A_NODE_POOL, *OF_SPOT} == set(fields(Pool))
    assert set(OF_A_GROUP) == set(fields(NodeGroup))
    assert set(OF_THE_SYSTEM) == set(fields(SystemNodes))
    # A new property of AWS may be one that the lab sets.
    assert {"AmiType", "InstanceTypes", "Subnets"} < CREATE_ONLY
    assert not CREATE_ONLY & {*ROLLING, "Labels", "Taints", "ScalingConfig"}
