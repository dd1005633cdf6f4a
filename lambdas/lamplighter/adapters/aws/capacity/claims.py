"""The claims on node groups: SSM parameters with fixed names. Each has the name of the lab that guards the group."""

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.domain.capacity.claim import LabClaim

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

CLAIM = "/lamplighter/claims/{cluster}/{nodegroup}"
_MAY_BE_CLAIMED = re.compile(r"[A-Za-z0-9_.-]{1,253}", re.ASCII)
"""The name of a node group or a NodePool. SSM reads a colon as the start of a version or a label, and refuses the whole
call for many other signs (https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html)."""
# GetParameters takes at most 10 names.
AT_ONCE = 10


@border
class Claims:
    """The claims on the node groups of one cluster."""

    def __init__(self, cluster: str, ssm: "SSMClient | None" = None) -> None:
        self._cluster = cluster
        self._ssm: SSMClient = ssm or client("ssm")

    def of(self, nodegroups: Collection[str]) -> Mapping[str, LabClaim]:
        """The claim on each node group. One without a claim, or with a name that none can have, is left out."""
        names = {
            CLAIM.format(cluster=self._cluster, nodegroup=nodegroup): nodegroup
            for nodegroup in nodegroups
            if _MAY_BE_CLAIMED.fullmatch(nodegroup)
        }
        asked, found = list(names), dict[str, LabClaim]()
        for first in range(0, len(asked), AT_ONCE):
            some = asked[first : first + AT_ONCE]
            with outside("ssm:GetParameters", ", ".join(some)):
                parameters = self._ssm.get_parameters(Names=some)["Parameters"]
            found |= {
                names[each["Name"]]: LabClaim(each["Value"], overwritten=each["Version"] > 1)
                for each in parameters
                if each["Name"] in names
            }
        return found
