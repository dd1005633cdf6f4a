"""Removes the failsafe's lock from the role that launches a pool's instances. It can do nothing else to a role."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.domain.capacity.node_pool.lock import policy_name

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient


@border
class Lock:
    """The lock on one role."""

    def __init__(self, role: str, iam: "IAMClient | None" = None) -> None:
        self._role = role
        self._iam: IAMClient = iam or client("iam")

    def remove(self, node_pool: str) -> None:
        """Remove a NodePool's lock. A role without it is fine."""
        policy = policy_name(node_pool)
        with outside("iam:DeleteRolePolicy", f"{self._role}, {policy}"):
            try:
                self._iam.delete_role_policy(RoleName=self._role, PolicyName=policy)
            except self._iam.exceptions.ClientError as error:
                if error_code(error) != "NoSuchEntity":
                    raise
