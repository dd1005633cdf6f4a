"""The service control policies of an organisation: what they deny, nobody in the account may do, its administrator
included (Organizations user guide, "Service control policies")."""

import json

from local.aws.authorization.statements import Policy


class Organisation:
    """A test switches it on by giving it policies; it has none at first. Only their denials count."""

    def __init__(self) -> None:
        self.policies: tuple[Policy, ...] = ()

    def forget(self) -> None:
        """Starts anew, for a new cloud."""
        self.policies = ()

    def demand_boundary(self, *arns: str) -> None:
        """No role may be created without one of these permissions boundaries, or be given another one."""
        statement = {
            "Effect": "Deny",
            "Action": [
                "iam:CreateRole",
                "iam:PutRolePermissionsBoundary",
                "iam:DeleteRolePermissionsBoundary",
            ],
            "Resource": "*",
            "Condition": {"StringNotEquals": {"iam:PermissionsBoundary": list(arns)}},
        }
        document = {"Version": "2012-10-17", "Statement": [statement]}
        self.policies = (Policy("boundary", json.dumps(document)),)


#: moto's roles are global in the process, and so is this.
ORGANISATION = Organisation()
