"""The simulator knows the GPUs of every instance type that EC2 sells."""

from moto.ec2.models.instance_types import INSTANCE_TYPES

from local.fleet.gpus.hardware import hardware, has_gpus


def test_a_machine_of_every_type_with_gpus_can_start():
    with_gpus = [name for name in INSTANCE_TYPES if has_gpus(name)]

    assert {"g5.xlarge", "g5g.xlarge", "p5.48xlarge", "p6-b200.48xlarge"} <= set(with_gpus)
    assert not [name for name in with_gpus if hardware(name).gpu is None]
