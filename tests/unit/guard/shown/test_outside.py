"""GPU instances of the cluster that belong to no pool of the lab: the guard says each once, and ends none."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.application.guard.acts import act
from lamplighter.application.guard.shown import outside_pools
from lamplighter.domain.capacity.evidence import Instance
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.guard import sweep
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import in_english
from tests.stopped_clock import stop_at
from tests.unit.guard.test_guard import EIGHT, instance, pool
from tests.unit.lab_on_moto import IMAGE, LabOnMoto

KARPENTER = Lab.model_validate(
    {"name": "lab", "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter"}}}
)
OWNED = {"kubernetes.io/cluster/lab": "owned"}


def started(tags: dict[str, str], kind: Any = "g5.xlarge") -> str:
    written: Any = [{"Key": key, "Value": value} for key, value in tags.items()]
    specification: Any = [{"ResourceType": "instance", "Tags": written}]
    made = boto3.client("ec2").run_instances(
        ImageId=IMAGE, InstanceType=kind, MinCount=1, MaxCount=1, TagSpecifications=specification
    )
    return made["Instances"][0]["InstanceId"]


def seen(lab: LabOnMoto, minutes: float = 5) -> list[Instance]:
    launched = max(one["LaunchTime"] for one in _instances())
    stop_at(lab.clock, launched + timedelta(minutes=minutes))
    return list(outside_pools(KARPENTER, Instances()))


def _instances() -> list[Any]:
    return [
        one for each in boto3.client("ec2").describe_instances()["Reservations"] for one in each["Instances"]
    ]


def test_the_nodes_of_another_node_pool_are_seen_by_the_tags_of_the_cluster(lab: LabOnMoto) -> None:
    karpenters = started({**OWNED, "karpenter.sh/nodepool": "theirs", "eks:eks-cluster-name": "lab"})
    auto_modes = started({"eks:kubernetes-node-pool-name": "general", "eks:eks-cluster-name": "lab"})

    assert {one.id for one in seen(lab)} == {karpenters, auto_modes}


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ({**OWNED, "karpenter.sh/nodepool": "lab-gpu", "eks:eks-cluster-name": "lab"}, "g5.xlarge"),
        (OWNED, "m5.large"),
        ({"kubernetes.io/cluster/other": "owned"}, "g5.xlarge"),
    ],
    ids=["ours", "no GPU", "another cluster"],
)
def test_others_are_not(lab: LabOnMoto, tags: dict[str, str], kind: str) -> None:
    started(tags, kind)

    assert seen(lab) == []


def test_one_that_has_just_begun_may_still_get_its_tags(lab: LabOnMoto) -> None:
    started(OWNED)

    assert seen(lab, minutes=1) == []


def test_each_is_a_breach_of_its_own_that_ends_nothing() -> None:
    breaches = sweep(replace(pool(), outside=(instance("i-1"), instance("i-2"))))

    assert [(found.rule, found.action, found.subject) for found in breaches] == [
        (Rule.GPU_OUTSIDE_POOLS, GuardAction.SAY, "i-1"),
        (Rule.GPU_OUTSIDE_POOLS, GuardAction.SAY, "i-2"),
    ]
    assert in_english(breaches[0].reason) == (
        "GPU instance i-1 (g5.xlarge) has run in the cluster since 19:30 UTC on 2026-11-20 and belongs to no pool"
        " of the lab; nothing here ends it"
    )


def test_each_is_said_once_a_day(lab: LabOnMoto) -> None:
    lab.at(0)
    first, second = (
        Breach(Rule.GPU_OUTSIDE_POOLS, "so it is", GuardAction.SAY, subject=name) for name in ("i-1", "i-2")
    )

    said = [act(lab.guard_services, replace(pool(), now=EIGHT), each) for each in (first, second, first)]

    assert said == [True, True, False]
