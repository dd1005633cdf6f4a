"""Who calls, as AWS says it: a name that nobody else in the account can have.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html: names of users have no `/` and no
space in them, and are unique in an account whatever their path.
"""

from dataclasses import dataclass

SINGLE_SIGN_ON = "AWSReservedSSO_"
"""Begins the roles of IAM Identity Center, which alone names their sessions: by the user."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of these credentials."""

    arn: str

    @property
    def name(self) -> str:
        """The user; of a role's session the role as well, since whoever may take a role may name the session."""
        kind, _, rest = self.arn.split(":", 5)[-1].partition("/")
        if not rest:
            return f"account {kind}"
        if kind == "user":
            return rest.rpartition("/")[2]
        if kind == "assumed-role":
            role, _, session = rest.partition("/")
            return session if role.startswith(SINGLE_SIGN_ON) and session else rest
        return f"{kind}/{rest}"
