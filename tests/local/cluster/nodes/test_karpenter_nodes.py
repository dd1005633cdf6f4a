"""Nodes as Karpenter has them: a taint until it knows the node, a finalizer that holds it, an instance that ends."""

import pytest

from tests.local.cluster.lab import GPU_TAINT, Lab, await_true, pass_time

pytestmark = pytest.mark.long

UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown"
FINALIZER = "karpenter.sh/termination"


@pytest.fixture
def node(lab: Lab):
    """Starts a machine of a NodePool. It is ended afterwards, whatever holds its node."""
    made = []

    def start(**more):
        taints = [GPU_TAINT, {**UNREGISTERED, "value": ""}]
        made.append(lab.gpu_node("lab-gpu", taints=taints, **more))
        return made[-1]

    yield start
    for machine in made:
        release(lab, machine)
        lab.end(machine)


def register(lab, machine):
    """What Karpenter does with a new node: it takes its taint off and puts its finalizer on."""
    await_true(lambda: lab.node(machine), f"{machine.node_name} has registered")
    taints = [one for one in lab.node(machine)["spec"]["taints"] if one["key"] != UNREGISTERED["key"]]
    change = {"metadata": {"finalizers": [FINALIZER]}, "spec": {"taints": taints}}
    lab.kubernetes.merge(f"/api/v1/nodes/{machine.node_name}", change)


def release(lab, machine):
    lab.kubernetes.merge(f"/api/v1/nodes/{machine.node_name}", {"metadata": {"finalizers": None}})


def registered(lab, machine):
    register(lab, machine)
    await_true(lambda: lab.ready(machine), f"{machine.node_name} is Ready")
    return machine


def terminate(lab, machine):
    lab.fleet.machine_stopping(machine.instance_id)
    pass_time(35)
    lab.fleet.machine_stopped(machine.instance_id)


def taints(lab, machine):
    return [one["key"] for one in lab.node(machine)["spec"].get("taints", [])]


def test_a_node_has_its_capacity_and_karpenters_taint_at_its_first_moment(lab, node):
    machine = node()
    await_true(lambda: lab.node(machine), "it has registered")

    found = lab.node(machine)
    assert found["spec"]["providerID"] == f"aws:///ap-northeast-2a/{machine.instance_id}"
    assert {"cpu", "memory", "pods"} <= set(found["status"]["capacity"])
    assert UNREGISTERED in found["spec"]["taints"]
    labels = found["metadata"]["labels"]
    assert labels["topology.kubernetes.io/zone"] == "ap-northeast-2a"
    assert labels["node.kubernetes.io/instance-type"] == "g5.xlarge"
    assert (labels["kubernetes.io/arch"], labels["kubernetes.io/os"]) == ("amd64", "linux")


def test_gpus_come_when_karpenter_has_taken_its_taint_off(lab, node):
    machine = node()
    await_true(lambda: lab.ready(machine), "it is Ready")
    pass_time(300)
    assert lab.allocatable(machine) is None, "no plugin runs on a node that Karpenter does not know"

    register(lab, machine)

    lab.await_gpus(machine)
    assert lab.allocatable(machine) == "1"


def test_a_kubelet_that_the_cluster_refuses_registers_when_it_is_let_in(lab, node, monkeypatch):
    monkeypatch.setattr(lab.fleet.network, "admits", lambda _: False)
    machine = node()
    pass_time(900)
    assert lab.node(machine) is None

    monkeypatch.setattr(lab.fleet.network, "admits", lambda _: True)

    await_true(lambda: lab.node(machine), "it has registered")


def test_a_finalizer_holds_the_node_of_an_ended_instance(lab, node):
    machine = registered(lab, node())
    path = lab.run("held", "sleep", "infinity", restartPolicy="Always", **lab.on(machine))
    lab.await_phase(path, "Running")

    terminate(lab, machine)

    await_true(lambda: "deletionTimestamp" in lab.node(machine)["metadata"], "it is marked as deleted")
    await_true(lambda: lab.condition(machine)["status"] == "Unknown", "nobody hears of its kubelet")
    pass_time(1800)
    assert lab.node(machine)["metadata"]["finalizers"] == [FINALIZER]
    assert lab.kubernetes.get(path)["spec"]["nodeName"] == machine.node_name

    release(lab, machine)

    await_true(lambda: lab.node(machine) is None, "the node is gone")
    await_true(lambda: lab.kubernetes.find(path) is None, "its pod is gone")


def test_pods_of_an_unreachable_node_are_given_up_and_nobody_ends_them(lab, node):
    machine = registered(lab, node())
    lab.await_gpus(machine)
    borne = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    path = lab.run("given-up", "sleep", "infinity", tolerations=borne, **lab.on(machine))
    lab.await_phase(path, "Running")

    terminate(lab, machine)

    await_true(lambda: "deletionTimestamp" in lab.kubernetes.get(path)["metadata"], "it is given up")
    pass_time(600)
    assert lab.kubernetes.find(path), "the kubelet that would end it is gone"
    daemon = lab.pod_of("nvidia-device-plugin-daemonset", machine)
    assert "deletionTimestamp" not in daemon["metadata"]


def test_a_stopped_instance_has_its_node_tainted_until_it_runs_again(lab, node):
    machine = registered(lab, node())
    lab.fleet.machine_stopping(machine.instance_id)
    lab.fleet.machine_off(machine.instance_id)
    await_true(lambda: SHUTDOWN in taints(lab, machine), "the cloud controller has tainted it")
    await_true(lambda: not lab.ready(machine), "nobody hears of its kubelet")

    lab.fleet.machine_started(machine)

    await_true(lambda: lab.ready(machine), "it is Ready again")
    assert SHUTDOWN not in taints(lab, machine)


def test_a_node_that_karpenter_has_deleted_before_the_instance_ends_stays_away(lab, node):
    machine = registered(lab, node())
    release(lab, machine)
    lab.kubernetes.delete(f"/api/v1/nodes/{machine.node_name}")
    pass_time(120)
    assert lab.node(machine) is None, "a kubelet registers at its start only"

    terminate(lab, machine)

    pass_time(600)
    assert lab.node(machine) is None
