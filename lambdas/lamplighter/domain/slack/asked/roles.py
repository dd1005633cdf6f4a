"""Who may do what from Slack, by `slack.roles` of the lab; each refusal has its reason.

Everybody may look. Nobody may open without a role. An owner may extend and close their own leases. The Slack id in a
lease's owner tells whose lease it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING

from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.people.person import Person, id_in
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.reasons.reason import Reason, reason

if TYPE_CHECKING:
    from lamplighter.lab.channels import Role

_ACTIONS: Mapping[Word, str] = {
    Word.OPEN: "open",
    Word.EXTEND: "extend",
    Word.KEEP: "extend",
    Word.MOVE: "extend",
    Word.CLOSE: "close",
    Word.SKIP: "skip",
    Word.UNSKIP: "skip",
    Word.PAUSE: "pause",
    Word.RESUME: "pause",
}
"""What a role must allow for each command that changes something."""
OF_AN_OWNER = frozenset({Word.EXTEND, Word.KEEP, Word.MOVE, Word.CLOSE})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants to do: on which pool, with how many of their nodes in all, and for how long in all."""

    word: Word
    pool: str | None = None
    nodes: int | None = None
    length: timedelta | None = None
    lease: Lease | None = None


def owns(person: Person, lease: Lease | None) -> bool:
    """Whether a lease belongs to a person."""
    return lease is not None and id_in(lease.owner) == person.id


def groups_named(roles: Mapping[str, "Role"]) -> frozenset[str]:
    """The user groups in the lab's roles. The lab asks Slack about these."""
    return frozenset(member for role in roles.values() for member in role.members if member.startswith("S"))


def refusal(person: Person, wanted: Wanted, roles: Mapping[str, "Role"]) -> Reason | None:
    """Why a person may not do it; None where they may."""
    action, named = _ACTIONS[wanted.word], _named(person, wanted, roles)
    held = {name: role for name, role in roles.items() if _in(person, role)}
    if named is None:
        return None
    if not held and not person.known and groups_named(roles):
        return reason("slack.role.groups-unknown", action=action)
    if not held:
        return reason("slack.role.none", action=action)
    reasons = [_why_not(name, role, named, wanted) for name, role in held.items()]
    return None if None in reasons else max(filter(None, reasons), key=lambda each: each[0])[1]


def limit(person: Person, wanted: Wanted, roles: Mapping[str, "Role"]) -> Reason | None:
    """The limit of nodes or length that all roles of a person that allow it have, if it is passed."""
    why = refusal(person, wanted, roles)
    return why if why is not None and why.code in {"slack.role.nodes", "slack.role.length"} else None


def allowance(person: Person, wanted: Wanted, roles: Mapping[str, "Role"]) -> Allowance | None:
    """What the widest of the allowing roles lets a person have in all.

    None where no role is needed; an allowance of 0 nodes where no role allows it.
    """
    action = _named(person, wanted, roles)
    if action is None:
        return None
    allowing = [
        role
        for name, role in roles.items()
        if _in(person, role) and _why_not(name, role, action, wanted) is None
    ]
    if not allowing:
        return Allowance(0, timedelta())
    unbounded = timedelta.max
    widest = max(allowing, key=lambda role: (role.max_nodes or inf, role.longest or unbounded))
    return Allowance(widest.max_nodes, widest.longest)


def _named(person: Person, wanted: Wanted, roles: Mapping[str, "Role"]) -> str | None:
    """What a role must allow; None where the lease is theirs, so that no role is needed."""
    action = _ACTIONS[wanted.word]
    held = [role for role in roles.values() if _in(person, role)]
    if wanted.word not in OF_AN_OWNER or not owns(person, wanted.lease):
        return action
    if wanted.word is not Word.EXTEND or not any("open" in role.may for role in held):
        return None
    # A member who may open has the same longest length when they extend their own lease.
    return action if any(action in role.may for role in held) else "open"


def _in(person: Person, role: "Role") -> bool:
    return person.id in role.members or not person.groups.isdisjoint(role.members)


def _why_not(name: str, role: "Role", action: str, wanted: Wanted) -> tuple[int, Reason] | None:  # noqa: PLR0911 -- a line each rule
    """The first rule of a role that forbids it, with the rule's position; None where the role allows it."""
    if action not in role.may:
        if not role.may:
            return 0, reason("slack.role.only-sees", role=name, action=action)
        return 0, reason("slack.role.action", role=name, action=action, allowed=", ".join(role.may))
    if role.pools is not None and wanted.pool is not None and wanted.pool not in role.pools:
        if not role.pools:
            return 1, reason("slack.role.no-pool", role=name, action=action, pool=wanted.pool)
        pools = ", ".join(role.pools)
        return 1, reason("slack.role.pool", role=name, action=action, pools=pools, pool=wanted.pool)
    if role.max_nodes is not None and wanted.nodes is not None and wanted.nodes > role.max_nodes:
        return 2, reason("slack.role.nodes", role=name, most=role.max_nodes, nodes=wanted.nodes)
    if role.longest is not None and wanted.length is not None and wanted.length > role.longest:
        return 3, reason("slack.role.length", role=name, longest=role.longest, length=wanted.length)
    return None
