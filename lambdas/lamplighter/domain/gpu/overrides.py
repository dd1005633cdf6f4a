"""Overrides of fields of a Kubernetes object: which fields, their values before, and their owners.

Pure: reads an object's managedFields, and computes what reverts the override. adapters/kubernetes/overrides.py makes
the calls. The ledger has an override before the object changes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

from lamplighter.values import instant
from lamplighter.values.json_value import JsonValue

Object = Mapping[str, JsonValue]
FieldPath = tuple[str, ...]
APPLY, UPDATE = "Apply", "Update"
# The manager of both Helm 4, which applies on the server, and Helm 3, which patches.
HELM = "helm"


@dataclass(frozen=True)
class FieldOwner:
    """The manager of a field, and whether it applies or updates."""

    manager: str
    operation: str


@dataclass(frozen=True)
class FieldBefore:
    """One field before the change."""

    path: FieldPath
    there: bool
    value: JsonValue = None
    owner: FieldOwner | None = None
    """The owner before; None where no manager owns the field, such as a default of the schema."""

    @property
    def called(self) -> str:
        return ".".join(self.path[1:] if self.path[:1] == ("spec",) else self.path)


@dataclass(frozen=True)
class Before:
    """The fields that are about to change, as they are before."""

    fields: tuple[FieldBefore, ...]

    def values(self) -> dict[str, JsonValue]:
        """The values by dotted path, as receipts have them; null where a field was not set."""
        return {field.called: field.value for field in self.fields}

    def to_json(self) -> str:
        rows = [
            {
                "path": list(field.path),
                "there": field.there,
                "value": field.value,
                "owner": [field.owner.manager, field.owner.operation] if field.owner else None,
            }
            for field in self.fields
        ]
        return json.dumps(rows, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what to_json wrote."""
        return cls(
            tuple(
                FieldBefore(
                    tuple(map(str, row["path"])),
                    bool(row["there"]),
                    row["value"],
                    FieldOwner(*row["owner"]) if row["owner"] else None,
                )
                for row in json.loads(text)
            )
        )


@dataclass(frozen=True)
class Override:
    """Fields of one object that leases changed, and the values to restore once none of them runs."""

    what: str
    """Its name in the ledger, which has one override of a name at a time."""
    path: str
    """The object's address on the API server."""
    fields: Object
    """The new values, as a part of the object."""
    before: Before
    holders: Mapping[str, str]
    """The pool of each lease that wants the override."""
    since: datetime
    ended: datetime | None = None
    """When it was reverted."""

    def held_by(self, lease: str, pool: str) -> Self:
        """The same override, for one more lease."""
        return replace(self, holders={**self.holders, lease: pool})

    def called(self) -> str:
        """The dotted paths of the changed fields."""
        return ", ".join(field.called for field in self.before.fields)

    def to_item(self) -> dict[str, str]:
        """As the ledger keeps it."""
        return {
            "path": self.path,
            "fields": json.dumps(self.fields, sort_keys=True),
            "before": self.before.to_json(),
            "holders": json.dumps(dict(self.holders), sort_keys=True),
            "since": instant.written(self.since),
        }

    @classmethod
    def from_item(cls, what: str, found: Mapping[str, object]) -> Self:
        """Reads what to_item wrote."""
        return cls(
            what=what,
            path=str(found["path"]),
            fields=json.loads(str(found["fields"])),
            before=Before.from_json(str(found["before"])),
            holders=json.loads(str(found["holders"])),
            since=instant.read(str(found["since"])),
            ended=datetime.fromtimestamp(int(str(found["ended"])) / 1000, UTC)
            if found.get("ended")
            else None,
        )


def present_fields(live: Object, fields: Object, as_manager: str) -> Before:
    """The fields with their values and owners now; `as_manager` does not count as an owner."""
    return Before(
        tuple(
            FieldBefore(path, *_found(live, path), _foreign(live, path, as_manager))
            for path in leaves(fields)
        )
    )


def leaves(fields: JsonValue | Object, path: FieldPath = ()) -> Iterator[FieldPath]:
    """The fields that a part of an object sets; a list, or an empty mapping, is one field."""
    if isinstance(fields, Mapping) and fields:
        for key, value in fields.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def owners(live: Object, path: FieldPath) -> list[FieldOwner]:
    """The managers of a field of a live object."""
    return [
        FieldOwner(str(entry.get("manager")), str(entry.get("operation")))
        for entry in _entries(live)
        if _owns(entry.get("fieldsV1"), path)
    ]


def owned(live: Object, owner: FieldOwner) -> dict[str, JsonValue]:
    """All fields of a live object that a manager owns, as it would apply them again."""
    part: dict[str, JsonValue] = {}
    for entry in _entries(live):
        if FieldOwner(str(entry.get("manager")), str(entry.get("operation"))) == owner:
            part = merged(part, _extracted(live, entry.get("fieldsV1")))
    return part


def merged(under: JsonValue, top: JsonValue) -> dict[str, JsonValue]:
    """One part of an object over another, key by key; lists and plain values replace."""
    result: dict[str, JsonValue] = dict(under) if isinstance(under, Mapping) else {}
    for key, value in top.items() if isinstance(top, Mapping) else ():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping) and value
        result[key] = merged(below, value) if both else value
    return result


def restored(fields: Sequence[FieldBefore]) -> dict[str, JsonValue]:
    """The part of an object that restores these fields."""
    part: dict[str, JsonValue] = {}
    for field in fields:
        one: JsonValue = field.value
        for step in reversed(field.path):
            one = {step: one}
        part = merged(part, one)
    return part


def _foreign(live: Object, path: FieldPath, as_manager: str) -> FieldOwner | None:
    """The owner other than `as_manager`: Helm where it is one of several, since its next upgrade would conflict."""
    others = [owner for owner in owners(live, path) if owner.manager != as_manager]
    return next((owner for owner in others if owner.manager == HELM), others[0] if others else None)


def _found(live: Object, path: FieldPath) -> tuple[bool, JsonValue]:
    value: JsonValue = dict(live)
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return False, None
        value = value[step]
    return True, value


def _entries(live: Object) -> list[Mapping[str, JsonValue]]:
    metadata = live.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    entries = [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []
    return [entry for entry in entries if not entry.get("subresource")]


def _owns(fields: JsonValue, path: FieldPath) -> bool:
    for step in path:
        if not isinstance(fields, Mapping) or f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
    return True


def _extracted(live: JsonValue | Object, fields: JsonValue) -> dict[str, JsonValue]:
    part: dict[str, JsonValue] = {}
    if not isinstance(live, Mapping) or not isinstance(fields, Mapping):
        return part
    for key, inner in fields.items():
        name = key.removeprefix("f:")
        if not key.startswith("f:") or name not in live:
            continue
        below = isinstance(inner, Mapping) and any(each.startswith("f:") for each in inner)
        # A keyed list is taken whole, since Helm writes such a list whole.
        part[name] = _extracted(live[name], inner) if below else live[name]
    return part
