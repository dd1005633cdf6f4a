"""The claims on node groups: SSM parameters with fixed names. Each has the name of the lab that guards the group."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

CLAIM = "/lamplighter/claims/{cluster}/{nodegroup}"
# GetParameters takes at most 10 names.
AT_ONCE = 10


class Claims:
    """The claims on the node groups of one cluster."""

    def __init__(self, cluster: str, ssm: "SSMClient | None" = None) -> None:
        self._cluster = cluster
        self._ssm: SSMClient = ssm or client("ssm")

    def of(self, nodegroups: Collection[str]) -> Mapping[str, str]:
        """The lab that claims each node group. A node group without a claim is left out."""
        names = {
            CLAIM.format(cluster=self._cluster, nodegroup=nodegroup): nodegroup for nodegroup in nodegroups
        }
        asked, found = list(names), dict[str, str]()
        for first in range(0, len(asked), AT_ONCE):
            some = asked[first : first + AT_ONCE]
            with outside("ssm:GetParameters", ", ".join(some)):
                parameters = self._ssm.get_parameters(Names=some)["Parameters"]
            found |= {names[each["Name"]]: each["Value"] for each in parameters}
        return found
