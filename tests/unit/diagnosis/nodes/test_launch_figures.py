"""Launches that Karpenter refused, and figures of AWS that are too small: quotas and addresses."""

from typing import Any

from tests.diagnosis_cases import leave, one_missing
from tests.snapshots import POOL, Document, activity, at, event, healthy
from tests.unit.diagnosis.table import UNREAD, Told, given, table

DENIED = "UnauthorizedOperation: denied"
MISSING = "1 of 2 expected instances are there"
ALONE = [("unknown", POOL, MISSING)]


def claim(
    message: str = DENIED, status: str = "False", name: str = "gpu-a", minute: float | None = 1, **state: str
) -> Document:
    launched = {"type": "Launched", "status": status, "reason": "LaunchFailed", "message": message, **state}
    launched |= {} if minute is None else {"lastTransitionTime": at(minute)}
    return {"metadata": {"name": name}, "status": {"conditions": [launched], "providerID": "aws:///a/i-new"}}


def by_karpenter(*claims: Document, events: tuple[Document, ...] = (), **parts: Any) -> Document:
    return given(one_missing(), nodeclaims=[*claims], events=[*events], **parts)


def of_claim(message: str, reason: str = "LaunchFailed", name: str = "gpu-a", minute: float = 10) -> Document:
    return event("NodeClaim", name, reason, message, minute)


def three_wanted() -> Document:
    document = one_missing(2)
    leave(document, 0)
    return given(
        document, expected={"nodes": 3}, instances=[],
        nodeclaims=[claim(status="True"), claim(name="gpu-b", minute=-9)],
        events=[of_claim(DENIED, name=name, minute=0.5) for name in ("gpu-a", "gpu-b")],
    )  # fmt: skip


def none_came(**parts: Any) -> Document:
    """One node is expected, and nothing of it is there."""
    document = healthy(nodes=1)
    pods = [each for each in document["kubernetes"]["pods"] if "nodeName" not in each["spec"]]
    nodes = document["kubernetes"]["nodes"][:1]
    return given(
        document, **{"pods": pods, "nodes": nodes, "instances": [], "scaling_activities": []} | parts
    )


OF_CLAIM = [("launch-denied", "gpu-a", f"LaunchFailed: {DENIED}")]
FLEET = "NodeClaim gpu-x7k2p event: creating instance, insufficient capacity, with fleet error(s), {}"
CODES = (
    ("InsufficientInstanceCapacity: We currently do not have sufficient g5.xlarge capacity", "no-capacity"),
    ("VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0", "vcpu-quota"),
    ("UnauthorizedOperation: You are not authorized to perform this operation", "launch-denied"),
    ("InsufficientFreeAddressesInSubnet: not enough free addresses in subnet", "no-addresses"),
    ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", "vcpu-quota"),
)  # fmt: skip
NO_TYPE = "getting launch templates, no instance types satisfy requirements of amis ami-1"


