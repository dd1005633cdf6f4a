"""A person in Slack: who they are, which groups they are in, and what time it is where they are.

Permissions follow the id alone: a name is only for people to read. The Web API adapter asks Slack about a person.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

_WRITTEN = re.compile(r"\(([UW][A-Z0-9]{1,30})\)$")
_ODD = re.compile(r"[\s()<>&*_~`|\x00-\x1f\x7f]+")
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Person:
    """The person who typed a command or pressed a button."""

    id: str
    name: str = ""
    groups: frozenset[str] = frozenset()
    """Their user groups (S…), of the groups that the lab asked about."""
    zone: str | None = None
    """Their IANA time zone; None where Slack did not give it."""
    known: bool = True
    """False where Slack did not answer in time: their groups are not known then."""

    @property
    def written(self) -> str:
        """The person as an owner of a lease: `minji (U0123456789)`."""
        name = _ODD.sub(" ", self.name).strip()[:LONGEST_NAME].strip()
        return f"{name or 'somebody'} ({self.id})"


class People(Protocol):
    """Who somebody is, as Slack knows it."""

    def person(self, user: str, name: str, groups: Collection[str], patience_seconds: float) -> Person:
        """The person of that id, within so many seconds; `known` is False where Slack did not answer.

        `name` is what the request calls them; `groups` are those that the lab's roles name. Never raises.
        """
        ...


def id_in(written: str | None) -> str | None:
    """The Slack id in an owner that `Person.written` made; None for any other owner."""
    found = _WRITTEN.search(written or "")
    return found[1] if found else None


def who(written: str) -> str:
    """What identifies a person or an owner, to compare and to group them: in Slack their id, elsewhere their name.

    The id is in brackets: no name in AWS has any, so an IAM user who is called like an id is somebody else.
    """
    known = _WRITTEN.search(written)
    return known[0] if known else written


def mention(written: str) -> str:
    """An owner in a message: a mention where they have a Slack id, which notifies them."""
    known = id_in(written)
    return f"<@{known}>" if known else written
