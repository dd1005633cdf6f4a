"""What brings a node group to zero with none of our code: EKS, and past EKS the Auto Scaling group itself."""

from lamplighter.domain.capacity.calls import Call

EKS_TARGET = "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
AUTO_SCALING_TARGET = "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"
CURFEW = ("eks", "group")
"""The names of the two ways in the names of a curfew's schedules."""


def through_eks(cluster: str, name: str) -> Call:
    """The order to EKS. EKS refuses it while another update of the node group runs."""
    sizes = {"MinSize": 0, "DesiredSize": 0}
    return Call(EKS_TARGET, {"ClusterName": cluster, "NodegroupName": name, "ScalingConfig": sizes})


def past_eks(group: str) -> Call:
    """The order to the Auto Scaling group, which takes it whatever EKS does."""
    return Call(AUTO_SCALING_TARGET, {"AutoScalingGroupName": group, "MinSize": 0, "DesiredCapacity": 0})


def calls(cluster: str, name: str, group: str) -> tuple[Call, ...]:
    """The four calls of a failsafe, in their order: EKS first, second and last, the Auto Scaling group third."""
    eks, scaling = through_eks(cluster, name), past_eks(group)
    return eks, eks, scaling, eks