test_karpenter_s_refusals_are_told_by_what_they_are_about = table(
    ("a claim since the expectation began", by_karpenter(claim(minute=0)), OF_CLAIM),
    ("a claim after it", by_karpenter(claim()), OF_CLAIM),
    ("not a claim before it", by_karpenter(claim(minute=-1)), ALONE),
    ("a claim without a time, beside one that was launched",
     by_karpenter(claim(status="True", minute=None), claim(name="gpu-b", minute=None), expected={"nodes": 3}),
     [("launch-denied", "gpu-b", f"LaunchFailed: {DENIED}"), "node-not-joined"]),
    *((f"a claim by its inner code {inner[:20]}", by_karpenter(claim(f"creating instance, {inner}", minute=None,
       reason="InsufficientCapacityError")), [cause]) for inner, cause in (*CODES, ("x", "no-capacity"))),
    ("a claim that no rule knows is quoted", by_karpenter(claim("odd")),
     [("unknown", POOL, f"{MISSING}; Karpenter says: odd")]),
    ("so is one of which nothing is known yet", none_came(nodeclaims=[claim(NO_TYPE, "Unknown", minute=2)]),
     [("unknown", POOL, f"0 of 1 expected instances are there; Karpenter says: {NO_TYPE}")]),
    ("an event of the NodePool", by_karpenter(events=(event("NodePool", "gpu", "InsufficientCapacityError", DENIED),)),
     [("launch-denied", "gpu", f"InsufficientCapacityError: {DENIED}")]),
    ("an event of a pod that names its claim",
     by_karpenter(events=(event("Pod", "train", "FailedScheduling", f"NodeClaim: {DENIED}"),)),
     [("launch-denied", "train", f"FailedScheduling: NodeClaim: {DENIED}")]),
    ("not one that names none", by_karpenter(events=(event("Pod", "train", "FailedScheduling", DENIED),)), ALONE),
    ("not one of a pod that fits no claim of that price and device", by_karpenter(events=(event("Pod", "train",
     "FailedScheduling", "Failed to schedule pod, incompatible with NodeClaim gpu: no instance type of that price",
     5),)),
     ["unknown"]),
    ("not an event of something else", by_karpenter(events=(event("Job", "train", "LaunchFailed", DENIED),)), ALONE),
    ("which hides no refusal of a claim",
     by_karpenter(events=(event("Job", "train", "LaunchFailed", DENIED), of_claim(DENIED))), OF_CLAIM),
    ("not an event without a known word", by_karpenter(events=(of_claim("odd"),)), ALONE),
    *((f"an event by its inner code {inner[:20]}", given(one_missing(), more={"events": [
        of_claim(FLEET.format(inner), "InsufficientCapacityError", "gpu-x7k2p")]}), [cause]) for inner, cause in CODES),
    ("not of a claim that was launched after all, but of another", three_wanted(),
     [("launch-denied", "gpu-b", f"LaunchFailed: {DENIED}"), ("node-join", "i-new")]),
    ("not of one whose node is there", given(healthy(), aws=UNREAD, nodeclaims=[claim(status="True", minute=2,
     name="gpu-x7k2p")], more={"events": [of_claim("creating instance, insufficient capacity",
     "InsufficientCapacityError", "gpu-x7k2p", 1)]}), []),
)  # fmt: skip


def quota(*values: float | None, **parts: Any) -> Document:
    figures = [{"QuotaCode": "L-DB2E81BA"} | ({} if value is None else {"Value": value}) for value in values]
    return given(one_missing(), quotas=[{"QuotaCode": "L-417A185B", "Value": 0.0}, *figures], **parts)


def short_of(vcpus: int) -> list[Told]:
    return [("vcpu-quota", POOL, f"quota L-DB2E81BA is {vcpus} vCPUs, but 8 are needed")]


def subnet(name: str, free: int, mine: list[str] | None) -> Document:
    figures = [{"SubnetId": name, "AvailableIpAddressCount": free}]
    return given(one_missing(), subnets=figures, group={"subnets": mine})


test_what_is_too_small_for_the_missing_nodes_is_blamed = table(
    *((f"a quota of {value} vCPUs", quota(float(value)), short_of(value)) for value in (3, 4, 7)),
    ("not one of 8, which two nodes need", quota(8.0), ALONE),
    ("not one without a value", quota(None, 7.0), short_of(7)),
    ("not that of a type which nobody knows", quota(0.0, expected={"instance_type": "odd.xlarge"}), ["unknown"]),
    ("where AWS says nothing", none_came(quotas=[{"QuotaCode": "L-DB2E81BA", "Value": 0.0}]), ["vcpu-quota"]),
    ("not where AWS says something else", none_came(quotas=[{"QuotaCode": "L-DB2E81BA", "Value": 0.0}],
     scaling_activities=[activity("The key pair 'lab' does not exist.")]), ["unknown"]),
    ("a subnet of the group without an address", subnet("subnet-1", 0, ["subnet-1"]),
     [("no-addresses", "subnet-1", "subnet-1 has 0 available addresses")]),
    ("not one with one", subnet("subnet-1", 1, ["subnet-1"]), ALONE),
    ("not one of another group", subnet("subnet-2", 0, ["subnet-1"]), ALONE),
    ("any where the group's were not read", subnet("subnet-2", 0, None),
     [("no-addresses", "subnet-2", "subnet-2 has 0 available addresses")]),
    ("one without a name is the pool's", subnet("", 0, None), [("no-addresses", POOL,
     f"{POOL} has 0 available addresses")]),
)  # fmt: skip
