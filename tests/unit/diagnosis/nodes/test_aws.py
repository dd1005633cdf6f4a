"""Diagnosis, the AWS layer: why instances are missing, do not join, or do not reach each other."""

import pytest

from tests.snapshots import (
    NODES,
    POOL,
    Document,
    activity,
    causes,
    event,
    healthy,
    instance,
    judge,
    node,
    pod,
    replace,
    stages,
    waiting,
    without,
)

CAPACITY = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
    "g5.xlarge capacity in the Availability Zone you requested (ap-northeast-2a)."
)
QUOTA = (
    "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your "
    "current vCPU limit of 4 allows for the instance bucket that the specified instance type belongs to."
)
DENIED = "Client.InternalError: Client error on launch: the KMS key of the volume is not accessible"
ADDRESSES = "InsufficientFreeAddressesInSubnet: The specified subnet does not have enough free addresses."


def one_of_two(now: float = 20) -> Document:
    """A pool without its second instance."""
    document = healthy(now=now)
    document["kubernetes"]["nodes"] = [document["kubernetes"]["nodes"][0], node(0)]
    document["aws"]["instances"] = [instance(0)]
    document["aws"]["scaling_activities"] = [activity("", "Successful", 0.4)]
    without(document, *(f"{name}-1" for name in ("nvidia-device", "train", "nvidia-operator", "gpu-feature")))
    document["kubernetes"]["pods"] = [
        each for each in document["kubernetes"]["pods"] if each["spec"].get("nodeName") != NODES[1]
    ]
    return document


def test_a_healthy_pool_has_neither_finding_nor_stage() -> None:
    assert judge(healthy()).to_json() == {"findings": [], "in_progress": []}


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (CAPACITY, "no-capacity"),
        (QUOTA, "vcpu-quota"),
        (DENIED, "launch-denied"),
        (
            "You are not authorized to perform this operation. Encoded authorization failure message: x",
            "launch-denied",
        ),
        (
            "Access denied when attempting to assume role arn:aws:iam::1:role/aws-service-role/autoscaling",
            "launch-denied",
        ),
        (ADDRESSES, "no-addresses"),
    ],
)
def test_a_refused_launch_is_named_by_its_text_even_early(message: str, cause: str) -> None:
    document = one_of_two(now=2)
    document["aws"]["scaling_activities"].append(activity(message))
    found = judge(document)
    assert [each.cause.name for each in found.findings] == [cause]
    assert found.findings[0].cause.layer == "aws"
    assert found.findings[0].about == POOL
    assert message[:40] in " ".join(map(str, found.findings[0].evidence))


def test_the_node_group_s_health_says_it_where_activities_were_not_read() -> None:
    document = one_of_two()
    del document["aws"]["scaling_activities"]
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "AsgInstanceLaunchFailures", "message": CAPACITY}
    ]
    assert causes(document) == ["no-capacity"]


def test_a_degraded_group_that_got_its_nodes_is_history() -> None:
    document = healthy()
    document["aws"]["nodegroup"]["status"] = "DEGRADED"
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "AsgInstanceLaunchFailures", "message": CAPACITY}
    ]
    document["aws"]["scaling_activities"].append(activity(CAPACITY, minute=0.1))
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


def test_a_refusal_before_the_expectation_began_is_history() -> None:
    document = one_of_two(now=2)
    document["aws"]["scaling_activities"].append(activity(QUOTA, minute=-30))
    assert causes(document) == []
    assert stages(document) == ["instance-launch"]


def test_karpenter_s_capacity_error_is_judged_by_its_inner_code() -> None:
    for inner, cause in (
        (QUOTA, "vcpu-quota"),
        ("UnauthorizedOperation: denied", "launch-denied"),
        ("x", "no-capacity"),
    ):
        document = one_of_two()
        document["kubernetes"]["nodeclaims"] = [
            {
                "metadata": {"name": "gpu-abc"},
                "status": {
                    "conditions": [
                        {
                            "type": "Launched",
                            "status": "False",
                            "reason": "InsufficientCapacityError",
                            "message": f"creating instance, {inner}",
                        }
                    ]
                },
            }
        ]
        assert causes(document) == [cause]


def test_an_instance_that_boots_is_in_progress_and_later_a_finding() -> None:
    document = one_of_two(now=3)
    document["aws"]["instances"].append(instance(1))
    assert (causes(document), stages(document)) == ([], ["node-join"])
    document = one_of_two(now=20)
    document["aws"]["instances"].append(instance(1))
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "NodeCreationFailure", "message": "Instances failed to join the kubernetes cluster"}
    ]
    assert (causes(document), stages(document)) == (["node-not-joined"], [])


def test_nodes_that_may_not_authenticate_did_not_join() -> None:
    document = one_of_two()
    del document["aws"]["instances"]
    del document["aws"]["scaling_activities"]
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "AccessDenied", "message": "Your worker nodes do not have access"}
    ]
    assert causes(document) == ["node-not-joined"]


def test_missing_instances_without_a_word_are_unknown_and_say_what_was_not_read() -> None:
    document = one_of_two()
    del document["aws"]["scaling_activities"]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert "aws.scaling_activities" in " ".join(map(str, found.findings[0].evidence))


