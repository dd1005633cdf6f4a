"""Document 000: a NodePool of EKS Auto Mode opens, and a student runs the document's pod."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from botocore.exceptions import ClientError

from lamplighter.data import prices
from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.leases.lease import Lease
from local.auto_mode.definitions import CLAIMS, POOLS
from local.aws.ec2.read_throttle import ReadThrottle
from local.cloud import COMPLETE, Cloud
from tests.scenarios.auto_mode.auto_mode_day import AutoModeDay
from tests.scenarios.deployed_lab import NOON
from tests.scenarios.examples.opened import EXAMPLES, close, gpu_pod

pytestmark = pytest.mark.long
FILE = EXAMPLES / "000-auto-mode.yaml"
PODS = "/api/v1/namespaces/default/pods"
#: It ends at once and starts again and again, as in the document.
GPU_POD = gpu_pod("gpu-workload", "nvidia-smi")


@pytest.fixture(scope="module")
def example() -> Iterator[AutoModeDay]:
    """The lab of the document, deployed. Its pool is at zero."""
    with Cloud(FILE, start=NOON, progress=print) as cloud:
        cloud.up()
        yield AutoModeDay(cloud, "gpu-pool")


@pytest.fixture(scope="module")
def lease(example: AutoModeDay) -> Lease:
    """A lease of one node whose GPU is proven, opened where the failsafe's lock was left on."""
    role, policy = example.launching_role(), lock.policy_name(example.node_pool)
    document = json.dumps(lock.document(example.tags))
    example.api("iam").put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=document)
    assert example.locks() != []
    return example.opened(1, "2h")


def test_the_cluster_has_auto_mode_without_its_built_in_pools(example: AutoModeDay) -> None:
    cluster = example.api("eks").describe_cluster(name=example.lab.cluster_name)["cluster"]

    assert cluster["computeConfig"]["enabled"]
    assert cluster["computeConfig"].get("nodePools", []) == []
    listed = example.kubernetes.get("/apis/karpenter.sh/v1/nodepools")["items"]
    assert [one["metadata"]["name"] for one in listed] == ["training-on-eks-gpu-pool"]


def test_a_nodepool_that_is_scaled_without_a_lease_starts_nothing_and_is_set_back(
    example: AutoModeDay,
) -> None:
    begun = len(example.samples)
    example.scale(2)

    example.until("the guard sets it back", lambda sample: sample.desired == 0, timedelta(minutes=10))

    assert example.claims() == []
    assert all(not sample.instances for sample in example.samples[begun:])


@pytest.mark.usefixtures("lease")
def test_the_node_is_one_of_auto_mode_and_of_the_type_that_the_lab_names(example: AutoModeDay) -> None:
    [node] = example.nodes()
    [instance] = example.described()

    labels = node["metadata"]["labels"]
    assert labels["eks.amazonaws.com/compute-type"] == "auto"
    assert (labels["node.kubernetes.io/instance-type"], labels["kubernetes.io/arch"]) == (
        "g4dn.xlarge",
        "amd64",
    )
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["gpu-workload"]
    assert node["metadata"]["name"] == instance["InstanceId"]
    assert instance["Operator"]["Principal"] == "eks.amazonaws.com"


@pytest.mark.usefixtures("lease")
def test_an_opening_takes_away_the_lock_of_a_failsafe_that_fired(example: AutoModeDay) -> None:
    assert example.locks() == []


@pytest.mark.usefixtures("lease")
def test_a_student_runs_the_document_s_pod(example: AutoModeDay) -> None:
    example.kubernetes.create(PODS, GPU_POD)

    def printed() -> str:
        return str(example.kubernetes.text(f"{PODS}/gpu-pod/log"))

    def has_run(_: object) -> bool:
        statuses = example.kubernetes.get(f"{PODS}/gpu-pod")["status"].get("containerStatuses", [])
        return any(one.get("restartCount", 0) for one in statuses)

    example.until("its container has ended and started again", has_run, timedelta(minutes=10))

    assert "NVIDIA-SMI" in printed()
    assert "Tesla T4" in printed()
    example.kubernetes.delete(f"{PODS}/gpu-pod")


def test_the_pool_closes_to_proven_zero_and_the_receipt_has_the_fee(
    example: AutoModeDay, lease: Lease
) -> None:
    passed = close(example, lease.id)

    assert passed >= {"allocatable", "nvidia-smi", "vectoradd"}
    receipt = example.receipt(lease.id)
    assert receipt["proof_of_zero"]["nodeclaims"] == []
    hours = Decimal(receipt["node_seconds"]) / 3600
    instance = prices.on_demand("ap-northeast-2", "g4dn.xlarge")
    fee = prices.auto_mode_fee("ap-northeast-2", "g4dn.xlarge")
    assert instance is not None
    assert fee is not None
    assert abs(Decimal(receipt["cost"]["amount"]) - hours * (instance + fee)) < Decimal("0.0001")


def test_a_deploy_of_the_same_lab_changes_nothing(example: AutoModeDay) -> None:
    assert {stack.status for stack in example.cloud.redeploy()} <= COMPLETE
    assert example.live() == ()
    assert example.kubernetes.get(example.path)["spec"]["replicas"] == 0


