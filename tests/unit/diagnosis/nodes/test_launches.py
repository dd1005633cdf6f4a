"""Launches: who refused them, with which evidence, and which later launch makes a refusal history."""

from typing import Any

from tests.diagnosis_cases import leave, one_missing, vanish
from tests.snapshots import POOL, Document, activity, healthy, pod, refused_launch
from tests.unit.diagnosis.table import SECOND, UNREAD, given, table

DENIED = "UnauthorizedOperation: denied"
CAPACITY = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
    "g5.xlarge capacity in the Availability Zone you requested (ap-northeast-2a)."
)
QUOTA = (
    "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your "
    "current vCPU limit of 4 allows for the instance bucket that the specified instance type belongs to."
)
MISSING = "1 of 2 expected instances are there"
ALONE = [("unknown", POOL, MISSING)]
REFUSED = [("launch-denied", POOL, f"{DENIED} Launching")]
LAUNCHED = activity("", "Successful", 2)
LATE = 3 + SECOND


def missing(*activities: Document, now: float = 20, **parts: Any) -> Document:
    """One of two nodes is missing, and these are the activities of the group."""
    return given(one_missing(now), scaling_activities=[*activities], **parts)


def issue(message: str, code: str = "AsgInstanceLaunchFailures") -> Document:
    return {"code": code, "message": message, "resourceIds": [POOL]}


def both_missing(**parts: Any) -> Document:
    document = one_missing()
    vanish(document, 0)
    return given(document, **parts)


def only_an_instance() -> Document:
    """Of two nodes one has an instance that boots, and the other has none."""
    document = one_missing(2)
    leave(document, 0)
    return document


test_instances_are_waited_for_and_then_missed = table(
    ("an instance may take three minutes to be launched", one_missing(3), [("instance-launch", POOL, "11:00:00")]),
    ("and is missing after that", one_missing(LATE), ALONE),
    ("a group that wants as many nodes says nothing", given(one_missing(), group={"scalingConfig desiredSize": 2}),
     ALONE),
    *((f"a group that wants {size} is said to", given(one_missing(), group={"scalingConfig desiredSize": size}),
       [("unknown", POOL, f"{MISSING}; the desired size of {POOL} is {size}: nobody asked for more")])
      for size in (0, 1)),
    ("where instances were not read, the last launch begins the time to join",
     missing(activity("", "Successful", 1), activity("", "Successful", 4), activity("", "InProgress", 8), now=9,
             instances=UNREAD), [("node-join", POOL, "11:04:00")]),
    ("which is over after five minutes",
     missing(activity("", "Successful", 1), activity("", "Successful", 4), activity("", "InProgress", 8),
     now=9 + SECOND,
             instances=UNREAD), [("unknown", POOL, "1 of 2 expected nodes are there", "not read: aws.instances")]),
    ("a launch after a refusal boots",
     missing(activity(CAPACITY), activity("", "Successful", 5), now=6, instances=UNREAD), ["node-join"]),
    ("what was not read is said", given(one_missing(), scaling_activities=UNREAD),
     [("unknown", POOL, MISSING, "not read: aws.scaling_activities")]),
    ("an empty list of nodes means that none is there",
     given(healthy(), nodes=[], instances=[], scaling_activities=[]),
     [("unknown", POOL, "0 of 2 expected instances are there")]),
)  # fmt: skip


ZONE = (
    "Your requested instance type (g5.xlarge) is not supported in your requested Availability Zone (ap-northeast-2b). "
    "Please retry your request by not specifying an Availability Zone or choosing ap-northeast-2a."
)
TEXTS = (
    (CAPACITY, "no-capacity"),
    (QUOTA, "vcpu-quota"),
    ("Client.InternalError: Client error on launch: the KMS key of the volume is not accessible", "launch-denied"),
    ("You are not authorized to perform this operation. Encoded authorization failure message: x", "launch-denied"),
    ("Access denied when attempting to assume role arn:aws:iam::1:role/aws-service-role/autoscaling", "launch-denied"),
    (ZONE, "wrong-instance-type"),
    ("InsufficientFreeAddressesInSubnet: The specified subnet does not have enough free addresses.", "no-addresses"),
)  # fmt: skip
STRANGE = (
    "The image id '[ami-0123]' does not exist. Launching EC2 instance failed.",
    "The key pair 'self-service' does not exist. Launching EC2 instance failed.",
    "Invalid value for the device name '/dev/xvdz'. Launching EC2 instance failed.",
)


def quoted(text: str) -> str:
    """The words of an activity in the evidence, which is cut after 400 letters."""
    words = f"{text} Launching a new EC2 instance. Status Reason: {text}"
    return words if len(words) <= 400 else f"{words[:399]}…"


