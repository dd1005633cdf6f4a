"""Diagnosis of what the embedded cloud showed: pools beside others that are broken, pulls that have just ended,
a validator whose own workload says what is wrong.
"""

from typing import Any

from tests.snapshots import (
    NODES,
    Document,
    causes,
    daemonset,
    event,
    healthy,
    judge,
    pod,
    policy,
    replace,
    stages,
    waiting,
)

VALIDATOR = "nvidia-operator-validator-0"
WORKLOAD = "nvidia-device-plugin-validator-0"
OWNER = "DaemonSet/nvidia-operator-validator"
NOT_READY = "ClusterPolicy is not ready, states not ready: [state-operator-validation]"


def with_policy_not_ready(ready: int, desired: int) -> Document:
    document = healthy()
    document["kubernetes"]["clusterpolicies"] = [
        policy("notReady", reason="OperandNotReady", message=NOT_READY)
    ]
    validators = daemonset("nvidia-operator-validator", desired)
    validators["status"]["numberReady"] = ready
    document["kubernetes"]["daemonsets"] = [daemonset(desired=desired), validators]
    return document


def test_a_policy_that_waits_for_another_pools_nodes_is_no_finding_of_this_pool() -> None:
    assert causes(with_policy_not_ready(ready=3, desired=4)) == []


def test_a_policy_that_waits_for_this_pools_nodes_or_for_nobody_is() -> None:
    assert causes(with_policy_not_ready(ready=1, desired=2)) == ["operator-not-ready"]
    assert causes(with_policy_not_ready(ready=2, desired=2)) == ["operator-not-ready"]


def test_a_pod_whose_image_took_its_time_starts_from_when_it_had_it() -> None:
    document = healthy()
    late = pod("check", "lab", 0, minute=12, phase="Pending", gpus=1)
    late["status"]["containerStatuses"] = []
    replace(document, late)
    said = 'Successfully pulled image "x" in 1m58s (1m58s including waiting). Image size: 1 bytes.'
    document["kubernetes"]["events"] += [
        event("Pod", "check", "Pulled", said, 19, namespace="lab"),
        event("Pod", "check", "Started", "Started container check", 19, namespace="lab"),
    ]
    assert (causes(document), stages(document)) == ([], ["container-start"])


def validator_waits(document: Document) -> None:
    replace(document, waiting(pod(VALIDATOR, owner=OWNER), "PodInitializing", init="plugin-validation"))


def workload(document: Document, **status: Any) -> None:
    made = pod(WORKLOAD, gpus=1, phase="Pending", minute=6, owner=OWNER)
    made["status"] |= {"containerStatuses": [], **status}
    document["kubernetes"]["pods"].append(made)


def test_the_validators_own_workload_says_what_the_validator_waits_for() -> None:
    document = healthy(nodes=1)
    validator_waits(document)
    workload(document)
    document["kubernetes"]["pods"][-1] = waiting(
        document["kubernetes"]["pods"][-1],
        "CreateContainerError",
        "unresolvable CDI devices nvidia.com/gpu=x",
    )
    found = judge(document)
    assert [(each.cause.name, each.about) for each in found.findings] == [("cdi-unresolvable", NODES[0])]


def test_a_validator_whose_workload_is_refused_is_not_stuck_by_itself() -> None:
    document = healthy(nodes=1)
    validator_waits(document)
    workload(
        document,
        phase="Failed",
        reason="UnexpectedAdmissionError",
        message="Allocate failed due to requested number of devices unavailable. Requested: 1, Available: 0",
    )
    assert causes(document) == ["admission-refused"]


def test_a_daemon_that_works_on_another_node_makes_no_history_of_this_ones_failure() -> None:
    document = healthy()
    validator_waits(document)
    replace(document, pod("nvidia-operator-validator-1", number=1, minute=9, owner=OWNER))
    workload(
        document, phase="Failed", reason="UnexpectedAdmissionError", message="Requested: 1, Available: 0"
    )
    assert causes(document) == ["admission-refused"]