def test_a_quota_that_cannot_hold_what_was_asked_explains_it() -> None:
    document = one_of_two()
    document["aws"]["quotas"] = [{"QuotaCode": "L-DB2E81BA", "Value": 4.0}]
    assert causes(document) == ["vcpu-quota"]
    document = one_of_two()
    document["aws"]["subnets"] = [{"SubnetId": "subnet-1", "AvailableIpAddressCount": 0}]
    assert causes(document) == ["no-addresses"]


def test_pods_that_wait_for_a_missing_node_are_its_consequence() -> None:
    document = one_of_two()
    document["aws"]["scaling_activities"].append(activity(CAPACITY))
    document["kubernetes"]["pods"].append(pod("more", "lab", None, gpus=1, phase="Pending"))
    assert causes(document) == ["no-capacity"]


def pair(logs: str, *, phase: str = "Running") -> Document:
    document = healthy()
    without(document, "train")
    for number in range(2):
        document["kubernetes"]["pods"].append(
            pod(f"nccl-{number}", "lab", number, gpus=1, phase=phase, owner="Job/nccl", minute=10)
        )
        document["logs"][f"lab/nccl-{number}"] = logs
    return document


STORE = (
    "torch.distributed.DistNetworkError: The client socket has timed out after 120000ms while trying to connect "
    "to (nccl-0.nccl, 29500)."
)


@pytest.mark.parametrize(
    "log",
    [
        STORE,
        "worker-1:20:20 [0] NCCL WARN NET/Socket : connect to 192.168.12.11<41999> returned Connection timed out",
    ],
)
def test_ranks_that_do_not_reach_each_other_name_the_path(log: str) -> None:
    assert causes(pair(log)) == ["nccl-path-blocked"]
    document = pair(log)
    document["aws"]["security_groups"][0]["IpPermissions"] = []
    assert "no rule of sg-node" in " ".join(map(str, judge(document).findings[0].evidence))


@pytest.mark.parametrize(
    "log",
    [
        "NCCL INFO Bootstrap : Using eth0\n" + STORE,
        STORE + "\n# Out of bounds values : 0 OK",
        "DistNetworkError: The client socket has failed to connect (errno: 111 - Connection refused).",
        "",
    ],
)
def test_other_trouble_among_ranks_is_not_the_path(log: str) -> None:
    assert "nccl-path-blocked" not in causes(pair(log))


def test_ranks_that_hang_behind_a_closed_security_group_are_blocked() -> None:
    document = pair("")
    document["aws"]["security_groups"][0]["IpPermissions"] = []
    assert causes(document) == ["nccl-path-blocked"]
    document["now"] = document["kubernetes"]["pods"][-1]["metadata"]["creationTimestamp"]
    assert causes(document) == []


@pytest.mark.parametrize("owner", ["Job/nccl", ""], ids=["of one job", "pods of their own"])
@pytest.mark.parametrize("closed", [False, True])
def test_an_image_that_was_never_pulled_comes_before_the_time_out_that_it_causes(
    owner: str, *, closed: bool
) -> None:
    document = pair(STORE)
    for number in range(2):
        replace(document, pod(f"nccl-{number}", "lab", number, gpus=1, owner=owner, minute=10))
    rank = pod("nccl-1", "lab", 1, gpus=1, owner=owner, minute=10)
    replace(document, waiting(rank, "ErrImagePull", "not found: manifest unknown"))
    del document["logs"]["lab/nccl-1"]
    if closed:
        document["aws"]["security_groups"][0]["IpPermissions"] = []
    assert causes(document) == ["image-pull-failed"]


def test_a_job_that_succeeded_in_the_end_is_history() -> None:
    document = pair(STORE, phase="Failed")
    document["kubernetes"]["jobs"] = [
        {
            "metadata": {"name": "nccl", "namespace": "lab"},
            "spec": {"completions": 2},
            "status": {"succeeded": 2},
        }
    ]
    assert causes(document) == []


def test_bandwidth_that_is_held_down_is_said_since_the_expectation_began() -> None:
    document = healthy()
    document["kubernetes"]["events"].append(
        event("Node", NODES[0], "BandwidthInExceeded", "bw_in_allowance_exceeded")
    )
    assert causes(document) == ["bandwidth-throttled"]
    document["kubernetes"]["events"][-1] = event("Node", NODES[0], "BandwidthInExceeded", "x", minute=-5)
    assert causes(document) == []


def test_a_launch_that_succeeded_after_a_refusal_is_booting() -> None:
    document = one_of_two(now=6)
    del document["aws"]["instances"]
    document["aws"]["scaling_activities"] = [
        activity(CAPACITY, minute=1),
        activity("", "Successful", minute=5),
    ]
    assert (causes(document), stages(document)) == ([], ["node-join"])


def test_two_independent_causes_in_two_layers() -> None:
    document = one_of_two()
    document["aws"]["scaling_activities"].append(activity(QUOTA))
    waits = next(each for each in document["kubernetes"]["pods"] if each["metadata"]["name"] == "train-waits")
    waits["spec"]["tolerations"] = []
    assert causes(document) == ["vcpu-quota", "untolerated-taint"]