test_a_refusal_is_told_by_its_text = table(
    *((f"{cause} by {text[:50]}", given(one_missing(2), more={"scaling_activities": [activity(text)]}),
       [(cause, POOL, quoted(text))]) for text, cause in TEXTS),
    *((text[:30], given(one_missing(), more={"scaling_activities": [activity(text)]}),
       [("unknown", POOL, f"{MISSING}; AWS says: {quoted(text)}")]) for text in STRANGE),
    ("a pod that waits for the missing node is its consequence",
     given(one_missing(), pod("more", "lab", None, gpus=1, phase="Pending"),
           more={"scaling_activities": [activity(CAPACITY)]}), ["no-capacity"]),
    ("a pod with a trouble of its own is not",
     given(one_missing(), pod("train-waits", "lab", None, gpus=1, phase="Pending", tolerates=False),
           more={"scaling_activities": [activity(QUOTA)]}), ["vcpu-quota", "untolerated-taint"]),
    ("an instance beside the refused one joins", given(only_an_instance(),
     more={"scaling_activities": [activity(CAPACITY)]}),
     ["no-capacity", "node-join"]),
    ("of refusals that no rule knows the last is quoted",
     missing(refused_launch("first", minute=1), refused_launch("last", "Cancelled", minute=3),
             refused_launch("second", minute=2), refused_launch("before", minute=-1),
             refused_launch("no time", StartTime=None), refused_launch("done", "Successful", minute=4)),
     [("unknown", POOL, f"{MISSING}; AWS says: last Launching")]),
    ("and one that is empty is not", missing(refused_launch("odd"), refused_launch("", minute=2, Description=""),
     refused_launch("came", "Successful", minute=3)), [("unknown", POOL, f"{MISSING}; AWS says: odd Launching")]),
    ("it is quoted since the expectation began", missing(refused_launch("odd", minute=0)),
     [("unknown", POOL, f"{MISSING}; AWS says: odd Launching")]),
    ("and not from before", missing(refused_launch("odd", minute=-SECOND)), ALONE),
)  # fmt: skip


test_a_refusal_counts = table(
    ("at the instant of the expectation", missing(refused_launch(minute=0)), ["launch-denied"]),
    ("not a second before", missing(refused_launch(minute=-SECOND)), ["unknown"]),
    ("half an hour before, while the launch may take its time",
     given(one_missing(2), more={"scaling_activities": [activity(QUOTA, minute=-30)]}), ["instance-launch"]),
    ("without a time", missing(refused_launch(StartTime=None)), ["launch-denied"]),
    ("cancelled", missing(refused_launch(status="Cancelled")), ["launch-denied"]),
    ("not in progress", missing(refused_launch(status="InProgress")), ["unknown"]),
    ("not of an instance that ends", missing(refused_launch(Description="Terminating EC2 instance")), ["unknown"]),
    ("without a description", missing(refused_launch(Description="")), ["launch-denied"]),
    ("though the instances that were read came later", missing(refused_launch(), LAUNCHED), REFUSED),
    ("not where every node is there", given(healthy(), more={"scaling_activities": [activity(CAPACITY, minute=0.1)]},
     issues=[issue(CAPACITY)], group={"status": "DEGRADED"}), []),
    ("where no node was read and no instance runs", missing(refused_launch(), nodes=UNREAD, instances=[]), REFUSED),
)  # fmt: skip


test_where_instances_were_not_read_a_later_launch_makes_a_refusal_history = table(
    *((sentence, missing(*activities, instances=UNREAD), [cause]) for sentence, activities, cause in (
        ("none later", [refused_launch()], "launch-denied"),
        ("one later", [refused_launch(), LAUNCHED], "unknown"),
        ("one at the same time", [refused_launch(), activity("", "Successful", 1)], "launch-denied"),
        ("one before", [refused_launch(), activity("", "Successful", 0.5)], "launch-denied"),
        ("one in progress", [refused_launch(), activity("", "InProgress", 2)], "launch-denied"),
        ("one that was refused too", [refused_launch(), refused_launch("odd", minute=2)], "launch-denied"),
        ("no time of the refusal", [refused_launch(StartTime=None), LAUNCHED], "launch-denied"),
        ("no time of the launch", [refused_launch(), {**LAUNCHED, "StartTime": None}], "launch-denied"),
        ("one between two", [refused_launch(), LAUNCHED, refused_launch("not have sufficient", minute=3)],
        "no-capacity"),
    )),
    ("one for two", both_missing(instances=UNREAD, scaling_activities=[refused_launch(), LAUNCHED]), REFUSED),
)  # fmt: skip


ISSUES = [issue("not authorized", "AccessDenied"), issue(DENIED), issue("odd", "Odd")]
OF_HEALTH = [("launch-denied", POOL, f"AsgInstanceLaunchFailures: {DENIED}")]
JOIN = "Your worker nodes do not have access to the cluster or the API"


test_the_health_of_the_group_says_why_nodes_are_missing = table(
    ("not while the launch may take its time, for it may be of last week", given(one_missing(3), issues=ISSUES),
     [("instance-launch", POOL, "11:00:00")]),
    ("after that", given(one_missing(LATE), issues=ISSUES), OF_HEALTH),
    ("at once where activities were not read", given(one_missing(1), issues=ISSUES, scaling_activities=UNREAD),
     OF_HEALTH),
    ("by its text", given(one_missing(), issues=[issue(CAPACITY)], scaling_activities=UNREAD), ["no-capacity"]),
    ("not beside an activity that says it", missing(refused_launch("not have sufficient"), now=10, issues=ISSUES),
     [("no-capacity", POOL, "not have sufficient Launching")]),
    *((f"{code} of nodes that were taken away again", both_missing(issues=[issue(JOIN, code)]), ["node-not-joined"])
      for code in ("AccessDenied", "NodeCreationFailure", "Ec2SubnetInvalidConfiguration")),
    ("of nodes that may not authenticate", given(one_missing(), instances=UNREAD, scaling_activities=UNREAD,
     issues=[issue("Your worker nodes do not have access", "AccessDenied")]), ["node-not-joined"]),
    ("addresses", both_missing(issues=[issue("Amazon Autoscaling was unable to launch", "InsufficientFreeAddresses")]),
     ["no-addresses"]),
)  # fmt: skip
