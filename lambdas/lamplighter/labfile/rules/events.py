"""Whether the entries of `events` fit: known pools, a source each, and principals that AWS can name in a policy."""

from collections.abc import Iterator

from lamplighter.domain.events.bus_policy import MOST_CHARACTERS, characters
from lamplighter.domain.events.orders import is_giver
from lamplighter.lab.events import EventEntry
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit, no_pool

ALLOW: Path = ("events", "allow")
RESERVED = ("aws.", "lamplighter.")
"""EventBridge keeps the first for AWS itself. With the second a lab tells its own events."""


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in who may open and close by events."""
    if lab.events is None:
        return
    if lab.name == "default":
        yield Misfit(
            ("name",), "is default, which is the name of EventBridge's own bus; write another", (("events",),)
        )
    sources: dict[str, str] = {}
    for name, entry in lab.events.allow.items():
        path = (*ALLOW, name)
        if entry.source.lower().startswith(RESERVED):
            yield Misfit(
                (*path, "source"),
                f"is {shown(entry.source)}, and only AWS and labs themselves use such names; write another,"
                " such as ci.training",
            )
        before = sources.setdefault(entry.source, name)
        if before != name:
            yield Misfit(
                (*path, "source"),
                f"is {shown(entry.source)}, like that of {before}: a source says who asks; write another",
                ((*ALLOW, before, "source"),),
            )
        for index, pool in enumerate(entry.pools or ()):
            if pool not in lab.pools:
                yield no_pool(lab, (*path, "pools", index), pool)
        yield from _principals(entry, path)
        if entry.longest is not None and entry.longest > lab.guard.longest_lease:
            yield Misfit(
                (*path, "longest"),
                "is longer than guard.longest_lease, which holds for everybody; write less, or leave it out",
                (("guard", "longest_lease"),),
            )
    yield from _owners(lab)
    needed = characters(lab)
    if needed > MOST_CHARACTERS:
        yield Misfit(
            ALLOW,
            f"needs {needed} characters of the bus's policy, and EventBridge takes {MOST_CHARACTERS};"
            " write fewer entries or principals",
        )


def _owners(lab: Lab) -> Iterator[Misfit]:
    """No owner may have the name of one who gives commands by events."""
    named: dict[Path, str] = {("owner",): lab.owner}
    named |= {("windows", index, "owner"): lab.owner_of(window) for index, window in enumerate(lab.windows)}
    entries = lab.events.allow if lab.events else {}
    named |= {(*ALLOW, name, "owner"): entry.owner or name for name, entry in entries.items()}
    for path, owner in named.items():
        if is_giver(owner):
            yield Misfit(
                path, f"is {shown(owner)}, which is how the audit trail names an entry; write another"
            )


def _principals(entry: EventEntry, path: Path) -> Iterator[Misfit]:
    for index, arn in enumerate(entry.principals):
        where = (*path, "principals", index)
        if "*" in arn or "?" in arn:
            yield Misfit(where, f"is {shown(arn)}, with a wildcard; name each role or user")
        elif arn in entry.principals[:index]:
            yield Misfit(where, f"is {shown(arn)}, like one before it; leave it out")
