"""Instances of a NodePool that never register, and the paid loop of document 001."""

from datetime import timedelta
from typing import Any

from tests.karpenter_recording.recording import moments
from tests.node_pool_snapshots import NODE_POOL, claim, condition, empty, node_class, node_pool, pool_of
from tests.snapshots import INSTANCES, SINCE, Document, at, instance
from tests.unit.diagnosis.table import given, table

DLAMI = "Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.8 (Amazon Linux 2023) 20251101"
UNREGISTERED = condition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster", 0.1)
TAGS = [{"Key": "karpenter.sh/nodepool", "Value": NODE_POOL}]


def waiting(
    now: float, *before: Document, began: float = 0.1, image: str = "ami-0aaa", **parts: Any
) -> Document:
    """One instance runs since `began` and is no node."""
    running = {**instance(0, began), "Tags": TAGS, "ImageId": image}
    claims = [claim(0, condition("Launched", minute=began), UNREGISTERED)]
    return given(empty(now), nodeclaims=claims, instances=[running, *before], **parts)


def ended(number: int, began: float, minutes: float) -> Document:
    gone = SINCE + timedelta(minutes=began + minutes)
    return {
        **instance(number, began),
        "InstanceId": f"i-0bbbbbbbbbbbbbbb{number}",
        "State": {"Name": "terminated"},
        "StateTransitionReason": f"User initiated ({gone:%Y-%m-%d %H:%M:%S} GMT)",
        "Tags": TAGS,
    }


def unhealthy(document: Document, since: str = "") -> Document:
    state = condition("NodeRegistrationHealthy", "False", "RegistrationFailed", "Failed to register node", 15)
    state |= {"lastTransitionTime": since} if since else {}
    document["kubernetes"]["nodepools"][0]["status"]["conditions"].append(state)
    return document


def recorded() -> Document:
    """The loop that was recorded with Karpenter."""
    when = {moment.what: moment.at for moment in reversed(moments("never-registers"))}
    return ended(0, 0.1, (when["InstanceTerminating"] - when["Launched"]) / 60)


def leaving() -> Document:
    """A claim that is being deleted beside a whole node."""
    document = pool_of(nodes=1)
    gone = claim(1, condition("Launched", minute=0.1), UNREGISTERED, deletionTimestamp="2026-11-20T11:15:00Z")
    return given(
        document, expected={"nodes": 2}, nodepools=[node_pool(replicas=2)], more={"nodeclaims": [gone]}
    )


def own(ami: str, **selector: Any) -> list[Document]:
    return [node_class(ami=ami, amiSelectorTerms=[selector])]


def runs(minutes: int, *more: str) -> tuple[str, ...]:
    return ("node-not-joined", INSTANCES[0],
            f"{INSTANCES[0]} has been running for {minutes} minutes and is not a node", *more)  # fmt: skip


IN_WORDS = f"{NODE_POOL}-abc01 Registered=Unknown, NodeNotFound: Node not registered with cluster"
LOOP = (
    "{} ended after 15 minutes without becoming a node; Karpenter starts the next one, and each costs money"
)
FAILED = f"{NODE_POOL} NodeRegistrationHealthy=False, RegistrationFailed: Failed to register node"
BEFORE_NOON = "2026-11-19T00:00:00Z"
OWN = (
    f"NodeClass {NODE_POOL} names an image of its own, my-image-7: check that it has nodeadm and a kubelet for EKS, as"
    " an EKS-optimised image has"
)
NEVER = (
    f"its image ami-0aaa is a Deep Learning AMI ({DLAMI}): it has no nodeadm and no kubelet for EKS, so it never joins"
    " a cluster; take an EKS-optimised image, such as alias al2023@v20260724"
)
LEARNING = own(DLAMI, id="ami-0aaa")


test_an_instance_does_not_register = table(
    ("for a while", waiting(4), ["node-join"]),
    ("in the words of its claim, and its image by alias is no matter", waiting(10), [runs(9, IN_WORDS)]),
    ("not while it is young", waiting(40, began=38), ["node-join"]),
    ("in the paid loop also then", waiting(40, ended(0, 0.1, 15), ended(1, 16, 15.2), began=38),
     [runs(2, IN_WORDS, LOOP.format("2 earlier instances were"))]),
    ("in the loop that was recorded", waiting(40, recorded(), began=38),
     [runs(2, IN_WORDS, LOOP.format("1 earlier instance was"))]),
    *((f"not because one of {began} ended after {minutes} minutes", waiting(40, ended(0, began, minutes), began=38),
       ["node-join"]) for began, minutes in ((-20, 15), (1, 6), (1, 18))),
    ("between two claims, by the health of the NodePool", unhealthy(empty(40)), [("node-not-joined", NODE_POOL,
     FAILED)]),
    ("by that of the instant of the order", unhealthy(empty(40), at(0)), ["node-not-joined"]),
    ("not by that of yesterday", unhealthy(empty(40), BEFORE_NOON), ["unknown"]),
    ("not without it", empty(40), ["unknown"]),
    ("not where every node is there", unhealthy(given(pool_of(now=40), more={"instances": [ended(0, 0.1, 15)]})), []),
    ("by a Deep Learning AMI", waiting(10, ec2nodeclasses=LEARNING), [("wrong-ami", NODE_POOL, runs(9)[2], NEVER,
     IN_WORDS)]),
    ("not by the image of another instance", waiting(10, image="ami-0old", ec2nodeclasses=LEARNING),
     ["node-not-joined"]),
    ("with another image of its own", waiting(10, ec2nodeclasses=own("my-image-7", tags={"team": "ml"})),
     [runs(9, OWN, IN_WORDS)]),
    ("not while its claim is being deleted", leaving(), ["unknown"]),
)  # fmt: skip
