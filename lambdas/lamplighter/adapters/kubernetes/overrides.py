"""Overrides fields of another manager for a while, and reverts them.

It uses server-side apply: it takes the fields by force as one manager, and reverts them by applying them as the
manager that owned them before. Tried with Helm 4: without this its next upgrade fails with a conflict.
"""

from collections.abc import Callable

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import CONFLICT, MERGE_PATCH, NOT_FOUND, Connection, Object
from lamplighter.domain.gpu.overrides import (
    APPLY,
    HELM,
    Before,
    FieldBefore,
    FieldOwner,
    merged,
    owned,
    owners,
    present_fields,
    restored,
)
from lamplighter.errors import Refused, TryLater
from lamplighter.reasons.reason import reason
from lamplighter.values.json_value import JsonValue

APPLY_PATCH = "application/apply-patch+yaml"
MANAGER = "lamplighter"


class OwnedElsewhere(Refused):
    """A field belongs to neither Helm nor us, so it is not overridden."""


class Absent(Refused):
    """There is no such object."""


@border
def borrow(
    connection: Connection,
    path: str,
    fields: Object,
    *,
    keep: Callable[[Before], Before],
    as_manager: str = MANAGER,
    lenders: tuple[str, ...] = (HELM,),
) -> Before:
    """Set `fields` of the object at `path`, where a manager of `lenders` owns them; returns the fields before.

    `keep` stores the fields before anything changes, and returns the ones to restore: those of the first call,
    however often this runs. Raises Absent, and OwnedElsewhere for a field of another manager. May be repeated.
    """
    live = connection.get(path)
    if not live:
        raise Absent(reason("gpu.override.absent", path=path))
    present = present_fields(live, fields, as_manager)
    for field in present.fields:
        if field.owner is not None and field.owner.manager not in lenders:
            raise OwnedElsewhere(
                reason("gpu.override.owned-elsewhere", field=field.called, manager=field.owner.manager)
            )
    before = keep(present)
    _apply(connection, path, merged(_identity(live), fields), as_manager)
    return before


@border
def give_back(
    connection: Connection, path: str, before: Before, *, as_manager: str = MANAGER
) -> Before | None:
    """Restore the fields that `as_manager` still owns, and release the object; returns the fields afterwards.

    A field that another manager took over meanwhile stays as it is. None where the object was deleted. May be
    repeated. Raises TryLater where the object is being changed at this moment.
    """
    live = connection.get(path)
    if not live:
        return None
    ours = [
        field for field in before.fields if any(one.manager == as_manager for one in owners(live, field.path))
    ]
    for owner in dict.fromkeys(field.owner for field in ours if field.owner is not None):
        _return(connection, path, owner, [field for field in ours if field.owner == owner and field.there])
    if any(entry.get("manager") == as_manager for entry in live["metadata"].get("managedFields") or []):
        _apply(connection, path, _identity(live), as_manager)
    after = connection.get(path)
    return present_fields(after, restored(before.fields), as_manager) if after else None


def _return(connection: Connection, path: str, owner: FieldOwner, fields: list[FieldBefore]) -> None:
    """Apply the fields as the manager that owned them before, so that it owns them again."""
    if not fields:
        return
    part = restored(fields)
    if owner.operation != APPLY:
        query = {"fieldManager": owner.manager}
        answer = connection.ask("PATCH", path, body=part, query=query, content_type=MERGE_PATCH)
        connection.expect(answer, "PATCH", path)
        return
    live = connection.get(path)
    # Apply everything that it owns: a manager loses the fields that its apply leaves out.
    whole = merged(merged(owned(live, owner), _identity(live)), part)
    # Only this version: an upgrade in between is not reverted.
    whole = merged(whole, {"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}})
    _apply(connection, path, whole, owner.manager)


def _apply(connection: Connection, path: str, body: dict[str, JsonValue], manager: str) -> None:
    query = {"fieldManager": manager, "force": "true"}
    answer = connection.ask("PATCH", path, body=body, query=query, content_type=APPLY_PATCH)
    if answer.status in {CONFLICT, NOT_FOUND}:
        raise TryLater(reason("gpu.override.changing", path=path, words=answer.message))
    connection.expect(answer, "PATCH", path)


def _identity(live: Object) -> dict[str, JsonValue]:
    """The object's identity; with the uid an apply creates no new object."""
    metadata = {key: live["metadata"][key] for key in ("name", "namespace", "uid") if key in live["metadata"]}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
