"""The imitation of Auto Mode: what refuses a launch, what ends a node, and the less common nodes."""

import json

import pytest

from local.auto_mode.definitions import CLAIMS, CLASSES, POOLS
from tests.local.cluster.auto_mode.conftest import CLUSTER_ROLE, POOL
from tests.local.cluster.lab import await_true, pass_time

pytestmark = pytest.mark.long


def test_no_more_nodes_than_the_limit(auto):
    assert len(auto.opened(2)) == 2
    auto.scale(3)
    pass_time(300)
    assert len(auto.claims()) == 2


def test_a_deny_on_the_clusters_role_by_the_pools_tag_bars_its_launches(auto):
    lock = {
        "Effect": "Deny",
        "Action": ["ec2:CreateFleet", "ec2:RunInstances"],
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:RequestTag/eks:kubernetes-node-pool-name": POOL}},
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [lock]})
    named = {"RoleName": CLUSTER_ROLE, "PolicyName": "lock"}
    auto.call("iam", "put_role_policy", **named, PolicyDocument=document)
    auto.scale(1)

    def refused():
        return [one for one in auto.claims() if auto.condition(one, "Launched")["reason"] == "Unauthorized"]

    await_true(refused, "the claim says that it may not launch")
    pass_time(120)
    assert not auto.instances("pending", "running")

    auto.call("iam", "delete_role_policy", **named)

    await_true(lambda: auto.instances("running"), "the claim is launched after all")


def test_a_cluster_role_that_trusts_no_session_tags_launches_nothing(auto):
    known = auto.call("iam", "get_role", RoleName=CLUSTER_ROLE)["Role"]["AssumeRolePolicyDocument"]
    (statement,) = known["Statement"]
    without = json.dumps({**known, "Statement": [{**statement, "Action": ["sts:AssumeRole"]}]})
    auto.call("iam", "update_assume_role_policy", RoleName=CLUSTER_ROLE, PolicyDocument=without)
    auto.scale(1)

    def told():
        return [auto.condition(one, "Launched").get("message", "") for one in auto.claims()]

    await_true(
        lambda: any("sts:TagSession" in message for message in told()), "the claim says what is missing"
    )
    assert not auto.instances("pending", "running")
    auto.call("iam", "update_assume_role_policy", RoleName=CLUSTER_ROLE, PolicyDocument=json.dumps(known))


def test_a_shortage_is_an_event_with_the_code_and_then_claims_come_and_go(auto):
    auto.eks.moto_additions.faults.no_capacity("g5.xlarge")
    auto.scale(1)

    def told():
        return [one["message"] for one in auto.events() if one["reason"] == "InsufficientCapacityError"]

    first = await_true(told, "the shortage is told")
    assert any("InsufficientInstanceCapacity" in message for message in first)
    pass_time(100)
    assert any("all requested instance types were unavailable during launch" in message for message in told())
    assert not auto.instances("pending", "running")

    auto.eks.moto_additions.faults.clear("g5.xlarge")

    await_true(lambda: auto.instances("running"), "there is capacity again")


def test_a_deleted_node_object_ends_its_instance_and_the_pool_starts_another(auto):
    (name,) = auto.opened(1)
    auto.lab.kubernetes.delete(f"/api/v1/nodes/{name}")

    def another():
        return [one for one in auto.instances("running") if one["InstanceId"] != name]

    await_true(another, "another instance runs")
    await_true(lambda: auto.node(name) is None, "the node is gone")


