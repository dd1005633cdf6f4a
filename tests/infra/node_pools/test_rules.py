"""Which events start the guard of a lab with NodePools."""

from collections.abc import Iterator
from typing import Any

from tests.infra.conftest import Assembly

OF_GROUPS = {"gpu-lab-instances", "gpu-lab-nodegroup-calls", "gpu-lab-group-calls", "gpu-lab-instance-calls"}
STATES, FLEETS = "gpu-lab-instance-states", "gpu-lab-fleet-calls"


def rules(lab: Assembly) -> dict[str, dict[str, Any]]:
    found = lab.template("gpu-lab-controller").properties("AWS::Events::Rule")
    return {each["Name"]: each for each in found}


def test_an_event_of_ec2_starts_the_guard_and_a_group_of_nobody_does_not(
    karpenter: Assembly, mixed: Assembly
) -> None:
    assert {STATES, FLEETS} <= set(rules(karpenter))
    assert not OF_GROUPS & set(rules(karpenter))
    assert {*OF_GROUPS, STATES, FLEETS} <= set(rules(mixed))


def test_events_about_auto_mode_are_heard_where_the_account_shows_its_instances(auto_mode: Assembly) -> None:
    assert {STATES, FLEETS, "gpu-lab-sweep"} <= set(rules(auto_mode))


def record(*tags: tuple[str, str]) -> dict[str, Any]:
    """CreateFleet as CloudTrail has it, reduced: lists of specifications, each with a list of numbered tags.

    After the record in https://github.com/aws/karpenter-provider-aws/issues/5850.
    """
    numbered = [{"Value": value, "tag": number, "Key": key} for number, (key, value) in enumerate(tags, 1)]
    specifications = [
        {"ResourceType": kind, "tag": number, "Tag": numbered}
        for number, kind in enumerate(("instance", "volume", "fleet"), 1)
    ]
    fleet = {"Type": "instant", "TagSpecification": specifications}
    return {"eventName": "CreateFleet", "requestParameters": {"CreateFleetRequest": fleet}}


def leaves(value: Any, pattern: Any) -> Iterator[bool]:
    """Whether each object at the end of the pattern's path has its values. EventBridge looks into every item of a
    list, and wants the keys of one object in one item of it."""
    for each in value if isinstance(value, list) else [value]:
        if all(isinstance(wanted, list) for wanted in pattern.values()):
            yield all(each.get(key) in wanted for key, wanted in pattern.items())
        else:
            for key, inner in pattern.items():
                yield from leaves(each[key], inner) if isinstance(inner, dict) else [each[key] in inner]


def starts(lab: Assembly, event: dict[str, Any]) -> bool:
    """Whether the rule hears of the launch."""
    asked = rules(lab)[FLEETS]["EventPattern"]["detail"]
    assert asked["eventName"] == [event["eventName"]]
    return any(leaves(event["requestParameters"], asked["requestParameters"]))


def test_a_launch_for_the_lab_s_node_pool_is_heard_in_the_form_of_published_records(
    karpenter: Assembly, auto_mode: Assembly
) -> None:
    cluster = ("eks:eks-cluster-name", "gpu-lab")

    assert starts(karpenter, record(cluster, ("karpenter.sh/nodepool", "gpu-lab-gpu")))
    assert starts(auto_mode, record(cluster, ("eks:kubernetes-node-pool-name", "gpu-lab-gpu")))
    assert not starts(karpenter, record(cluster, ("karpenter.sh/nodepool", "theirs")))
    assert not starts(karpenter, record(("karpenter.sh/nodepool", "theirs"), ("owner", "gpu-lab-gpu")))
