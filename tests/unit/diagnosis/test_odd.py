"""Odd but legal snapshots: lists as the CLIs print them, absent or empty keys, failures followed by success."""

from copy import deepcopy
from typing import Any

import pytest

from lamplighter.domain.diagnosis.rules.symptoms import symptom
from tests.diagnosis_cases import aws, conditions, leave, nvidia, vanish
from tests.snapshots import (
    NODES,
    POOL,
    SINCE,
    Document,
    activity,
    at,
    causes,
    event,
    healthy,
    judge,
    no_gpus,
    pod,
    replace,
    stages,
    waiting,
    without,
)

CLI_FRAMES = {
    "scaling_activities": "Activities",
    "security_groups": "SecurityGroups",
    "subnets": "Subnets",
    "quotas": "Quotas",
}


def framed(document: Document) -> Document:
    """The same document as kubectl -o json and the AWS CLI print it."""
    changed = deepcopy(document)
    for name, items in changed["kubernetes"].items():
        changed["kubernetes"][name] = {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {}}
    for name, frame in CLI_FRAMES.items():
        changed["aws"][name] = {frame: changed["aws"][name]}
    changed["aws"]["instances"] = {"Reservations": [{"Instances": changed["aws"]["instances"]}]}
    changed["aws"]["nodegroup"] = {"nodegroup": changed["aws"]["nodegroup"]}
    return changed


def test_the_frames_of_the_clis_are_read_like_the_lists_in_them() -> None:
    assert judge(framed(healthy())).to_json() == {"findings": [], "in_progress": []}
    for case in (*aws.CASES, *nvidia.CASES):
        document = healthy()
        case.shows(document, 0)
        assert causes(framed(document)) == [case.cause]


def test_null_is_as_good_as_absent() -> None:
    document = healthy()
    document["aws"] |= dict.fromkeys(document["aws"])
    document["kubernetes"] |= {name: None for name in document["kubernetes"] if name not in {"nodes", "pods"}}
    assert causes(document) == []


def test_nodes_that_are_there_and_whole_need_nothing_else_to_be_read() -> None:
    document = healthy()
    document["kubernetes"] = {"nodes": document["kubernetes"]["nodes"]}
    del document["aws"], document["logs"], document["logs_previous"]
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


def test_a_list_of_nodes_that_is_empty_means_that_none_is_there() -> None:
    document = healthy()
    document["kubernetes"]["nodes"] = []
    document["aws"]["instances"] = []
    document["aws"]["scaling_activities"] = []
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert "0 of 2 expected instances" in str(found.findings[0].evidence[0])


def test_instances_that_run_where_nodes_were_not_read_are_not_called_missing() -> None:
    document = healthy()
    document["kubernetes"] = {}
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert "2 of 2 instances run" in str(found.findings[0].evidence[0])
    assert "kubernetes.nodes" in " ".join(map(str, found.findings[0].evidence))


def health(code: str, message: str) -> Document:
    document = healthy()
    vanish(document, 0)
    vanish(document, 1)
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": code, "message": message, "resourceIds": [POOL]}
    ]
    return document


@pytest.mark.parametrize("code", ["AccessDenied", "NodeCreationFailure", "Ec2SubnetInvalidConfiguration"])
def test_nodes_that_could_not_join_and_were_taken_away_again_did_not_join(code: str) -> None:
    document = health(code, "Your worker nodes do not have access to the cluster or the API")
    assert causes(document) == ["node-not-joined"]


def test_addresses_that_the_node_group_misses_are_missing() -> None:
    document = health("InsufficientFreeAddresses", "Amazon Autoscaling was unable to launch instances")
    assert causes(document) == ["no-addresses"]


@pytest.mark.parametrize(
    "said",
    [
        "The image id '[ami-0123]' does not exist. Launching EC2 instance failed.",
        "The key pair 'self-service' does not exist. Launching EC2 instance failed.",
        "Invalid value for the device name '/dev/xvdz'. Launching EC2 instance failed.",
    ],
)
def test_a_refusal_that_no_rule_knows_is_quoted(said: str) -> None:
    document = healthy()
    vanish(document, 1)
    document["aws"]["scaling_activities"].append(activity(said))
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert said[:30] in str(found.findings[0].evidence[0])


def test_a_pod_that_no_claim_fits_is_not_called_a_lack_of_capacity() -> None:
    """Karpenter's events about a pod mention devices, prices and services, but no refusal."""
    document = healthy()
    vanish(document, 1)
    said = (
        "Failed to schedule pod, incompatible with NodeClaim gpu: no instance type of that price and device"
    )
    document["kubernetes"]["events"].append(event("Pod", "train", "FailedScheduling", said, 5))
    assert "no-capacity" not in causes(document)


