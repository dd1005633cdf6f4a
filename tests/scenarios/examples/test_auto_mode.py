"""Document 000 on the imitation of EKS Auto Mode: its pool opened, proven and closed."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.scenarios.examples.opened import EXAMPLES, deployed
from tests.scenarios.lab_day import LabDay

POOL = "training-on-eks-gpu"
KARPENTER = "/apis/karpenter.sh/v1"
TAGS = {"eks:kubernetes-node-pool-name": POOL, "eks:eks-cluster-name": "training-on-eks"}


class AutoModeDay(LabDay):
    """The lab as its Kubernetes and EC2 show it."""

    def kubernetes(self) -> Any:
        return self.cloud.control_plane.admin()

    def instances(self) -> list[str]:
        """The pool's instances that are not terminated."""
        states = ["pending", "running", "shutting-down", "stopping", "stopped"]
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in TAGS.items()]
        filters.append({"Name": "instance-state-name", "Values": states})
        found = self.api("ec2").describe_instances(Filters=filters)["Reservations"]
        return [one["InstanceId"] for each in found for one in each["Instances"]]

    def await_(self, what: str, condition: Callable[[], bool], within: timedelta) -> None:
        """Lets time pass until the condition holds."""
        deadline = self.now + within
        while not condition():
            assert self.now < deadline, f"{what}: not within {within}"
            self.clock.sleep(5)

    def receipts(self, lease: str) -> list[dict[str, Any]]:
        return [receipt for receipt in self.ledger.receipts("gpu") if receipt["lease"] == lease]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AutoModeDay]:
    """The lab of the document, with the name for its pool that the actions of a day use."""
    lab: dict[str, Any] = YAML(typ="safe").load((EXAMPLES / "000-auto-mode.yaml").read_text("utf-8"))
    lab["pools"]["gpu"] = lab["pools"].pop("gpu-pool")
    file: Path = tmp_path_factory.mktemp("example") / "lab.yaml"
    file.write_text(json.dumps(lab))  # JSON is YAML 1.2
    with deployed(file) as made:
        yield AutoModeDay(made.cloud)


@pytest.fixture(scope="module")
def lease(day: AutoModeDay) -> str:
    """A lease of one node whose GPUs are proven."""
    said = day.command("open", "gpu", "1", "for", "30m", "--wait", "--json")
    assert said.code == 0, said
    return str(said.document["lease"]["id"])


def test_a_node_pool_that_is_scaled_by_hand_starts_nothing(day: AutoModeDay) -> None:
    day.kubernetes().merge(f"{KARPENTER}/nodepools/{POOL}", {"spec": {"replicas": 1}})
    day.clock.sleep(120)
    assert day.kubernetes().get(f"{KARPENTER}/nodeclaims")["items"] == []
    assert day.instances() == []
    day.kubernetes().merge(f"{KARPENTER}/nodepools/{POOL}", {"spec": {"replicas": 0}})


def test_a_lease_has_its_node_with_gpus(day: AutoModeDay, lease: str) -> None:
    assert lease
    [instance] = day.instances()
    node = day.kubernetes().get(f"/api/v1/nodes/{instance}")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"


def test_the_end_of_the_lease_leaves_nothing(day: AutoModeDay, lease: str) -> None:
    assert day.command("close", "gpu").code == 0
    day.await_("there is a receipt", lambda: bool(day.receipts(lease)), timedelta(minutes=30))

    [receipt] = day.receipts(lease)
    assert receipt["proof_of_zero"]["instances"] == []
    assert {verdict["verdict"] for verdict in receipt["verdicts"]} <= {"passed", "not proven"}
    assert day.instances() == []
    assert day.kubernetes().get(f"{KARPENTER}/nodeclaims")["items"] == []
