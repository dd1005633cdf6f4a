"""The imitation of Auto Mode: what starts, what it looks like, who may end it, and what ends it."""

import json

import pytest
from botocore.exceptions import ClientError

from local.auto_mode.definitions import CLAIMS, CLASSES, POOLS
from local.kubernetes.api import ApiError
from tests.local.cluster.auto_mode.conftest import CLUSTER_ROLE, POOL
from tests.local.cluster.lab import await_true, pass_time


def test_replicas_become_nodes_with_their_gpus(auto):
    (name,) = auto.opened(1)

    (claim,) = auto.claims()
    for kind in ("Launched", "Registered", "Initialized", "Ready"):
        assert auto.condition(claim, kind)["status"] == "True"
    node = auto.node(name)
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    labels = node["metadata"]["labels"]
    assert labels["karpenter.sh/nodepool"] == POOL
    assert labels["eks.amazonaws.com/compute-type"] == "auto"
    assert labels["lamplighter.pool"] == "gpu"
    assert labels["eks.amazonaws.com/instance-gpu-name"] == "a10g"
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["nvidia.com/gpu"]
    (instance,) = auto.instances("running")
    assert instance["InstanceId"] == name
    tags = auto.tags(instance)
    assert tags["eks:eks-cluster-name"] == "lab"
    assert tags["eks:kubernetes-node-class-name"] == POOL
    assert "aws:ec2:managed-launch" in tags
    assert instance["Operator"] == {"Managed": True, "Principal": "eks.amazonaws.com"}
    assert auto.pool()["status"]["nodes"] == 1

    auto.scale(0)
    auto.await_zero()
    assert auto.node(name) is None


def test_no_more_nodes_than_the_limit(auto):
    assert len(auto.opened(2)) == 2
    auto.scale(3)
    pass_time(300)
    assert len(auto.claims()) == 2


@pytest.mark.parametrize("operation", ["terminate_instances", "stop_instances", "reboot_instances"])
def test_nobody_but_eks_ends_or_stops_an_instance(auto, operation):
    (name,) = auto.opened(1)

    with pytest.raises(ClientError) as denied:
        auto.call("ec2", operation, InstanceIds=[name])

    assert denied.value.response["Error"]["Code"] == "UnauthorizedOperation"
    assert "explicit deny in a resource-based policy" in str(denied.value)
    assert auto.instances("running")


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


def test_one_very_node_goes_without_a_replacement(auto):
    first, second = auto.opened(2)
    claim = next(one for one in auto.claims() if one["status"]["nodeName"] == second)
    api = auto.lab.kubernetes
    api.merge(f"{POOLS}/{POOL}", {"spec": {"limits": {"nodes": "1"}}})
    api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
    auto.scale(1)

    await_true(lambda: auto.node(second) is None, "the chosen node is gone")
    assert [one["InstanceId"] for one in auto.instances("pending", "running")] == [first]


class TestLaunchBar:
    """A policy of admission on the creation of claims, as the product's."""

    POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"

    @pytest.fixture
    def barred(self, auto):
        api = auto.lab.kubernetes
        rule = {"apiGroups": ["karpenter.sh"], "apiVersions": ["*"], "operations": ["CREATE"]}
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{**rule, "resources": ["nodeclaims"]}]},
            "validations": [{"expression": "false", "message": "no lease for this pool"}],
        }
        api.request("POST", self.POLICIES, {"metadata": {"name": "bar"}, "spec": spec})
        binding = {"policyName": "bar", "validationActions": ["Deny"]}
        api.request("POST", self.BINDINGS, {"metadata": {"name": "bar"}, "spec": binding})
        await_true(lambda: not self.admits(auto), "the API server knows the policy")
        yield auto
        self.lift(auto)

    def admits(self, auto):
        """Whether a claim would be created, by a dry run."""
        reference = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": POOL}
        spec = {"nodeClassRef": reference, "requirements": []}
        claim = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": "try"},
            "spec": spec,
        }
        try:
            auto.lab.kubernetes.request("POST", f"{CLAIMS}?dryRun=All", claim)
        except ApiError:
            return False
        return True

    def lift(self, auto):
        auto.lab.kubernetes.delete(f"{self.BINDINGS}/bar")
        auto.lab.kubernetes.delete(f"{self.POLICIES}/bar")
        await_true(lambda: self.admits(auto), "the API server has forgotten the policy")

    def test_no_claim_is_born_past_it_whoever_scales_the_pool(self, barred):
        barred.scale(1)
        pass_time(600)
        assert not barred.claims()
        assert not barred.instances("pending", "running")
        assert barred.condition(barred.pool(), "Ready")["status"] == "True"

    def test_a_change_of_replicas_cuts_the_back_off_short(self, barred):
        barred.scale(1)
        pass_time(900)
        self.lift(barred)
        barred.scale(0)
        barred.scale(1)
        pass_time(5)
        assert barred.claims()


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


def test_a_node_ends_with_its_life(auto):
    (name,) = auto.opened(1)
    pass_time(2 * 3600 - 600)
    assert auto.node(name)
    await_true(lambda: auto.node(name) is None, "the node is gone")


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


def test_the_switch_off_ends_everything_at_once(auto):
    names = auto.opened(2)
    auto.switch(on=False)

    auto.await_zero()
    assert not any(map(auto.node, names))
    assert auto.pool()["spec"]["replicas"] == 2

    auto.switch(on=True)
    await_true(lambda: len(auto.instances("running")) == 2, "switched on again, it starts what the pool says")


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
