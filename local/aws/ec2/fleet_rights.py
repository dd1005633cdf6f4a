"""Whether the caller of CreateFleet may launch a choice: a fleet launches with the rights of its caller.

IAM judged CreateFleet before. A denial of RunInstances is an error in the fleet's answer, and no failure of the call:
aws/karpenter-provider-aws 7370; the other way about in kubernetes-sigs/karpenter 2813.
"""

from local.aws import iam
from local.aws.authorization.launches import one_launch
from local.aws.authorization.requests import Ask
from local.aws.authorization.state import State
from local.aws.ec2.fleet_launch import Choice, Tags
from local.aws.ec2.launch_refusal import LaunchRefusal


class FleetRights:
    """Judges by the policies of the caller's role."""

    def __init__(self, state: State) -> None:
        self._state = state

    def refusal(self, access_key: str, choice: Choice, tags: dict[str, Tags]) -> LaunchRefusal | None:
        """EC2's refusal of the launch; None if IAM allows it. `tags` are those of the created resources, by kind."""
        merged = {**choice.merged, "TemplateId": choice.template.template.id, "Spot": choice.spot}
        needed = one_launch("ec2:RunInstances", merged, tags, self._state)
        asks = (Ask(need.action, (need.resource,), need.said) for need in needed)
        reason = iam.refused_in(access_key, asks, self._state)
        if reason is None:
            return None
        said = f"You are not authorized to perform this operation. {reason}."
        return LaunchRefusal("UnauthorizedOperation", said)
