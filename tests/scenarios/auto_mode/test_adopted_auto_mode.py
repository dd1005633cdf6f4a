"""A cluster with EKS Auto Mode and a NodePool that exist already: adopted, barred, opened, proven and closed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from cli.plan.kubernetes_rights import manifest
from lamplighter.labfile import file as labfile
from local.auto_mode.definitions import CLASSES, POOLS
from local.cloud import ADMINISTRATOR, Cloud
from tests.scenarios.auto_mode.auto_mode_day import AutoModeDay
from tests.scenarios.deployed_lab import NOON
from tests.scenarios.examples.opened import close

pytestmark = pytest.mark.long
CLUSTER, NODE_POOL, NODE_ROLE = "their-cluster", "their-gpus", "their-nodes"
LAB = f"""
name: adopted-lab
time_zone: UTC
cluster: {{existing: {CLUSTER}, auto_mode: {{enabled: true}}}}
guard: {{mode: enforce}}
pools: {{gpu: {{kind: auto-mode, existing: {NODE_POOL}, instance_type: g5.xlarge, max_nodes: 2}}}}
"""
#: Whose plural has no s alone.
PLURALS = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies"}


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AutoModeDay]:
    """The adopting lab, deployed onto a cluster whose owner has made the NodePool and applied what `adopt` prints."""
    path = tmp_path_factory.mktemp("lab") / "lab.yaml"
    path.write_text(LAB, "utf-8")

    def by_the_owner(cloud: Cloud) -> None:
        let_the_owner_in(cloud)
        make_node_pool(cloud)
        apply_what_adopt_prints(cloud, path)

    with Cloud(path, start=NOON, progress=print, found=by_the_owner) as cloud:
        cloud.up()
        yield AutoModeDay(cloud)


def let_the_owner_in(cloud: Cloud) -> None:
    """Whoever has the account's key administers the cluster."""
    call = cloud.aws.around.call
    who = {"clusterName": CLUSTER, "principalArn": call("sts", "get_caller_identity", {})["Arn"]}
    call("eks", "create_access_entry", who)
    scope = {"policyArn": ADMINISTRATOR, "accessScope": {"type": "cluster"}}
    call("eks", "associate_access_policy", {**who, **scope})


def make_node_pool(cloud: Cloud) -> None:
    """A static NodePool at rest, with a NodeClass, and a role for its nodes."""
    call, admin = cloud.aws.around.call, cloud.control_plane.admin()
    taken = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [taken]})
    role = call("iam", "create_role", {"RoleName": NODE_ROLE, "AssumeRolePolicyDocument": trust})["Role"]
    call("eks", "create_access_entry", {"clusterName": CLUSTER, "principalArn": role["Arn"], "type": "EC2"})
    network = call("eks", "describe_cluster", {"name": CLUSTER})["cluster"]["resourcesVpcConfig"]
    reference = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": NODE_POOL}
    one_type = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
    of_nodes = {
        "role": NODE_ROLE,
        "subnetSelectorTerms": [{"id": subnet} for subnet in network["subnetIds"]],
        "securityGroupSelectorTerms": [{"id": network["clusterSecurityGroupId"]}],
    }
    admin.create(
        CLASSES,
        {
            "apiVersion": "eks.amazonaws.com/v1",
            "kind": "NodeClass",
            "metadata": {"name": NODE_POOL},
            "spec": of_nodes,
        },
    )
    admin.create(
        POOLS,
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": NODE_POOL},
            "spec": {
                "replicas": 0,
                "limits": {"nodes": "2"},
                "template": {"spec": {"nodeClassRef": reference, "requirements": [one_type]}},
            },
        },
    )


def apply_what_adopt_prints(cloud: Cloud, lab: Path) -> None:
    for each in YAML(typ="safe").load_all(manifest(labfile.load(lab))):
        cloud.control_plane.admin().apply(where(each), each, "kubectl")


def where(made: dict[str, Any]) -> str:
    """The address of an object, as kubectl finds it."""
    plural = PLURALS.get(made["kind"], f"{made['kind'].lower()}s")
    group, space = made["apiVersion"], made["metadata"].get("namespace")
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    return f"{root}/{f'namespaces/{space}/' if space else ''}{plural}/{made['metadata']['name']}"


def test_the_doctor_finds_auto_mode_on_and_the_bar_shut(adopted: AutoModeDay) -> None:
    said = adopted.command("doctor", "--deployed", "--json")
    assert said.stdout, said

    outcomes = {line["check"]: line["outcome"] for line in said.rows}
    assert [outcomes[check] for check in ("auto-mode", "node-access", "launch-bar")] == ["ok", "ok", "ok"]


def test_without_a_lease_its_owner_starts_nothing(adopted: AutoModeDay) -> None:
    adopted.scale(1)
    adopted.clock.sleep(120)

    assert (adopted.claims(), adopted.live()) == ([], ())
    adopted.scale(0)


def test_a_lease_opens_proves_and_closes_it(adopted: AutoModeDay) -> None:
    lease = adopted.opened(1, "30m")
    assert len(adopted.live()) == 1

    passed = close(adopted, lease.id)

    assert passed >= {"allocatable", "nvidia-smi", "vectoradd"}


def test_the_role_of_their_cluster_is_left_alone(adopted: AutoModeDay) -> None:
    """The lab does not know it, so its failsafe has no lock to put there."""
    machine = adopted.api("stepfunctions").describe_state_machine(stateMachineArn=adopted.machine())

    role = machine["roleArn"].rpartition("/")[2]
    names = adopted.api("iam").list_role_policies(RoleName=role)["PolicyNames"]
    written = [
        adopted.api("iam").get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names
    ]
    assert written != []
    assert "iam:PutRolePolicy" not in json.dumps(written)