class TestGrace:
    """A pod that may not be disrupted, on a node that ends."""

    @pytest.fixture
    def stubborn(self, auto):
        (name,) = auto.opened(1)
        path = auto.lab.run(
            "stubborn",
            "sleep",
            "infinity",
            nodeSelector={"kubernetes.io/hostname": name},
            tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}],
            terminationGracePeriodSeconds=30,
        )
        auto.lab.await_phase(path, "Running")
        keep = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
        auto.lab.kubernetes.merge(path, keep)
        yield path
        auto.lab.kubernetes.delete(path, {"gracePeriodSeconds": 0})

    def test_a_node_pool_that_states_none_gives_its_claims_a_day(self, auto):
        """User guide, create-node-pool, Termination Grace Period."""
        stated = {"template": {"spec": {"terminationGracePeriod": None}}}
        auto.lab.kubernetes.merge(f"{POOLS}/{POOL}", {"spec": stated})
        auto.opened(1)

        (claim,) = auto.claims()

        assert claim["spec"]["terminationGracePeriod"] == "24h0m0s"

    @pytest.mark.usefixtures("stubborn")
    def test_it_holds_the_node_until_the_grace_ends_and_no_longer(self, auto):
        begun = auto.lab.clock.time()
        auto.scale(0)
        pass_time(480)
        assert auto.instances("running"), "the pod holds its node"
        assert [one for one in auto.events() if one["reason"] == "FailedDraining"]

        auto.await_zero()
        assert 590 < auto.lab.clock.time() - begun < 780

    @pytest.mark.usefixtures("stubborn")
    def test_a_deadline_that_is_written_later_ends_it_at_once(self, auto):
        auto.scale(0)
        pass_time(20)
        (claim,) = auto.claims()
        soon = {
            "karpenter.sh/nodeclaim-termination-timestamp": auto.lab.clock.now().strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
        }
        auto.lab.kubernetes.merge(
            f"{CLAIMS}/{claim['metadata']['name']}", {"metadata": {"annotations": soon}}
        )
        pass_time(60)
        assert not auto.instances("running")


def test_a_claim_that_never_registers_is_given_up_after_fifteen_minutes(auto, monkeypatch):
    monkeypatch.setattr(auto.lab.fleet.network, "admits", lambda _: False)
    auto.scale(1)
    await_true(lambda: auto.instances("running"), "its instance runs")
    (first,) = auto.claims()
    assert auto.condition(first, "Registered")["reason"] == "NodeNotFound"

    def replaced():
        return [one for one in auto.claims() if one["metadata"]["uid"] != first["metadata"]["uid"]]

    await_true(replaced, "the next claim has come")
    auto.scale(0)
    auto.await_zero()


@pytest.mark.parametrize(
    ("addresses", "phase"), [({}, "Pending"), ({"secondaryIPv4PrefixCount": 1}, "Succeeded")]
)
def test_a_node_class_with_efa_gives_its_instances_the_interfaces_and_its_pods_all_the_addresses(
    auto, addresses, phase
):
    api = auto.lab.kubernetes
    interfaces = [
        {"deviceIndex": 0, "networkCardIndex": 0, "interfaceType": "interface", **addresses},
        {"deviceIndex": 1, "networkCardIndex": 0, "interfaceType": "efa-only"},
    ]
    networking = {"advancedNetworking": {"networkInterfaces": interfaces}}
    api.merge(f"{CLASSES}/{POOL}", {"spec": networking})
    wanted = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.8xlarge"]}
    api.merge(f"{POOLS}/{POOL}", {"spec": {"template": {"spec": {"requirements": [wanted]}}}})
    pass_time(1)

    (node,) = auto.opened(1)

    (instance,) = auto.instances("running")
    kinds = [one["InterfaceType"] for one in instance["NetworkInterfaces"]]
    assert sorted(kinds) == ["efa-only", "interface"]
    # AWS's image has the plugin.
    assert auto.node(node)["status"]["allocatable"]["vpc.amazonaws.com/efa"] == "1"
    pod = auto.lab.run("asks", nodeName=node)
    pass_time(120)
    assert api.get(pod)["status"]["phase"] == phase
    api.delete(pod)


def test_an_arm_machine_is_what_comes_where_no_architecture_is_pinned(auto):
    """Document 000: the cheapest GPU was an ARM machine, and images for x86 did not start there."""
    wanted = {"key": "eks.amazonaws.com/instance-category", "operator": "In", "values": ["g"]}
    auto.lab.kubernetes.merge(f"{POOLS}/{POOL}", {"spec": {"template": {"spec": {"requirements": [wanted]}}}})

    (name,) = auto.opened(1)

    assert auto.node(name)["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"