@pytest.mark.parametrize(
    ("inner", "cause"),
    [
        (
            "InsufficientInstanceCapacity: We currently do not have sufficient g5.xlarge capacity",
            "no-capacity",
        ),
        (
            "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0",
            "vcpu-quota",
        ),
        ("UnauthorizedOperation: You are not authorized to perform this operation", "launch-denied"),
        ("InsufficientFreeAddressesInSubnet: not enough free addresses in subnet", "no-addresses"),
        ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", "vcpu-quota"),
    ],
)
def test_karpenter_s_event_is_judged_by_its_inner_code(inner: str, cause: str) -> None:
    document = healthy()
    vanish(document, 1)
    said = (
        f"NodeClaim gpu-x7k2p event: creating instance, insufficient capacity, with fleet error(s), {inner}"
    )
    document["kubernetes"]["events"].append(
        event("NodeClaim", "gpu-x7k2p", "InsufficientCapacityError", said, namespace="")
    )
    assert causes(document) == [cause]


def test_a_claim_that_was_launched_in_the_end_is_history() -> None:
    document = healthy()
    del document["aws"]
    document["kubernetes"]["events"].append(
        event(
            "NodeClaim",
            "gpu-x7k2p",
            "InsufficientCapacityError",
            "creating instance, insufficient capacity",
            1,
        )
    )
    launched = {"type": "Launched", "status": "True", "lastTransitionTime": at(2)}
    document["kubernetes"]["nodeclaims"] = [
        {
            "metadata": {"name": "gpu-x7k2p"},
            "status": {"conditions": [launched], "providerID": "aws:///ap-northeast-2a/i-0aaaaaaaaaaaaaaa1"},
        }
    ]
    assert causes(document) == []


def test_events_of_the_newer_api_are_read_as_well() -> None:
    document = healthy()
    leave(document, 1)
    document["expected"]["nodes"] = 1
    replace(document, pod(f"{nvidia.PLUGIN}-0", phase="Pending"))
    no_gpus(document, 0)
    document["kubernetes"]["events"].append(
        {
            "regarding": {"kind": "Pod", "namespace": "gpu-operator", "name": f"{nvidia.PLUGIN}-0"},
            "reason": "FailedCreatePodSandBox",
            "note": 'Failed to create pod sandbox: no runtime for "nvidia" is configured',
            "eventTime": at(10).replace("Z", ".123456Z"),
            "series": {"count": 9, "lastObservedTime": at(19).replace("Z", ".654321Z")},
        }
    )
    document["aws"]["instances"] = document["aws"]["instances"][:1]
    assert causes(document) == ["runtime-missing"]


def test_a_debug_pod_s_word_counts_nothing_where_pods_were_not_read_either() -> None:
    document = healthy(nodes=1)
    del document["kubernetes"]["pods"]
    document["logs"] = {"default/node-debugger-ip-192-168-12-10-x/debugger": nvidia.LOST}
    assert causes(document) == []


def test_a_refusal_of_the_kubelet_is_known_from_its_event_alone() -> None:
    document = healthy(nodes=1)
    del document["kubernetes"]["pods"]
    said = "Allocate failed: requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0"
    document["kubernetes"]["events"] = [
        event("Pod", "train-0", "UnexpectedAdmissionError", said, namespace="lab")
    ]
    assert causes(document) == ["admission-refused"]


def test_a_plugin_that_registered_after_all_has_what_it_missed_before() -> None:
    document = healthy()
    no_gpus(document, 0)
    document["logs"][f"gpu-operator/{nvidia.PLUGIN}-0/main"] = (
        "Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1\n"
        "Registered device plugin for 'nvidia.com/gpu' with Kubelet\n"
    )
    assert causes(document) == ["gpu-count-short"]


def test_a_pod_whose_sandbox_came_in_the_end_waits_for_something_else() -> None:
    document = healthy()
    replace(document, waiting(pod("train-0", "lab", 0, gpus=1), "CrashLoopBackOff", "back-off", restarts=4))
    failed = 'Failed to create pod sandbox: no runtime for "nvidia" is configured'
    for reason, message, minute in (
        ("FailedCreatePodSandBox", failed, 3),
        ("Started", "Started container", 4),
    ):
        document["kubernetes"]["events"].append(
            event("Pod", "train-0", reason, message, minute, namespace="lab")
        )
    assert causes(document) == ["unknown"]


