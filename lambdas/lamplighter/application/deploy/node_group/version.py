"""The version of the launch template for a node group. It changes only when the template's content changes.

CloudFormation makes a new version on the way back of a failed deploy as well, and takes none away
(aws-cloudformation/cloudformation-coverage-roadmap 1912). So the latest number may be ahead of the group's though both
say the same. Told it, CloudFormation would replace nodes for nothing, and EKS takes no other change with that.
"""

import hashlib
import json
import re
from collections.abc import Mapping

from lamplighter.application.deploy.response import CloudFormationResponse

_TOLD = re.compile(r"version-of-\S+ (\d+) as (\w+)(?: after (\d+) as (\w+))?")


def version(now: Mapping[str, object], known: str) -> CloudFormationResponse:
    """The version. The physical id has it with its digest, and the version before, for a rollback."""
    says = hashlib.sha256(json.dumps(now["Template"], sort_keys=True).encode()).hexdigest()[:16]
    told = _TOLD.fullmatch(known)
    number, before = str(now["Latest"]), ""
    if told and told[2] == says:
        number, before = told[1], f" after {told[3]} as {told[4]}" if told[3] else ""
    elif told:
        number = told[3] if told[4] == says else number
        before = f" after {told[1]} as {told[2]}"
    name = f"version-of-{now['Cluster']}/{now['Nodegroup']} {number} as {says}{before}"
    return CloudFormationResponse(name, data={"Version": number})
