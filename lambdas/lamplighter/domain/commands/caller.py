"""The caller's name, from AWS: no other person in the account can take the same name.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html: names of users have no `/` and no
space in them, and are unique in an account whatever their path. A user of IAM and one of single sign-on who are called
the same are one person to the lab: whoever names users sees to that.
"""

import re
from dataclasses import dataclass

_SINGLE_SIGN_ON = re.compile(r"AWSReservedSSO_.+_[0-9a-f]{16}")
"""The roles of IAM Identity Center, which alone names their sessions: by the user."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of these credentials."""

    arn: str

    @property
    def name(self) -> str:
        """The user's name; for a session of a role the role too, since the person who assumes it names the session."""
        kind, _, rest = self.arn.split(":", 5)[-1].partition("/")
        if not rest:
            return f"account {kind}"
        if kind == "user":
            return rest.rpartition("/")[2]
        if kind == "assumed-role":
            role, _, session = rest.partition("/")
            return session if _SINGLE_SIGN_ON.fullmatch(role) and session else rest
        return f"{kind}/{rest}"