def test_a_validator_that_keeps_the_plugin_waiting_is_the_cause() -> None:
    document = healthy()
    no_gpus(document, 0)
    replace(document, waiting(pod(f"{nvidia.PLUGIN}-0"), "PodInitializing", init="toolkit-validation"))
    stuck = waiting(
        pod(f"{nvidia.VALIDATOR}-0"), "CrashLoopBackOff", "back-off", restarts=7, init="driver-validation"
    )
    replace(document, stuck)
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["validator-stuck"]
    assert "driver-validation" in str(found.findings[0].evidence[0])


@pytest.mark.parametrize(
    "log",
    [
        "torch.distributed.DistStoreError: Timed out after 121 seconds waiting for clients. 1/2 clients joined.",
        "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect",
        "RuntimeError: TCPStore: wait timeout after 300000ms, keys: /worker/group",
        "node-1:52:52 [0] NCCL WARN socketPollConnect: connect to 10.0.1.7<39211> returned Connection timed out (110)",
    ],
)
def test_every_way_of_saying_that_the_others_are_not_reached(log: str) -> None:
    document = healthy()
    aws.ranks(document, log)
    assert causes(document) == ["nccl-path-blocked"]


def test_ranks_that_met_in_a_later_job_had_a_way_after_all() -> None:
    document = healthy()
    aws.ranks(document, aws.STORE, called="first", phase="Failed", minute=5)
    aws.ranks(document, aws.RESULT, called="second", phase="Succeeded", minute=12)
    assert causes(document) == []


def test_the_cause_of_the_last_minutes_is_not_that_of_yesterday() -> None:
    document = healthy()
    document["kubernetes"]["events"] += [
        event("Pod", "train-0", "Failed", "Error: unsatisfied condition: cuda>=13.0", -60, namespace="lab"),
        event("Node", NODES[0], "NvidiaXID79Error", "fatal", -60),
    ]
    document["aws"]["scaling_activities"].append(activity(aws.QUOTA, minute=-60))
    document["logs"][f"gpu-operator/{nvidia.PLUGIN}-0/main"] = (
        f"E1120 10:00:00.000001 1 health.go:159] {nvidia.XID}"
    )
    assert causes(document) == []


def test_an_instance_that_is_there_beside_one_that_is_refused() -> None:
    document = healthy()
    vanish(document, 1)
    document["now"] = at(2)
    leave(document, 0)
    document["aws"]["scaling_activities"].append(activity(aws.CAPACITY))
    assert (causes(document), stages(document)) == (["no-capacity"], ["node-join"])


def test_a_full_pool_with_a_waiting_class_is_healthy() -> None:
    document = healthy()
    said = (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node selector, 2 Insufficient nvidia.com/gpu."
    )
    for number in range(30):
        document["kubernetes"]["pods"].append(pod(f"seat-{number}", "class", None, gpus=1, phase="Pending"))
        document["kubernetes"]["events"].append(
            event("Pod", f"seat-{number}", "FailedScheduling", said, namespace="class")
        )
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


def test_two_nodes_with_two_troubles_and_a_pod_with_a_third() -> None:
    document = healthy()
    nvidia.CASES[0].shows(document, 0)
    conditions(document, 1).append(
        {
            "type": "AcceleratedHardwareReady",
            "status": "False",
            "reason": "NvidiaXID48Error",
            "message": "DBE",
        }
    )
    late = pod("late", "lab", None, gpus=1, phase="Pending", tolerates=False)
    document["kubernetes"]["pods"].append(late)
    assert causes(document) == ["untolerated-taint", "driver-mismatch", "xid"]


def test_no_text_that_names_a_cause_is_passed_over_for_want_of_its_words() -> None:
    shown = [
        nvidia.MISMATCH,
        nvidia.BROKEN,
        nvidia.TOO_OLD,
        nvidia.CDI,
        "CUDA driver version is insufficient for CUDA runtime version",
        "nvml error: driver not loaded",
        "could not load NVML library: libnvidia-ml.so.1",
        "Incompatible platform detected",
        "Incompatible strategy detected auto",
        'no runtime for "nvidia" is configured',
        'RuntimeClass "nvidia" not found',
        "failed to assign an IP address to container",
        "InsufficientCidrBlocks: no blocks",
    ]
    now = SINCE
    assert [text for text in shown if symptom([text], now, now) is None] == []
    assert [text for text in shown if symptom([text.upper()], now, now) is None] == []


@pytest.mark.parametrize("gone", ["daemonsets", "clusterpolicies", "events", "pods", "deployments", "jobs"])
def test_one_list_that_was_not_read_invents_no_finding(gone: str) -> None:
    document = healthy()
    del document["kubernetes"][gone]
    assert causes(document) == []
    empty: dict[str, Any] = deepcopy(document)
    empty["kubernetes"][gone] = []
    without(empty, "nothing") if gone != "pods" else None
    assert causes(empty) == []
