"""The shape of the ledger's items: keys, the schema number, and values to and from DynamoDB's form.

Owns names and encodings; which items are read and written together is the ledger's.
"""

import itertools
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias, cast

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import PoolState
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import Form, from_document, from_odd_document, to_document
from lamplighter.reasons.reason import Said, reason

SCHEMA = 1
Value: TypeAlias = str | int | bool | Mapping[str, "Value"] | list["Value"] | None
Item: TypeAlias = dict[str, Any]
"""DynamoDB's own form: attribute name -> {type: value}."""

STATE = "STATE"
LEASE = "LEASE#"
COMMAND = "COMMAND#"
RECEIPT = "RECEIPT#"
AUDIT = "AUDIT#"
VERDICTS = "VERDICTS#"
SETTINGS = "SETTINGS#"
GPU_USE = "GPUUSE#"
SEAT_USE = "SEATUSE#"
LAB = "LAB"
DOCUMENT = "DOCUMENT"
BUDGET = "BUDGET#"
LOOK = "LOOK#"
"""What a check before a window found. It sorts before pauses, so that a read of pauses and skips leaves it out."""
SKIP = "SKIP#"
PAUSE = "PAUSE#"
BY_PEOPLE, BY_DESTROY = f"{PAUSE}PEOPLE", f"{PAUSE}DESTROY"
PLANNED = "PLANNED"

# Closed leases stay long enough for questions, and are deleted before reads grow. Receipts stay for ever.
KEEP_CLOSED = timedelta(days=45)
KEEP_COMMANDS = timedelta(days=45)
KEEP_AUDIT = timedelta(days=400)


def pool_key(pool: str) -> str:
    """The partition of a pool: it and its leases are read and written together.

    What was decided for the whole lab stands in the lab's own.
    """
    if pool == WHOLE_LAB:
        return LAB
    return f"POOL#{pool}"


def key(pk: str, sk: str) -> Item:
    """A primary key in DynamoDB's form."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def encoded(value: Value) -> Item:
    """One value in DynamoDB's form. Floats have none: money is text, durations are whole seconds."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, Mapping):
        return {"M": {name: encoded(inner) for name, inner in value.items()}}
    return {"L": [encoded(inner) for inner in value]}


def decoded(attribute: Mapping[str, Any]) -> Value:
    """The value of an attribute in DynamoDB's form."""
    [(kind, value)] = attribute.items()
    match kind:
        case "S":
            return str(value)
        case "BOOL":
            return bool(value)
        case "N":
            number = Decimal(value)
            return int(number)
        case "M":
            return {name: decoded(inner) for name, inner in value.items()}
        case "L":
            return [decoded(inner) for inner in value]
        case _:
            return None


def item(pk: str, sk: str, values: Mapping[str, Value], until: datetime | None = None) -> Item:
    """A whole item with its key and schema number; values that are None are left out."""
    made = key(pk, sk) | {"schema": {"N": str(SCHEMA)}}
    made |= {name: encoded(value) for name, value in values.items() if value is not None}
    if until is not None:
        made["ttl"] = {"N": str(int(until.timestamp()))}
    return made


def written(said: Said) -> Value:
    """A reason as an attribute: a map; words of people and of outside systems are text."""
    kept: Any = document(said)
    return cast("Value", kept)


def values(found: Mapping[str, Any]) -> dict[str, Value]:
    """The values of an item, by name. Raises OutsideFailed for an item that nothing of ours has written."""
    try:
        return {name: decoded(attribute) for name, attribute in found.items()}
    except (AttributeError, TypeError, ValueError, ArithmeticError) as error:
        name = str(found.get("sk")) if isinstance(found, Mapping) else "?"
        what = reason("aws.ledger.unreadable", item=name, error=str(error))
        raise OutsideFailed(what, "dynamodb:Query") from error


def milliseconds(at: datetime) -> int:
    """An instant as a number that DynamoDB can compare."""
    return round(at.timestamp() * 1000)


def at_milliseconds(value: Value) -> datetime | None:
    """The instant of such a number."""
    return datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int) else None


def sortable(at: datetime) -> str:
    """An instant as text that sorts like the instants."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


MILLISECONDS = Form(write_instant=milliseconds, read_instant=at_milliseconds)


def lease(found: Mapping[str, Any]) -> Lease:
    """Reads what lease_item wrote. Raises OutsideFailed for an unreadable item, for example of a later release."""
    try:
        return Lease.from_json(values(found))
    except (KeyError, TypeError, ValueError) as error:
        where = f"{found['pk']['S']}/{found['sk']['S']}"
        raise OutsideFailed(
            reason("aws.ledger.unreadable", item=where, error=str(error)), "dynamodb:Query", where
        ) from error


def lease_item(lease: Lease) -> Item:
    """A lease as its item; DynamoDB deletes a closed one after a while."""
    over = lease.closed + KEEP_CLOSED if lease.closed else None
    return item(pool_key(lease.pool), LEASE + lease.id, to_document(lease), until=over)


def pool_state(name: str, found: Mapping[str, Any] | None) -> PoolState:
    """A pool's state from its item, or the state of an unused pool."""
    said = values(found or {})
    gpus = {"in_use": said.get("gpus_in_use"), "of": said.get("gpus_seen"), "at": said.get("gpus_seen_at")}
    apart = {
        "name": name,
        "seen_gpus": gpus if gpus["at"] else None,
        "unbilled": json.loads(str(said["unbilled"])) if said.get("unbilled") else None,
    }
    return from_document(PoolState, said | apart, MILLISECONDS)


_written = itertools.count()


def audit_item(entry: Entry) -> Item:
    """An audit entry as its item; entries of one instant sort in the order of writing, and none replaces another."""
    number = f"{next(_written):06}{secrets.token_hex(2)}"
    details = json.dumps(dict(entry.details)) if entry.details else None
    said = to_document(entry, MILLISECONDS) | {"pool": None, "details": details}
    sort_key = f"{AUDIT}{sortable(entry.at)}#{number}"
    return item(pool_key(entry.pool), sort_key, said, until=entry.at + KEEP_AUDIT)


def audit_entry(pool: str, found: Mapping[str, Any]) -> Entry:
    """The audit entry of an item."""
    said = values(found)
    apart = {
        "at": said["at"] if isinstance(said["at"], int) else 0,
        "pool": pool,
        "details": json.loads(str(said.get("details", "{}"))),
    }
    return from_odd_document(Entry, said | apart, MILLISECONDS)
