"""The imitation of Auto Mode: its nodes and its switch-off, and its claims beside the recording.

The recording is of the real Karpenter: the same stages, in the same order. test_ends_and_refusals.py has what takes
longer.
"""

import pytest
from botocore.exceptions import ClientError

from local.auto_mode.definitions import CLAIMS, POOLS
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


def test_nobody_but_eks_ends_or_stops_an_instance(auto):
    (name,) = auto.opened(1)

    for operation in ("terminate_instances", "stop_instances", "reboot_instances"):
        with pytest.raises(ClientError) as denied:
            auto.call("ec2", operation, InstanceIds=[name])

        assert denied.value.response["Error"]["Code"] == "UnauthorizedOperation"
        assert "explicit deny in a resource-based policy" in str(denied.value)
        assert auto.instances("running")


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
