"""The disk of a node with images and pods, by the family of its image.

Bottlerocket has two: the first has the system and keeps the size of the image, the second is the lab's to size.
"""

from aws_cdk import aws_ec2 as ec2

from lamplighter.lab.nodes.images import ImageFamily
from stacks.constructs.nodes.spec import NodeGroupSpec

DEVICES: dict[ImageFamily, str] = {
    "al2023": "/dev/xvda",
    "al2": "/dev/xvda",
    "bottlerocket": "/dev/xvdb",
    "windows": "/dev/sda1",
}


def disks(spec: NodeGroupSpec) -> list[ec2.CfnLaunchTemplate.BlockDeviceMappingProperty]:
    """The block devices of a launch template."""
    return [
        ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
            device_name=DEVICES[spec.family],
            ebs=ec2.CfnLaunchTemplate.EbsProperty(
                volume_size=spec.disk_gib,
                volume_type="gp3",
                encrypted=True,
                delete_on_termination=True,
            ),
        )
    ]
