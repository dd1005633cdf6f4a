"""EC2's service-linked role for Spot, which the account needs before its first Spot Instance.

Karpenter may not create it. Auto Scaling may, where no policy of an organisation forbids it
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html).
"""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient

SPOT_ROLE = "AWSServiceRoleForEC2Spot"


@border
class SpotRole:
    """The role of the account."""

    def __init__(self, iam: "IAMClient | None" = None) -> None:
        self._iam: IAMClient = iam or client("iam")

    def exists(self) -> bool:
        """Whether the account has it."""
        with outside("iam:GetRole", SPOT_ROLE):
            try:
                self._iam.get_role(RoleName=SPOT_ROLE)
            except self._iam.exceptions.ClientError as error:
                if error_code(error) != "NoSuchEntity":
                    raise
                return False
        return True
