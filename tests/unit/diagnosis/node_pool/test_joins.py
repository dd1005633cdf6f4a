"""Instances of a NodePool that never register, and the paid loop of document 001."""

from datetime import timedelta
from typing import Any

import pytest

from tests.karpenter_recording.recording import moments
from tests.node_pool_snapshots import NODE_POOL, claim, condition, empty, node_class, node_pool, pool_of
from tests.snapshots import INSTANCES, SINCE, Document, causes, instance, stages, told

DLAMI = "Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.8 (Amazon Linux 2023) 20251101"
UNREGISTERED = condition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster", 0.1)


def waiting(now: float, began: float = 0.1, **more: Any) -> Document:
    """One instance runs since `began` and is no node."""
    document = empty(now)
    document["kubernetes"]["nodeclaims"] = [claim(0, condition("Launched", minute=began), UNREGISTERED)]
    document["aws"]["instances"] = [
        {
            **instance(0, began),
            "Tags": [{"Key": "karpenter.sh/nodepool", "Value": NODE_POOL}],
            "ImageId": "ami-0aaa",
        }
    ]
    document["kubernetes"] |= more
    return document


def ended(number: int, began: float, minutes: float) -> Document:
    gone = SINCE + timedelta(minutes=began + minutes)
    return {
        **instance(number, began),
        "InstanceId": f"i-0bbbbbbbbbbbbbbb{number}",
        "State": {"Name": "terminated"},
        "StateTransitionReason": f"User initiated ({gone:%Y-%m-%d %H:%M:%S} GMT)",
        "Tags": [{"Key": "karpenter.sh/nodepool", "Value": NODE_POOL}],
    }


def test_an_instance_that_is_late_is_told_with_the_words_of_its_claim() -> None:
    assert stages(waiting(4)) == ["node-join"]
    [(cause, about, evidence)] = told(waiting(10))
    assert (cause, about) == ("node-not-joined", INSTANCES[0])
    assert evidence == [
        f"{INSTANCES[0]} has been running for 9 minutes and is not a node",
        f"{NODE_POOL}-abc01 Registered=Unknown, NodeNotFound: Node not registered with cluster",
    ]


def test_in_the_paid_loop_a_young_instance_is_a_finding() -> None:
    document = waiting(40, began=38)
    assert causes(document) == []
    document["aws"]["instances"] += [ended(0, 0.1, 15), ended(1, 16, 15.2)]

    [(cause, _, evidence)] = told(document)

    assert cause == "node-not-joined"
    assert evidence[-1].startswith("2 earlier instances were ended after 15 minutes without becoming a node")


def test_the_loop_that_was_recorded_is_told() -> None:
    when = {moment.what: moment.at for moment in reversed(moments("never-registers"))}
    document = waiting(40, began=38)
    document["aws"]["instances"].append(ended(0, 0.1, (when["InstanceTerminating"] - when["Launched"]) / 60))

    [(cause, _, evidence)] = told(document)

    assert cause == "node-not-joined"
    assert evidence[-1].startswith("1 earlier instance was ended after 15 minutes without becoming a node")


@pytest.mark.parametrize(("began", "minutes"), [(-20, 15), (1, 6), (1, 18)])
def test_an_instance_of_before_and_one_that_was_interrupted_are_no_loop(began: float, minutes: float) -> None:
    document = waiting(40, began=38)
    document["aws"]["instances"].append(ended(0, began, minutes))
    assert stages(document) == ["node-join"]
    assert causes(document) == []


def test_between_two_claims_the_health_of_the_node_pool_tells() -> None:
    document = empty(40)
    assert causes(document) == ["unknown"]
    [pool] = document["kubernetes"]["nodepools"]
    failed = condition(
        "NodeRegistrationHealthy", "False", "RegistrationFailed", "Failed to register node", 15
    )
    pool["status"]["conditions"].append(failed)
    [(cause, about, evidence)] = told(document)
    assert (cause, about) == ("node-not-joined", NODE_POOL)
    assert evidence == [
        f"{NODE_POOL} NodeRegistrationHealthy=False, RegistrationFailed: Failed to register node"
    ]
    failed["lastTransitionTime"] = "2026-11-19T00:00:00Z"
    assert causes(document) == ["unknown"]


def test_a_pool_that_failed_once_and_is_there_now_is_healthy() -> None:
    document = pool_of(now=40)
    document["aws"]["instances"].append(ended(0, 0.1, 15))
    document["kubernetes"]["nodepools"][0]["status"]["conditions"].append(
        condition("NodeRegistrationHealthy", "False", "RegistrationFailed", "Failed to register node", 15)
    )
    assert causes(document) == []


def test_a_deep_learning_ami_is_named_as_an_image_that_never_joins() -> None:
    learning = node_class(ami=DLAMI, amiSelectorTerms=[{"id": "ami-0aaa"}])
    document = waiting(10, ec2nodeclasses=[learning])

    [(cause, about, evidence)] = told(document)

    assert (cause, about) == ("wrong-ami", NODE_POOL)
    assert evidence[1].startswith(f"its image ami-0aaa is a Deep Learning AMI ({DLAMI}): it has no nodeadm")
    document["aws"]["instances"][0]["ImageId"] = "ami-0old"
    assert causes(document) == ["node-not-joined"]


def test_another_image_of_its_own_is_asked_about_and_one_by_alias_is_not() -> None:
    own = node_class(ami="my-image-7", amiSelectorTerms=[{"tags": {"team": "ml"}}])
    [(cause, _, evidence)] = told(waiting(10, ec2nodeclasses=[own]))
    assert cause == "node-not-joined"
    assert (
        f"NodeClass {NODE_POOL} names an image of its own, my-image-7: check that it has nodeadm"
        in evidence[1]
    )
    assert "image" not in " ".join(told(waiting(10))[0][2])


def test_a_claim_that_is_being_deleted_is_no_instance_that_should_join() -> None:
    document = pool_of(nodes=1)
    leaving = claim(
        1, condition("Launched", minute=0.1), UNREGISTERED, deletionTimestamp="2026-11-20T11:15:00Z"
    )
    document["kubernetes"]["nodeclaims"].append(leaving)
    document["expected"]["nodes"] = 2
    document["kubernetes"]["nodepools"] = [node_pool(replicas=2)]
    assert "node-not-joined" not in causes(document)
