"""The guard takes away the very nodes whose type no lease was granted for, and lets no others come in their place."""

import boto3

from lamplighter.application.guard.sweep import sweep_all
from tests.unit.billing.test_charges import launched, of_type
from tests.unit.lab_on_moto import TAGS, LabOnMoto


def test_a_node_of_another_type_goes_and_the_size_with_it(lab: LabOnMoto) -> None:
    lab.lease(nodes=2, instance_types=("g5.xlarge",))
    lab.scale(1)
    of_type("p5.48xlarge")
    lab.scale(2)
    [dear, usual] = lab.members if _type(lab.members[0]) == "p5.48xlarge" else lab.members[::-1]

    sweep_all(lab.guard_services)

    assert (_type(dear), _type(usual)) == ("p5.48xlarge", "g5.xlarge")
    assert lab.members == [usual]
    [entry] = [each for each in lab.entries("breach") if each.details["rule"] == "other-instance-type"]
    assert (entry.details["action"], entry.details["subject"]) == ("remove", "p5.48xlarge")
    assert entry.details["paged"] == "yes"


def test_an_instance_that_its_group_does_not_list_is_terminated(lab: LabOnMoto) -> None:
    lab.lease(nodes=2, instance_types=("g5.xlarge",))
    lab.scale(1)
    stray = lab.instance(TAGS, "p5.48xlarge")
    launched(-30)

    sweep_all(lab.guard_services)

    assert _state(stray) in {"shutting-down", "terminated"}
    assert len(lab.members) == 1


def _type(instance: str) -> str:
    return str(_described(instance)["InstanceType"])


def _state(instance: str) -> str:
    state: dict[str, str] = _described(instance)["State"]
    return state["Name"]


def _described(instance: str) -> dict[str, dict[str, str]]:
    found = boto3.client("ec2").describe_instances(InstanceIds=[instance])
    return found["Reservations"][0]["Instances"][0]  # type: ignore[return-value]
