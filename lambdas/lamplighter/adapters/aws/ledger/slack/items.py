"""The shape of Slack's items in the ledger: values to and from what DynamoDB keeps.

Owns encodings only; slack.py says which items there are and who writes them when.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from lamplighter.adapters.aws.ledger.items import Value, sortable
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack.kept import ApprovalRequest, Reply, Shown, WaitingPlace
from lamplighter.reasons.fields import Form, from_document, to_document

Values: TypeAlias = dict[str, Value]
Kept: TypeAlias = Mapping[str, Value]

# Instants of these items have microseconds: waiting places are sorted by them.
_FORM = Form(write_instant=sortable)


def reply_values(reply: Reply) -> Values:
    """The order is kept as text."""
    return to_document(reply, _FORM) | {"ordered": json.dumps(reply.ordered) if reply.ordered else None}


def reply(kept: Kept) -> Reply:
    """Reads what `reply_values` wrote."""
    ordered = kept.get("ordered")
    return from_document(Reply, {**kept, "ordered": json.loads(str(ordered)) if ordered else None})


def ask_values(ask: ApprovalRequest) -> Values:
    """The command is kept as text."""
    return to_document(ask, _FORM) | {"command": json.dumps(ask.command)}


def ask(kept: Kept) -> ApprovalRequest:
    """Reads what `ask_values` wrote."""
    return from_document(ApprovalRequest, {**kept, "command": json.loads(str(kept["command"]))})


def waiting_place_values(place: WaitingPlace) -> Values:
    """The pool is in the key."""
    return {name: value for name, value in to_document(place, _FORM).items() if name != "pool"}


def waiting_place(pool: str, kept: Kept) -> WaitingPlace:
    """Reads what `waiting_place_values` wrote."""
    return from_document(WaitingPlace, {**kept, "pool": pool})


def shown_values(shown: Shown) -> Values:
    """Pool and lease are in the key."""
    return {name: value for name, value in to_document(shown, _FORM).items() if name not in {"pool", "lease"}}


def shown(pool: str, lease: str, kept: Kept) -> Shown:
    """Reads what `shown_values` wrote."""
    return from_document(Shown, {**kept, "pool": pool, "lease": lease})


def person_values(person: Person, at: datetime) -> Values:
    """`at` is when Slack told who the person is; the id is in the key."""
    return {
        "name": person.name,
        "groups": [*sorted(person.groups)],
        "zone": person.zone,
        "at": sortable(at),
    }


def person(user: str, kept: Kept) -> tuple[Person, datetime]:
    """Reads what `person_values` wrote."""
    groups, zone = kept.get("groups"), kept.get("zone")
    named = frozenset(map(str, groups)) if isinstance(groups, list) else frozenset()
    known = Person(user, str(kept.get("name") or ""), named, None if zone is None else str(zone))
    return known, datetime.fromisoformat(str(kept["at"]))
