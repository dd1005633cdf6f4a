"""Nothing in AWS remembers when an instance of a NodePool ran: the sweeps keep it for the meter."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import boto3
from moto.ec2.models import ec2_backends

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.capacity.kinds import of_lab
from lamplighter.application.capacity.lives import lives_of_pool, note_lives
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.capacity.evidence import Part
from lamplighter.lab.model import Lab
from tests.unit.lab_on_moto import IMAGE, LEDGER, REGION, LabOnMoto

KARPENTER = Lab.model_validate(
    {"name": "lab", "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter"}}}
)
TAGS = {"karpenter.sh/nodepool": "lab-gpu", "eks:eks-cluster-name": "lab"}


def started(*, by_karpenter: bool = True) -> tuple[str, datetime]:
    """An instance with the pool's tags, and when it was launched."""
    tags = TAGS | ({"karpenter.sh/nodeclaim": "lab-gpu-12345"} if by_karpenter else {})
    specification: Any = [
        {"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
    ]
    made = boto3.client("ec2").run_instances(
        ImageId=IMAGE, InstanceType="g5.xlarge", MinCount=1, MaxCount=1, TagSpecifications=specification
    )["Instances"][0]
    return made["InstanceId"], made["LaunchTime"]


def forgotten(instance: str) -> None:
    """An hour after its end EC2 lists an instance no longer."""
    backend = ec2_backends["123456789012"][REGION]
    for reservation in backend.reservations.values():
        reservation.instances = [each for each in reservation.instances if each.id != instance]


def services() -> CapacityServices:
    return CapacityServices(KARPENTER, Ledger(LEDGER), of_lab(KARPENTER))


def swept(capacity: CapacityServices, now: datetime) -> None:
    note_lives(capacity, "gpu", capacity.see("gpu", {Part.INSTANCES}), now)


def test_a_life_that_a_sweep_saw_is_metered_when_ec2_has_forgotten_it(lab: LabOnMoto) -> None:
    instance, launched = started()
    capacity = services()
    swept(capacity, launched + timedelta(minutes=5))
    boto3.client("ec2").terminate_instances(InstanceIds=[instance])
    swept(capacity, launched + timedelta(minutes=10))
    [before] = lives_of_pool(capacity, "gpu", launched + timedelta(minutes=30))

    forgotten(instance)

    assert lives_of_pool(capacity, "gpu", launched + timedelta(hours=8)) == (before,)
    assert (before.instance, before.started, before.member) == (instance, launched, True)


def test_a_life_whose_end_nobody_saw_ended_before_ec2_forgot_it(lab: LabOnMoto) -> None:
    instance, launched = started()
    capacity = services()
    swept(capacity, launched + timedelta(minutes=5))

    forgotten(instance)

    [life] = lives_of_pool(capacity, "gpu", launched + timedelta(hours=8))
    assert life.ended == launched + timedelta(hours=7)


def test_the_end_of_a_node_that_never_joined_is_kept_although_its_claim_is_gone(lab: LabOnMoto) -> None:
    """Only its claim ever named it: the instance itself has no tag of Karpenter's yet."""
    instance, launched = started(by_karpenter=False)
    capacity = services()
    seen = capacity.see("gpu", {Part.INSTANCES})
    claimed = tuple(replace(each, controller="lab-gpu") for each in seen.instances)
    note_lives(capacity, "gpu", replace(seen, instances=claimed), launched + timedelta(minutes=5))
    boto3.client("ec2").terminate_instances(InstanceIds=[instance])
    swept(capacity, launched + timedelta(minutes=10))
    [before] = lives_of_pool(capacity, "gpu", launched + timedelta(minutes=30))

    forgotten(instance)

    assert lives_of_pool(capacity, "gpu", launched + timedelta(hours=8)) == (before,)


def test_what_karpenter_did_not_start_belongs_to_no_lease(lab: LabOnMoto) -> None:
    _instance, launched = started(by_karpenter=False)
    capacity = services()
    swept(capacity, launched + timedelta(minutes=5))

    [life] = lives_of_pool(capacity, "gpu", launched + timedelta(minutes=10))

    assert not life.member
    assert capacity.ledger.lives("gpu") == []