@pytest.fixture(scope="module")
def theirs(example: AutoModeDay) -> Iterator[str]:
    """A NodePool that somebody makes in the lab's cluster, and scales to one node: its name."""
    spec = example.kubernetes.get(example.path)["spec"]
    made = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "theirs"},
        "spec": {**spec, "replicas": 1},
    }
    example.kubernetes.create(POOLS, made)
    yield "theirs"
    example.kubernetes.delete(f"{POOLS}/theirs")


def claims_of(example: AutoModeDay, node_pool: str) -> list[str]:
    found = example.kubernetes.get(f"{CLAIMS}?labelSelector=karpenter.sh/nodepool%3D{node_pool}")["items"]
    return [str(each["metadata"]["name"]) for each in found]


def ends_of(example: AutoModeDay, since: datetime) -> list[tuple[str, str, bool]]:
    """What the guard did about GPUs outside the pools: the action, of what, and whether it paged."""
    return [
        (one.details["action"], one.details["subject"], one.details.get("paged") == "yes")
        for one in example.entries(since, "breach")
        if one.details.get("rule") == "gpu-outside-pools"
    ]


def test_the_guard_ends_the_gpus_of_another_node_pool_after_it_has_said_so(
    example: AutoModeDay, theirs: str
) -> None:
    begun = example.now
    example.until("its claim", lambda _: bool(claims_of(example, theirs)), timedelta(minutes=5))
    [first] = claims_of(example, theirs)

    example.until(
        "the guard ends it", lambda _: first not in claims_of(example, theirs), timedelta(minutes=30)
    )

    assert ends_of(example, begun)[:2] == [("page", theirs, True), ("end-claims", theirs, False)]
    shown = example.command("status")
    assert "OUTSIDE THE POOLS" in shown.stdout
    # It is static, so another comes until its owner takes it back.
    example.kubernetes.merge(f"{POOLS}/{theirs}", {"spec": {"replicas": 0}})
    example.until("nothing is left of it", lambda _: not claims_of(example, theirs), timedelta(minutes=30))
    assert example.live() == ()


def test_an_instance_that_somebody_started_for_the_cluster_is_terminated_and_no_other(
    example: AutoModeDay,
) -> None:
    """IAM lets the guard end it by the cluster's tag."""
    owned = {f"kubernetes.io/cluster/{example.lab.cluster_name}": "owned"}
    by_hand, other = (started(example, tags) for tags in (owned, {"Name": "of nobody's cluster"}))
    begun = example.now

    example.until(
        "the guard ends it", lambda _: state(example, by_hand) == "terminated", timedelta(minutes=30)
    )

    assert ends_of(example, begun)[:2] == [("page", by_hand, True), ("end-outside", by_hand, False)]
    assert state(example, other) == "running"
    example.api("ec2").terminate_instances(InstanceIds=[other])


def started(example: AutoModeDay, tags: dict[str, str]) -> str:
    written = [{"Key": key, "Value": value} for key, value in tags.items()]
    made = example.api("ec2").run_instances(
        ImageId="ami-12c6146b",
        InstanceType="g4dn.xlarge",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": written}],
    )
    return str(made["Instances"][0]["InstanceId"])


def state(example: AutoModeDay, instance: str) -> str:
    found = example.api("ec2").describe_instances(InstanceIds=[instance])["Reservations"]
    return str(found[0]["Instances"][0]["State"]["Name"])


def test_300_starts_a_minute_of_others_start_few_sweeps_take_no_functions_and_page_nobody(
    example: AutoModeDay,
) -> None:
    """EC2's events have no tags, so the lab hears of all of them. The account is new: it runs ten functions."""
    guard = f"{example.lab.name}-guard"
    swept = example.cloud.aws.runtime.faults.invocations
    example.cloud.aws.refusals.judge = reads = ReadThrottle(example.clock)
    before, answers = swept(guard), []

    for _ in range(12):
        their_autoscaler_starts(example, 25)
        for _ in range(90):
            reads.read("DescribeInstances")  # it uses most of what EC2 lets the account read
        example.clock.sleep(0.1)
        answers.append(another_function_answers(example))
        example.clock.sleep(4.9)
    in_the_minute = swept(guard) - before
    example.clock.sleep(360)

    assert 1 <= in_the_minute <= 15
    assert all(answers)
    assert reads.refused == 0
    assert dead_letters(example) == 0
    example.cloud.aws.refusals.judge = None


def their_autoscaler_starts(example: AutoModeDay, count: int) -> None:
    example.api("ec2").run_instances(
        ImageId="ami-12c6146b", InstanceType="t3.micro", MinCount=count, MaxCount=count
    )


def another_function_answers(example: AutoModeDay) -> bool:
    """Whether the account has room for a step of a workflow."""
    request = {"FunctionName": f"{example.lab.name}-nodegroups", "Payload": b'{"step": "Warm", "run": {}}'}
    try:
        example.cloud.aws.around.call("lambda", "invoke", request)
    except ClientError as error:
        if error.response["Error"]["Code"] != "TooManyRequestsException":
            raise
        return False
    return True


def dead_letters(example: AutoModeDay) -> int:
    queues, name = example.api("sqs"), "ApproximateNumberOfMessages"
    url = queues.get_queue_url(QueueName=f"{example.lab.name}-dead-letters")["QueueUrl"]
    return int(queues.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])
