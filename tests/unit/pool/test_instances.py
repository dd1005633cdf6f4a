"""EC2's answer about an instance as a value, above all when it stopped costing money."""

from datetime import UTC, datetime

import boto3
import botocore
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.capacity.instances import Instances
from tests.checkout import ROOT
from tests.unit.lab_on_moto import LabOnMoto

LAUNCHED = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
ENDED = datetime(2026, 12, 1, 8, 20, 18, tzinfo=UTC)

POOL = {"eks:kubernetes-node-pool-name": "lab-gpu", "eks:eks-cluster-name": "lab"}


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("running", None),
        ("shutting-down", ENDED),  # EC2 bills no instance that is on its way out, however long that takes
        ("terminated", ENDED),
    ],
)
def test_an_instance_has_cost_until_its_termination_began(state: str, ended: datetime | None) -> None:
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")
    reason = "" if state == "running" else f"User initiated ({ENDED:%Y-%m-%d %H:%M:%S} GMT)"
    instance = {
        "InstanceId": "i-0abc",
        "LaunchTime": LAUNCHED,
        "State": {"Name": state},
        "StateTransitionReason": reason,
    }
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [{"Instances": [instance]}]})
        (found,) = Instances(ec2).tagged({"eks:nodegroup-name": "lab-ng-gpu"}, "lab/lab-ng-gpu")
    assert found.ended == ended


def test_every_list_asks_for_the_instances_that_ec2_hides() -> None:
    """Those of EKS Auto Mode: a list without them would prove zero while they bill."""
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")

    def asked(tags: dict[str, str]) -> dict[str, object]:
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
        return {"Filters": filters, "IncludeManagedResources": True}

    of_cluster = [{"kubernetes.io/cluster/lab": "owned"}, {"eks:eks-cluster-name": "lab"}]
    hidden = {"InstanceId": "i-0abc", "LaunchTime": LAUNCHED, "State": {"Name": "running"}}
    with Stubber(ec2) as stub:
        for tags in (POOL, *of_cluster):
            answer = {"Reservations": [{"Instances": [hidden]}]}
            stub.add_response("describe_instances", answer, asked(tags))
        pool = Instances(ec2).tagged(POOL, "lab/lab-gpu")
        cluster = Instances(ec2).of_cluster("lab")

    assert [instance.id for instance in pool] == [instance.id for instance, _ in cluster] == ["i-0abc"]


def test_the_parameter_is_one_that_the_locked_sdk_knows() -> None:
    """The layer brings the SDK of lambdas/requirements.txt, so Lambda's own, which may be older, is not used."""
    locked = (ROOT / "lambdas/requirements.txt").read_text("utf-8")
    model = boto3.client("ec2", region_name="ap-northeast-2").meta.service_model
    asked = model.operation_model("DescribeInstances").input_shape

    assert f"botocore=={botocore.__version__} " in locked
    assert asked is not None
    assert "IncludeManagedResources" in asked.members


def test_an_instance_that_lost_its_node_pool_s_tag_is_still_seen_by_the_cluster_s(lab: LabOnMoto) -> None:
    """A person may change the tags of instances, also on Auto Mode: the guard then reports it as outside the pools."""
    made = lab.instance(POOL)
    seen = Instances()
    assert [one.id for one in seen.tagged(POOL, "lab/lab-gpu")] == [made]

    boto3.client("ec2").delete_tags(Resources=[made], Tags=[{"Key": "eks:kubernetes-node-pool-name"}])

    assert seen.tagged(POOL, "lab/lab-gpu") == ()
    assert [(one.id, one.type) for one, _ in seen.of_cluster("lab")] == [(made, "g5.xlarge")]
