"""Two nodes of a pool, each with its own state: a finding about the first does not hide the second."""

import pytest

from tests.diagnosis_cases import conditions
from tests.snapshots import (
    INSTANCES,
    NODES,
    Document,
    at,
    at_work,
    event,
    healthy,
    instance,
    judge,
    no_gpus,
    node,
    pod,
    replace,
    told,
    waiting,
    without,
)

FIRST, SECOND = NODES

DEAD = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}

PLUGIN = "nvidia-device-plugin-daemonset"

VALIDATOR = "nvidia-operator-validator"


def two(first: str) -> Document:
    """The first node is healthy, starts, or has a dead GPU. No pod waits for a GPU."""
    document = healthy()
    without(document, "train-waits")
    document["kubernetes"]["events"] = []
    if first == "starts":
        document["kubernetes"]["nodes"][1] = node(0, ready=False, minute=19)
        without(document, "train-0")
    elif first == "dead":
        conditions(document, 0).append(DEAD)
    return document


def about(document: Document) -> list[tuple[str, str]]:
    return [(each.cause.name, str(each.about)) for each in judge(document).findings]


@pytest.mark.parametrize(("first", "before"), [("whole", []), ("starts", []), ("dead", [("xid", FIRST)])])
def test_the_second_node_is_judged_whatever_the_first_is(first: str, before: list[tuple[str, str]]) -> None:
    short = two(first)
    no_gpus(short, 1)
    assert about(short) == [*before, ("gpu-count-short", SECOND)]

    for name, cause in ((PLUGIN, "device-plugin-missing"), (VALIDATOR, "validator-stuck")):
        document = two(first)
        replace(document, waiting(pod(f"{name}-1", number=1), "CrashLoopBackOff", "back-off", restarts=9))
        assert sorted(about(document)) == sorted([*before, (cause, SECOND)])


@pytest.mark.parametrize("name", [PLUGIN, VALIDATOR])
def test_what_crashes_on_a_node_that_only_starts_is_not_blamed(name: str) -> None:
    document = two("starts")
    replace(document, waiting(pod(f"{name}-0"), "CrashLoopBackOff", "back-off", restarts=9))
    assert about(document) == []


def test_a_validator_is_not_blamed_while_its_node_s_gpus_are_still_to_come() -> None:
    document = two("whole")
    no_gpus(document, 0)
    conditions(document, 0)[0]["lastTransitionTime"] = at(18)
    replace(document, waiting(pod(f"{VALIDATOR}-0"), "CrashLoopBackOff", "back-off", restarts=9))
    found = judge(document)
    assert found.findings == ()
    assert [(each.stage.label, each.about) for each in found.in_progress] == [("gpus-announced", FIRST)]


def test_a_young_instance_hides_no_old_one_and_after_an_hour_minutes_are_still_minutes() -> None:
    document = two("whole")
    document["now"] = at(60)
    document["expected"]["nodes"] = 4
    document["aws"]["instances"] += [
        {**instance(0, 58), "InstanceId": "i-young"},
        {**instance(0, 0.5), "InstanceId": "i-old"},
    ]
    assert about(document) == [("node-not-joined", "i-old")]
    assert told(document)[0][2] == ["i-old has been running for 59 minutes and is not a node"]
    assert [each.about for each in judge(document).in_progress] == ["i-young"]


def test_no_instance_is_blamed_where_more_nodes_are_there_than_are_expected() -> None:
    document = two("whole")
    document["expected"]["nodes"] = 1
    document["aws"]["instances"] += [{**instance(0), "InstanceId": name} for name in ("i-a", "i-b", "i-c")]
    assert about(document) == []


def test_a_node_group_that_names_another_instance_says_nothing_of_a_young_one() -> None:
    document = two("whole")
    document["expected"]["nodes"] = 3
    document["aws"]["instances"].append({**instance(0, 19), "InstanceId": "i-young"})
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "NodeCreationFailure", "message": "no", "resourceIds": [INSTANCES[0]]}
    ]
    assert about(document) == []
    assert [each.about for each in judge(document).in_progress] == ["i-young"]


def lost(name: str, log: str = "GPU is lost", **more: object) -> Document:
    """A pool of one node, with one more pod at the front of the list that prints this log."""
    document = at_work()
    more_of = pod(name, "lab", gpus=1)
    more_of["status"] |= more
    document["kubernetes"]["pods"].insert(0, more_of)
    document["logs"] = {f"lab/{name}": log, "lab/train-0": log}
    return document


def test_a_pod_that_ended_before_hides_none_that_lost_its_gpu_now() -> None:
    mine = [("gpu-lost", "lab/train-0")]
    assert about(lost("early", phase="Succeeded")) == mine
    ended = {"name": "main", "state": {"terminated": {"exitCode": 1, "finishedAt": at(-5)}}}
    assert about(lost("early", phase="Failed", containerStatuses=[ended])) == mine
    assert about(lost("early"))[0] == ("gpu-lost", "lab/early")


def test_nvidia_s_own_pods_hold_no_gpu_that_they_could_lose() -> None:
    document = at_work()
    document["logs"]["gpu-operator/gpu-feature-discovery-0"] = "GPU is lost"
    assert about(document) == []


def test_a_pod_that_no_node_has_lost_no_gpu() -> None:
    document = healthy()
    del document["kubernetes"]["pods"]
    document["kubernetes"]["events"] = [event("Pod", "train-9", "Odd", "x", namespace="lab")]
    document["logs"] = {"lab/train-9": "GPU is lost"}
    assert about(document) == []
