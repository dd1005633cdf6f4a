"""Document 003: Amazon Linux, Bottlerocket and Windows nodes are always on, and the GPU pool opens beside them."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.scenarios.examples.opened import EXAMPLES, deployed, open_prove_and_close
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long
GROUP = "eks.amazonaws.com/nodegroup"
ALWAYS_ON = {
    "bys-dev-eks-sec-ng-1": ("linux", "Amazon Linux 2023"),
    "bys-dev-eks-sec-ng-al2023": ("linux", "Amazon Linux 2023"),
    "bys-dev-eks-sec-ng-bottlerocket": ("linux", "Bottlerocket OS"),
    "bys-dev-eks-sec-ng-win-v1": ("windows", "Windows Server 2022"),
}


@pytest.fixture(scope="module")
def groups() -> Iterator[LabDay]:
    with deployed(EXAMPLES / "003-node-groups.yaml") as lab:
        yield lab


def nodes(lab: LabDay) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lab.cloud.control_plane.admin().get("/api/v1/nodes")["items"]
    return found


def ready(node: dict[str, Any]) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])


def sizes(lab: LabDay) -> Counter[str]:
    return Counter(node["metadata"]["labels"][GROUP] for node in nodes(lab) if ready(node))


def test_every_group_has_its_nodes_of_its_operating_system(groups: LabDay) -> None:
    groups.until(
        "the nodes of every group are ready",
        lambda _: sizes(groups) == dict.fromkeys(ALWAYS_ON, 2),
        timedelta(minutes=15),
    )

    for node in nodes(groups):
        system, image = ALWAYS_ON[node["metadata"]["labels"][GROUP]]
        assert node["metadata"]["labels"]["kubernetes.io/os"] == system
        assert node["status"]["nodeInfo"]["osImage"].startswith(image)


def test_the_gpu_pool_opens_is_proven_and_closes_and_the_others_stay(groups: LabDay) -> None:
    begun = groups.now

    passed = open_prove_and_close(groups, nodes=1)
    # Three sweeps of the guard see the pool at zero.
    groups.pass_until(groups.now + timedelta(minutes=16))

    assert passed >= {"allocatable", "nvidia-smi", "vectoradd"}
    assert sizes(groups) == dict.fromkeys(ALWAYS_ON, 2)
    assert groups.entries(begun, "breach") == []


def test_the_doctor_finds_no_gpu_beside_the_pool(groups: LabDay) -> None:
    said = groups.command("doctor", "--deployed", "--json").rows

    assert [line["outcome"] for line in said if line["check"] == "unguarded"] == ["ok"]
