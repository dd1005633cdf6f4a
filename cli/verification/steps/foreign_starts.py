"""Whether a hundred starts of others leave the lab its functions: a queue gathers their events for the guard."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product

from cli.verification.account import FUNCTION, SOON, Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step
from cli.verification.steps import throwaway
from cli.verification.undo import TAG, Undo, UndoKind, instances, undo

COUNTS = 100, 75, 50, 25
"""The first that the account's quota allows: each instance has two vCPUs. Fewer would not be more than `MOST`."""
INSTANCE_TYPE = "t4g.nano"
IMAGE = "/aws/service/ami-amazon-linux-latest/al2023-ami-minimal-kernel-default-arm64"
REFUSED = frozenset({
    "VcpuLimitExceeded",
    "InstanceLimitExceeded",
    "InsufficientInstanceCapacity",
    "InsufficientFreeAddressesInSubnet",
    "PendingVerification",
    "Unsupported",
})  # fmt: skip
MOST = 16
"""Sweeps in a minute: 15 of the queue, whose five pollers gather for 20 seconds each, and one of the timer."""
TIMER = timedelta(minutes=5)
RUNNING_WITHIN = timedelta(minutes=3)
SWEPT_WITHIN = timedelta(minutes=3)
COUNTED_WITHIN = timedelta(minutes=8)
"""Lambda counts an invocation when it has ended, a sweep after up to four minutes, and CloudWatch shows it later."""
DEAD_LETTERS = "-dead-letters"
ALONE_MINUTES = 30
"""More than the start and the undoing take, and less than the step's money is for."""


def _fits(account: Account) -> None:
    """Raises Unfit where no rule of the lab hears of the instances of others, or where leases start the guard too."""
    if not account.lab.lab.pools_with("node pool"):
        raise Unfit("the lab has no NodePool: none of its rules hears of instances that are not its own")
    lease = account.leased(account.clock() + SOON)
    if lease is not None:
        raise Unfit(f"the lease {lease} runs, or begins soon")


def _play(play: Play) -> None:
    account = play.account
    dead = _dead_letters(account)
    # CloudWatch counts by whole minutes.
    begun = account.clock().replace(second=0, microsecond=0)
    count = _started(play)
    undo(account, Undo(UndoKind.INSTANCES, throwaway.STACK))
    swept = account.clock() + SWEPT_WITHIN
    play.evidence(f"all {count} are terminated; CloudWatch counts what the lab did of it")
    counted = account.clock() + COUNTED_WITHIN
    account.until("CloudWatch has the counts", 2 * COUNTED_WITHIN, lambda: account.clock() > counted)
    for function in account.resources(FUNCTION):
        throttled = sum(_sums(account, function, "Throttles", begun, swept))
        if throttled:
            raise Differs(f"the function {function} was throttled {throttled:.0f} times")
    more = _dead_letters(account) - dead
    if more > 0:
        raise Differs(f"the queues of dead letters have {more} messages more than before")
    sweeps = list(_sums(account, f"{account.lab.name}-guard", "Invocations", begun, swept))
    if sum(sweeps) <= (swept - begun) // TIMER + 1:
        raise Differs(f"the guard ran {sum(sweeps):.0f} times, as by its timer: no event reached it")
    if max(sweeps) > MOST:
        raise Differs(f"the guard ran {max(sweeps):.0f} times within a minute, not at most {MOST}")
    play.evidence(
        f"the guard ran {sum(sweeps):.0f} times for {2 * count} events, at most {max(sweeps):.0f} times in a minute; "
        "no function was throttled, and no letter is dead"
    )


def _started(play: Play) -> int:
    """Starts as many instances as the account allows. Returns how many run."""
    account = play.account
    image = account.call("ssm", "get_parameter", IMAGE, Name=IMAGE)["Parameter"]["Value"]
    request = {
        "ImageId": image,
        "InstanceType": INSTANCE_TYPE,
        "CreditSpecification": {"CpuCredits": "standard"},
        # Where this program dies and nobody resumes it, they end all the same.
        "InstanceInitiatedShutdownBehavior": "terminate",
        "UserData": f"#!/bin/sh\nshutdown -h +{ALONE_MINUTES}\n",
        "TagSpecifications": [
            {"ResourceType": "instance", "Tags": [{"Key": TAG, "Value": throwaway.STACK}]}
        ],
    }  # fmt: skip
    play.undo(Undo(UndoKind.INSTANCES, throwaway.STACK))
    ordered = account.clock()
    for count, subnet in product(COUNTS, _subnets(account)):
        size = {"SubnetId": subnet, "MinCount": count, "MaxCount": count}
        if account.attempt(REFUSED, "ec2", "run_instances", subnet, **request, **size) is not None:
            break
    else:
        raise Unfit(
            f"EC2 does not start {COUNTS[-1]} instances of {INSTANCE_TYPE} in any subnet of the cluster"
        )
    try:
        account.until(
            f"EC2 runs {count} instances of {INSTANCE_TYPE}",
            RUNNING_WITHIN,
            lambda: len(instances(account, throwaway.STACK, "running")) == count,
        )
    except Differs as fewer:
        # EC2 may end an instance before it runs: that says nothing of the lab.
        raise Unfit(str(fewer)) from fewer
    took = account.clock() - ordered
    play.evidence(f"{count} instances of {INSTANCE_TYPE} ran {took.total_seconds():.0f} s after one order")
    return count


def _subnets(account: Account) -> list[str]:
    """Those of the cluster, which every lab has. The one with the most free addresses is the first."""
    name = account.lab.lab.cluster_name
    cluster = account.call("eks", "describe_cluster", name, name=name)["cluster"]
    request = {"SubnetIds": cluster["resourcesVpcConfig"]["subnetIds"]}
    found = account.call("ec2", "describe_subnets", name, **request)["Subnets"]
    return [
        subnet["SubnetId"] for subnet in sorted(found, key=lambda one: -int(one["AvailableIpAddressCount"]))
    ]


def _dead_letters(account: Account) -> int:
    """How many messages the queues of dead letters have, together."""
    name = "ApproximateNumberOfMessages"
    queues = [queue for queue in account.resources("AWS::SQS::Queue") if queue.endswith(DEAD_LETTERS)]
    asked = (
        account.call("sqs", "get_queue_attributes", queue, QueueUrl=queue, AttributeNames=[name])
        for queue in queues
    )
    return sum(int(answer["Attributes"][name]) for answer in asked)


def _sums(account: Account, function: str, metric: str, begun: datetime, ended: datetime) -> Iterator[float]:
    """What CloudWatch counted of the function, for each minute with a count."""
    request = {
        "Namespace": "AWS/Lambda",
        "MetricName": metric,
        "Dimensions": [{"Name": "FunctionName", "Value": function}],
        "StartTime": begun,
        "EndTime": ended,
        "Period": 60,
        "Statistics": ["Sum"],
    }
    for point in account.call("cloudwatch", "get_metric_statistics", function, **request)["Datapoints"]:
        yield point["Sum"]


STEP = Step(
    name="foreign-starts",
    asks=f"start a hundred instances that are not the lab's: `{INSTANCE_TYPE}` in a subnet of the cluster",
    passes=f"the guard runs at most {MOST} times a minute, no function is throttled, and no letter is dead",
    longest=timedelta(minutes=40),
    play=_play,
    fits=_fits,
    nodes=COUNTS[0],
    instance_type=INSTANCE_TYPE,
    makes="100 instances, or 75, 50 or 25 where the quota of vCPUs allows no more",
)
