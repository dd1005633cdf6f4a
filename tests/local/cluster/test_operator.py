"""The operator's reactions to its ClusterPolicy, with the habits that mislead whoever trusts its state alone."""

import pytest

from tests.local.cluster.lab import POLICY, await_true

GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
DEVICE_PLUGIN = "/apis/apps/v1/namespaces/gpu-operator/daemonsets/nvidia-device-plugin-daemonset"


@pytest.fixture
def policy(lab):
    """Changes the policy's spec, and gives everything back at the end."""

    def change(spec):
        lab.kubernetes.merge(POLICY, {"spec": spec})

    yield change
    change({"devicePlugin": {"enabled": True}, "daemonsets": {"tolerations": [GPU_TOLERATION]}})
    lab.await_whole()
    await_true(lambda: state(lab) == "ready", "the policy is ready")


def state(lab) -> str:
    return lab.kubernetes.get(POLICY).get("status", {}).get("state", "")


def test_tolerations_that_do_not_fit_the_taint_leave_daemonsets_without_nodes_and_a_ready_policy(lab, policy):
    policy({"daemonsets": {"tolerations": [{"key": "other", "operator": "Exists"}]}})

    def nowhere() -> bool:
        found = lab.kubernetes.find(DEVICE_PLUGIN)
        return bool(found) and found["status"].get("desiredNumberScheduled") == 0

    await_true(nowhere, "the device plugin's DaemonSet fits no node")
    await_true(lambda: state(lab) == "ready", "the policy says ready")


def test_the_policy_is_not_ready_while_an_operand_of_a_new_node_is_not(lab):
    # Nobody may look just then: so its device plugin crashes until somebody has.
    lab.fleet.faults.on("device-plugin-missing", "lab-ng-late")
    machine = lab.gpu_node("lab-ng-late")
    message = await_true(
        lambda: next(
            (
                condition["message"]
                for condition in lab.kubernetes.get(POLICY)["status"].get("conditions", [])
                if condition["type"] == "Error" and condition["status"] == "True"
            ),
            "",
        ),
        "the policy has an Error condition",
    )
    assert message.startswith("ClusterPolicy is not ready, states not ready: [")
    lab.fleet.faults.off()
    lab.await_gpus(machine)
    await_true(lambda: state(lab) == "ready", "the policy is ready again")
    lab.end(machine)


def test_a_node_that_refuses_the_operands_gets_none(lab):
    machine = lab.gpu_node()
    await_true(lambda: lab.node(machine), "the node has registered")
    lab.kubernetes.merge(
        f"/api/v1/nodes/{machine.node_name}",
        {"metadata": {"labels": {"nvidia.com/gpu.deploy.operands": "false"}}},
    )

    def refused() -> bool:
        labels = lab.node(machine)["metadata"]["labels"]
        return labels.get("nvidia.com/gpu.deploy.device-plugin") == "false"

    await_true(refused, "the operator has marked the node")
    await_true(
        lambda: lab.pod_of("nvidia-device-plugin-daemonset", machine) is None, "no device plugin there"
    )
    lab.end(machine)
