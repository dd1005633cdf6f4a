"""What must be there before what: at a deploy, and backwards at a destroy."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lamplighter.application.deploy.node_group import edit as deploy_edit
from lamplighter.domain.capacity.node_group.edit import NodeGroupSides, Side
from tests.infra.conftest import Assembly, Template
from tests.scenarios.deploys import release

LAB = Path(release.__file__).parents[1] / "lab.yaml"


def add_on(cluster: Template, name: str) -> str:
    return cluster.name("AWS::EKS::Addon", AddonName=name)


def node_group(cluster: Template, name: str) -> str:
    return cluster.name("AWS::EKS::Nodegroup", NodegroupName=name)


def the(template: Template, kind: str) -> str:
    (found,) = template.of_type(kind)
    return found


@pytest.mark.parametrize("name", ["vpc-cni", "kube-proxy", "eks-pod-identity-agent"])
@pytest.mark.parametrize("group", ["gpu-lab-ng-1", "gpu-lab-ng-gpu"])
def test_what_a_node_needs_comes_before_it(cluster: Template, name: str, group: str) -> None:
    assert add_on(cluster, name) in cluster.needs(node_group(cluster, group))


@pytest.mark.parametrize("name", ["coredns", "metrics-server", "external-dns", "cert-manager"])
def test_what_needs_a_node_comes_after_it(cluster: Template, name: str) -> None:
    assert node_group(cluster, "gpu-lab-ng-1") in cluster.needs(add_on(cluster, name))


def test_nodes_come_after_their_way_out(cluster: Template) -> None:
    routes = {n for n, r in cluster.of_type("AWS::EC2::Route").items() if "NatGatewayId" in r["Properties"]}
    assert routes <= cluster.needs(node_group(cluster, "gpu-lab-ng-1"))


def test_the_chart_comes_after_nodes_dns_and_the_right_to_install(cluster: Template) -> None:
    needed = cluster.needs(the(cluster, "Custom::AWSCDK-EKS-HelmChart"))
    assert node_group(cluster, "gpu-lab-ng-1") in needed
    assert add_on(cluster, "coredns") in needed
    assert set(cluster.of_type("AWS::EKS::AccessEntry")) & needed


def test_the_cluster_logs_into_a_group_that_is_declared(cluster: Template) -> None:
    found = cluster.name("AWS::Logs::LogGroup", LogGroupName="/aws/eks/gpu-lab/cluster")
    assert found in cluster.needs(the(cluster, "AWS::EKS::Cluster"))


def test_the_gate_comes_before_anything_of_a_pool_changes(cluster: Template) -> None:
    gate = the(cluster, "Custom::LamplighterGate")
    group = node_group(cluster, "gpu-lab-ng-gpu")
    template = cluster.resources[group]["Properties"]["LaunchTemplate"]["Id"]["Ref"]
    assert gate in cluster.needs(group)
    assert gate in cluster.needs(template)
    assert gate in cluster.needs(the(cluster, "Custom::LamplighterDesiredSize"))


def test_a_pool_is_shut_as_late_as_can_be(cluster: Template) -> None:
    """Nobody can open it from its gate to its group, so whatever may take long comes before both."""
    gate, size = the(cluster, "Custom::LamplighterGate"), the(cluster, "Custom::LamplighterDesiredSize")
    group = node_group(cluster, "gpu-lab-ng-gpu")
    template = cluster.resources[group]["Properties"]["LaunchTemplate"]["Id"]["Ref"]
    sizes = the(cluster, "Custom::LamplighterSizes")
    # It asks nobody: it answers with what it was told.
    version = cluster.resources[sizes]["Properties"]["LaunchTemplateVersion"]["Fn::GetAtt"][0]
    between = cluster.needs(group) - cluster.needs(gate) - {gate, template, version, size, sizes}

    assert template in cluster.needs(size)
    assert {cluster.resources[name]["Type"] for name in between} == {
        "AWS::EC2::SecurityGroup",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Role",
    }


def test_a_pools_size_is_what_the_group_says_unless_its_nodes_are_replaced_too(cluster: Template) -> None:
    group = cluster.resources[node_group(cluster, "gpu-lab-ng-gpu")]["Properties"]
    size, sizes = (the(cluster, f"Custom::Lamplighter{kind}") for kind in ("DesiredSize", "Sizes"))
    told = cluster.resources[sizes]["Properties"]

    assert {key: group["ScalingConfig"][key] for key in ("DesiredSize", "MaxSize")} == {
        key: {"Fn::GetAtt": [sizes, key]} for key in ("DesiredSize", "MaxSize")
    }
    assert (told["DesiredSize"], told["MaxSize"]) == ({"Fn::GetAtt": [size, "DesiredSize"]}, 2)
    # It is told whatever makes CloudFormation replace nodes.
    assert (told["LaunchTemplateVersion"], told["KubernetesVersion"]) == (
        group["LaunchTemplate"]["Version"],
        group["Version"],
    )


def test_an_edit_is_looked_at_before_anything_changes(cluster: Template) -> None:
    edit = the(cluster, "Custom::LamplighterEdit")
    looking = cluster.needs(edit) | {edit}

    waits = {name for name in cluster.resources if edit in cluster.needs(name)}
    others = {cluster.resources[name]["Type"] for name in cluster.resources.keys() - waits - looking}
    assert others == {"AWS::Lambda::EventInvokeConfig"}  # the looking function's own


#: By key of the lab, whether CloudFormation has EKS replace nodes for it.
EDITS: dict[str, tuple[dict[str, object], bool]] = {
    "cluster.kubernetes_version": ({"cluster": {"kubernetes_version": "1.34"}}, True),
    "cluster.workload_identity": ({"cluster": {"workload_identity": "pod"}}, True),
    "tags": ({"tags": {"CostCentre": "4711"}}, False),
    **{
        f"pools.gpu.{key}": ({"pools": {"gpu": {key: value}}}, replaces)
        for key, value, replaces in (
            ("disk_gib", 200, True),
            ("instance_type", "g5.2xlarge", True),
            ("labels", {"a": "b"}, False),
            ("metadata_hop_limit", 3, True),
            ("packages", ["tree"], True),
            ("taints", [], False),
        )
    },
    **{
        f"cluster.system_nodes.{key}": ({"cluster": {"system_nodes": {key: value}}}, replaces)
        for key, value, replaces in (
            ("disk_gib", 50, True),
            ("instance_type", "m5.large", True),
            ("labels", {"a": "b"}, False),
            ("max_nodes", 5, False),
            ("max_pods", 30, True),
            ("metadata_hop_limit", 3, True),
            ("min_nodes", 2, False),
            ("nodes", 3, False),
            ("packages", ["tree"], True),
            ("taints", [{"key": "a"}], False),
            ("update_packages", False, True),
        )
    },
}


@pytest.mark.parametrize("key", EDITS)
def test_the_step_knows_what_each_key_of_a_node_group_does(
    synthesise: Callable[..., Assembly], cluster: Template, key: str
) -> None:
    lab, replaces = EDITS[key]
    changed = synthesise(**lab).template("gpu-lab-cluster")

    before, now = groups(cluster), groups(changed)

    seen = {
        side: {
            name for group in before for name in sided(before[group], side).changed(sided(now[group], side))
        }
        for side in ("replacing", "settings")
    }
    assert seen == (
        {"replacing": {key}, "settings": set()} if replaces else {"replacing": set(), "settings": {key}}
    )
    # And so does CloudFormation.
    for name, group in cluster.of_type("AWS::EKS::Nodegroup").items():
        old, new = group["Properties"], changed.resources[name]["Properties"]
        template = old["LaunchTemplate"]["Id"]["Ref"]
        rolled = (
            old["Version"] != new["Version"] or cluster.resources[template] != changed.resources[template]
        )
        differ = {one for one in old.keys() | new.keys() if old.get(one) != new.get(one)} - {"Version"}
        touched = old["NodegroupName"] in {group for group in before if before[group] != now[group]}
        assert (rolled, bool(differ)) == (touched and replaces, touched and not replaces)


def test_a_pools_maximum_goes_with_anything(synthesise: Callable[..., Assembly], cluster: Template) -> None:
    bigger = synthesise(pools={"gpu": {"max_nodes": 1}}).template("gpu-lab-cluster")
    assert groups(bigger) == groups(cluster)


def groups(cluster: Template) -> dict[str, NodeGroupSides]:
    [step] = cluster.properties("Custom::LamplighterEdit")
    return deploy_edit.read(step["Groups"])


def sided(group: NodeGroupSides, side: str) -> Side:
    return group.replacing if side == "replacing" else group.settings


CHANGES_OF_A_POOL = {
    "type": {"instance_type": "g5.2xlarge"},
    "disk": {"disk_gib": 200},
    "nodes": {"max_nodes": 1},
    "labels": {"labels": {"a": "b"}},
}


def digests(assembly: Assembly) -> dict[str, str]:
    gates = assembly.template("gpu-lab-cluster").properties("Custom::LamplighterGate")
    return {gate["Pool"]: gate["Digest"] for gate in gates}


def test_the_gate_is_asked_only_when_the_pool_changes(synthesise: Callable[..., Assembly]) -> None:
    pools: dict[str, object] = {name: {} for name in CHANGES_OF_A_POOL}
    window = {"name": "evening", "pool": "type", "days": "daily", "start": "20:00", "end": "21:00"}

    as_it_is = digests(synthesise(pools=pools))

    assert as_it_is.keys() == pools.keys()
    assert digests(synthesise(pools=pools, windows=[window], guard={"budget": {"amount": "5"}})) == as_it_is
    changed = digests(synthesise(pools=CHANGES_OF_A_POOL))
    assert {pool for pool in pools if changed[pool] != as_it_is[pool]} == pools.keys()


def test_the_last_close_goes_first_when_the_controller_goes(controller: Template) -> None:
    """What a resource needs stays until the resource is deleted: LastClosed needs all there is."""
    last = the(controller, "Custom::LamplighterLastClosed")
    assert controller.needs(last) == set(controller.resources) - {last}


def test_the_controller_comes_after_the_cluster_and_refers_to_nothing_in_it(assembly: Assembly) -> None:
    assert "gpu-lab-cluster" in assembly.artifacts["gpu-lab-controller"]["dependencies"]
    text = (assembly.folder / "gpu-lab-controller.template.json").read_text("utf-8")
    assert "Fn::ImportValue" not in text
    assert "Export" not in assembly.template("gpu-lab-cluster").document["Outputs"]["ClusterName"]


def test_the_guards_silence_is_watched_once_cloudwatch_has_counted_a_sweep(controller: Template) -> None:
    """A new alarm takes what is missing before it existed for silence; a sweep ends well once the planner ran."""
    alarms = controller.of_type("AWS::CloudWatch::Alarm")
    silent = controller.name("AWS::CloudWatch::Alarm", AlarmName="gpu-lab-guard-silent")
    swept = the(controller, "Custom::LamplighterSwept")

    assert swept in controller.needs(silent)
    assert the(controller, "Custom::LamplighterPlan") in controller.needs(swept)
    assert not [name for name in alarms if name != silent and swept in controller.needs(name)]
    last = the(controller, "Custom::LamplighterLastClosed")
    assert {silent, swept} <= controller.needs(last), "deleted after the last close has proof"


def test_a_pool_as_the_first_release_deployed_it_is_no_change(synthesise: Callable[..., Assembly]) -> None:
    with tarfile.open(release.RELEASES / "0.1.0.tar.xz") as archive:
        file = archive.extractfile("scenario-lab-cluster.template.json")
        assert file is not None
        of_then = Template(json.load(file))
    lab = json.loads(json.dumps(YAML(typ="safe").load(LAB.read_text("utf-8")), default=str))

    now = synthesise(**lab).template("scenario-lab-cluster")

    for kind in ("Custom::LamplighterGate", "Custom::LamplighterDesiredSize"):
        assert now.one(kind)["Digest"] == of_then.one(kind)["Digest"]


def test_a_bottlerocket_pool_as_it_was_before_images_had_families_is_no_change(
    without_operator: Assembly,
) -> None:
    """Its digest had a start script that Bottlerocket never ran: without it, a leased pool would refuse a deploy."""
    assert digests(without_operator)["rocket"] == "66cfdc74b8533e31"
