"""A cluster and node group that exist already: found, adopted, not changed, leased, and claimed once."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.sns.models import sns_backends

from lamplighter.domain.leases.lease import LeaseState
from lamplighter.labfile import file as labfile
from local.assembly import synthesise
from local.cloud import Cloud
from local.demo.observations import Sample
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.deploys.terraform import Terraform
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long
CLUSTER, GROUP = "their-cluster", "their-gpus"
#: The node group is older than spring 2021: EKS named the group behind it differently then.
BEHIND = "eks-6eb9e8a0-1f2b-4c5d-8e9f-0a1b2c3d4e5f"
#: The lab file leaves the instance type and the maximum to AWS.
LAB = f"""
name: adopted-lab
time_zone: UTC
cluster: {{existing: {CLUSTER}}}
pools:
  gpu: {{existing: {GROUP}, auto_scaling_group: {BEHIND}}}
windows:
  - {{name: evening, dates: [2026-12-01], start: "20:00", end: "21:00"}}
"""


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    """The adopting lab, deployed onto a cluster in which somebody runs a GPU node by hand."""

    def by_hand(cloud: Cloud) -> None:
        sizes = {"minSize": 0, "desiredSize": 1}
        order = {"clusterName": CLUSTER, "nodegroupName": GROUP, "scalingConfig": sizes}
        cloud.aws.around.call("eks", "update_nodegroup_config", order)

    with deployed_lab(tmp_path_factory, LAB, found=by_hand) as cloud:
        yield LabDay(cloud)


def test_a_node_that_ran_before_is_left_alone_and_reported(adopted: LabDay) -> None:
    before = adopted.live()
    begun = adopted.now

    adopted.pass_until(begun + timedelta(minutes=32))

    assert len(before) == 1
    assert adopted.live() == before
    said = adopted.entries(NOON, "breach")
    assert [entry.details["action"] for entry in said] == ["say"], "once a day, not at every sweep"
    assert "pool gpu has 1 node and no lease" in str(said[0].why)
    assert "does not close it" in str(said[0].why)
    why = adopted.command("why")
    assert "reports on pool gpu" in why.stdout
    assert "does not close it" in why.stdout
    assert any("has 1 node and no lease" in text for text in pages(adopted))


def test_what_the_lab_leaves_out_is_known_from_aws(adopted: LabDay) -> None:
    status = adopted.command("status", "--json").document["pools"][0]
    windows = json.loads(adopted.command("windows", "--json").stdout)

    assert status["desired"] == 1
    assert status["next"]["nodes"] == 2, "the maximum of the node group"
    assert windows[0]["nodes"] == 2
    assert status["next"]["hold"] == {"amount": "2.4740", "currency": "USD"}, "the price of its instance type"


def test_a_first_deploy_pages_for_no_silence_of_the_guard(adopted: LabDay) -> None:
    alarm = adopted.api("cloudwatch").describe_alarms(AlarmNames=["adopted-lab-guard-silent"])

    assert [each["StateValue"] for each in alarm["MetricAlarms"]] == ["OK"]
    assert not [text for text in pages(adopted) if "guard-silent" in text]


def test_no_lease_opens_beside_that_node_until_it_is_gone(adopted: LabDay) -> None:
    before = adopted.live()

    refused = adopted.command("open", "1", "for", "30m", "--json")

    assert refused.code == 1
    assert "pool gpu has 1 node that no lease opened" in refused.document["reason"]
    assert adopted.live() == before
    adopted.until_updated()
    adopted.api("eks").update_nodegroup_config(
        clusterName=CLUSTER, nodegroupName=GROUP, scalingConfig={"desiredSize": 0}
    )
    adopted.until_quiet()


def test_a_lease_opens_and_closes_it_as_any_pool(adopted: LabDay) -> None:
    refused = adopted.command("open", "3", "for", "30m", "--json")
    assert refused.code == 1
    assert "at most 2" in refused.document["reason"]

    lease = adopted.open(2, "30m")
    adopted.until_state(lease.id, LeaseState.OPEN)
    assert len(adopted.live()) == 2
    closed = adopted.command("close", "gpu", "--json")
    assert closed.code == 0, closed
    adopted.until_state(lease.id, LeaseState.CLOSED)
    adopted.until_quiet()
    assert {v["verdict"] for v in adopted.receipt(lease.id)["verdicts"]} == {"passed"}


def test_a_lab_that_does_not_name_the_old_group_is_not_deployed(adopted: LabDay, tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(LAB.replace(f", auto_scaling_group: {BEHIND}", ""), "utf-8")

    [stack] = adopted.cloud.deploy(path)

    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert (
        "pools.gpu.auto_scaling_group: is left out, and the Auto Scaling group behind node group their-gpus is "
        f"{BEHIND}: write that"
    ) in stack.failure()


def test_a_second_lab_cannot_claim_the_same_node_group(adopted: LabDay, tmp_path: Path) -> None:
    rival = tmp_path / "rival.yaml"
    rival.write_text(LAB.replace("adopted-lab", "rival-lab"), "utf-8")

    stacks = adopted.cloud.deploy(rival)

    assert [stack.status for stack in stacks] == ["ROLLBACK_COMPLETE"]
    assert stacks[0].failure().startswith("Claimgpu (AWS::SSM::Parameter)")
    assert "already exists" in stacks[0].failure()
    assert adopted.command("leases").code == 0, "one lab is found, and it works on"


def test_adopt_prints_a_lab_file_and_names_what_stands_in_the_way(adopted: LabDay, tmp_path: Path) -> None:
    eks = adopted.api("eks")
    adopted.until_updated()
    eks.update_nodegroup_config(clusterName=CLUSTER, nodegroupName=GROUP, scalingConfig={"desiredSize": 0})
    adopted.until_updated()
    stranger = adopted.command("adopt", CLUSTER, GROUP)
    assert stranger.code == 0
    assert "note: it is not known whether an autoscaler manages the group" in stranger.stderr
    assert "does not know the calling role (401)" in stranger.stderr
    let_in(adopted)
    answers = [stranger]

    def known(_: Sample) -> bool:
        answers.append(adopted.command("adopt", CLUSTER, GROUP))
        return "401" not in answers[-1].stderr

    # The API server caches an unknown identity for some seconds.
    adopted.until("the API server knows who asks", known, timedelta(hours=1))
    ready = answers[-1]
    assert (ready.code, len(ready.stderr.splitlines())) == (0, 1)
    assert ready.stderr.startswith(
        f"note: the certificate authority of cluster {CLUSTER} has no key identifiers"
    )
    printed = tmp_path / "lab.yaml"
    printed.write_text(ready.stdout, "utf-8")
    assert adopted.command("check", "--lab", str(printed)).code == 0
    pool = labfile.load(printed).pools["gpu"]
    assert (pool.instance_type, pool.auto_scaling_group) == ("g5.xlarge", BEHIND)

    eks.update_nodegroup_config(
        clusterName=CLUSTER, nodegroupName=GROUP, scalingConfig={"minSize": 1, "desiredSize": 1}
    )
    admin = adopted.cloud.control_plane.admin()
    admin.create("/apis/apps/v1/namespaces/kube-system/deployments", autoscaler())
    try:
        blocked = adopted.command("adopt", CLUSTER, GROUP)
    finally:
        admin.delete("/apis/apps/v1/namespaces/kube-system/deployments/cluster-autoscaler")
        adopted.until_updated()
        eks.update_nodegroup_config(
            clusterName=CLUSTER, nodegroupName=GROUP, scalingConfig={"minSize": 0, "desiredSize": 0}
        )
    lines = blocked.stderr.splitlines()
    assert blocked.code == 1
    assert lines[0].startswith(f"in the way: node group {GROUP} has minimum 1")
    assert lines[1].startswith("in the way: deployment kube-system/cluster-autoscaler may open")
    assert lines[2].startswith("note: the certificate authority")
    assert lines[3].startswith("note: 1 node is ordered")


def test_a_cluster_whose_authority_has_no_key_identifiers_is_well(adopted: LabDay) -> None:
    lines = json.loads(adopted.command("doctor", "--deployed", "--json").stdout)

    said = [line["said"] for line in lines if line["check"] == "endpoint" and line["outcome"] == "ok"]
    assert said[0] == f"the Kubernetes API of cluster {CLUSTER} answers, and functions can reach it"
    assert said[1].startswith(f"the certificate authority of cluster {CLUSTER} has no key identifiers")


def test_terraform_deploys_changes_and_destroys_a_lab(adopted: LabDay, tmp_path: Path) -> None:
    # given the cluster without a lab, and the how-to's file in a project with another lab for it
    terraform = Terraform(adopted, tmp_path)
    assert adopted.cloud.destroy("adopted-lab-controller").status == "DELETE_COMPLETE"
    path = tmp_path / "lab.yaml"
    path.write_text(LAB.replace("adopted-lab", "terraform-lab"), "utf-8")
    first = synthesise(path).folder
    terraform.uses(first)

    # when Terraform applies it, then the lab stands, and a second plan has nothing to do
    applied = terraform.run("apply", "-auto-approve")
    assert applied.code == 0, applied
    assert (
        json.loads(terraform.run("output", "-json").stdout)["lamplighter"]["value"]["LabName"]
        == "terraform-lab"
    )
    [row] = adopted.command("windows", "--json").rows
    assert row["window"] == "evening"
    plan = terraform.run("plan", "-detailed-exitcode")
    assert plan.code == 0, plan

    # when the lab has another window, then an apply deploys it, and its objects replace the former ones only after that
    path.write_text(path.read_text("utf-8").replace("evening", "night"), "utf-8")
    terraform.uses(synthesise(path).folder)
    changed = terraform.run("apply", "-auto-approve")
    assert changed.code == 0, changed
    said = changed.stdout
    assert said.index('-controller"]: Modifications complete') < said.index("Destroying")
    assert [row["window"] for row in adopted.command("windows", "--json").rows] == ["night"]

    # when a lease is open, then a destroy closes it first, and nothing but the ledger is left
    opened = adopted.command("open", "1", "for", "2h", "--wait", "--json")
    assert opened.code == 0, opened
    destroyed = terraform.run("destroy", "-auto-approve")
    assert destroyed.code == 0, destroyed
    assert adopted.live() == ()
    tables = adopted.api("dynamodb").list_tables()["TableNames"]
    assert "terraform-lab-ledger" in tables
    assert terraform.run("state", "list").stdout == ""


def let_in(lab: LabDay) -> None:
    """The caller of the commands may read the cluster."""
    caller, eks = lab.api("sts").get_caller_identity()["Arn"], lab.api("eks")
    eks.create_access_entry(clusterName=CLUSTER, principalArn=caller)
    eks.associate_access_policy(
        clusterName=CLUSTER,
        principalArn=caller,
        policyArn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        accessScope={"type": "cluster"},
    )


def autoscaler() -> dict[str, Any]:
    labels = {"app": "cluster-autoscaler"}
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    return {
        "metadata": {"name": "cluster-autoscaler"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def pages(lab: LabDay) -> list[str]:
    topics = sns_backends["123456789012"][lab.lab.region].topics
    arn = next(arn for arn in topics if arn.endswith(":adopted-lab-pages"))
    return [str(sent[1]) for sent in topics[arn].sent_notifications]
