"""The imitation of Auto Mode: its nodes, its launch bar and its switch-off, and its claims beside the recording.

The recording is of the real Karpenter: the same stages, in the same order. test_ends_and_refusals.py has what takes
longer.
"""

import pytest
from botocore.exceptions import ClientError

from local.auto_mode.definitions import CLAIMS, POOLS
from local.kubernetes.api import ApiError
from tests.karpenter_recording.recording import Moment, lives, moments
from tests.karpenter_recording.watching import Watch
from tests.local.cluster.auto_mode.conftest import POOL
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


@pytest.mark.parametrize("operation", ["terminate_instances", "stop_instances", "reboot_instances"])
def test_nobody_but_eks_ends_or_stops_an_instance(auto, operation):
    (name,) = auto.opened(1)

    with pytest.raises(ClientError) as denied:
        auto.call("ec2", operation, InstanceIds=[name])

    assert denied.value.response["Error"]["Code"] == "UnauthorizedOperation"
    assert "explicit deny in a resource-based policy" in str(denied.value)
    assert auto.instances("running")


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


def test_the_switch_off_ends_everything_at_once(auto):
    names = auto.opened(2)
    auto.switch(on=False)

    auto.await_zero()
    assert not any(map(auto.node, names))
    assert auto.pool()["spec"]["replicas"] == 2

    auto.switch(on=True)
    await_true(lambda: len(auto.instances("running")) == 2, "switched on again, it starts what the pool says")


@pytest.fixture
def watch(auto):
    watch = Watch(auto.lab.kubernetes)
    with watch.watching():
        watch.begin()
        yield watch


def seen(watch) -> tuple[Moment, ...]:
    return tuple(Moment(**each) for each in watch.moments)


def count(watch, what: str) -> int:
    return sum(1 for moment in seen(watch) if moment.what == what)


def test_a_claim_comes_and_goes_through_the_recorded_stages(auto, watch):
    auto.opened(1)
    auto.scale(0)
    auto.await_zero()
    await_true(lambda: count(watch, "gone"), "its end was seen")

    [life] = lives(seen(watch)).values()
    [came] = lives(moments("grow")).values()
    went = next(iter(lives(moments("close")).values()))
    assert life == came + went


def test_one_very_node_goes_and_no_other_comes(auto, watch):
    auto.opened(2)
    watch.begin()
    (oldest, _) = sorted(auto.claims(), key=lambda one: one["metadata"]["creationTimestamp"])
    auto.lab.kubernetes.merge(f"{POOLS}/{POOL}", {"spec": {"limits": {"nodes": "1"}}})
    auto.lab.kubernetes.delete(f"{CLAIMS}/{oldest['metadata']['name']}")
    auto.scale(1)
    await_true(lambda: count(watch, "gone"), "it is gone")
    auto.lab.kubernetes.merge(f"{POOLS}/{POOL}", {"spec": {"limits": {"nodes": "2"}}})
    pass_time(120)

    recorded = moments("shrink")
    assert list(lives(seen(watch)).values()) == list(lives(recorded).values())
    assert "created" not in [moment.what for moment in recorded]
    auto.scale(0)
    auto.await_zero()
