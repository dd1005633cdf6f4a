"""Changes fields that belong to somebody else for a while, and gives them back as they were.

By server-side apply: taken by force as one manager, given back by applying them again as the manager that had
them, then letting go. Tried with Helm 4: without the giving back its next upgrade fails with a conflict.
"""

from collections.abc import Callable

from lamplighter.adapters.kubernetes.connection import CONFLICT, MERGE_PATCH, NOT_FOUND, Connection, Object
from lamplighter.domain.gpu.overrides import (
    APPLY,
    HELM,
    Before,
    FieldBefore,
    Owner,
    looked_at,
    merged,
    owned,
    owners,
    restored,
)
from lamplighter.errors import Refused, TryLater
from lamplighter.values.json_value import JsonValue

APPLY_PATCH = "application/apply-patch+yaml"
MANAGER = "lamplighter"


class OwnedElsewhere(Refused):
    """A field belongs to neither Helm nor us: it is not taken from its owner."""


class Absent(Refused):
    """There is no such object, so nothing of it can be changed."""


def borrow(
    connection: Connection,
    path: str,
    fields: Object,
    *,
    keep: Callable[[Before], Before],
    as_manager: str = MANAGER,
    lenders: tuple[str, ...] = (HELM,),
) -> Before:
    """Set `fields` of the object at `path`, whoever of `lenders` owns them; what stood there before.

    `keep` writes down what stands there, before anything is changed, and gives what is to be put back: the
    first that was written down, however often this runs. Raises Absent, and OwnedElsewhere for a field of
    another manager. May be repeated.
    """
    live = connection.get(path)
    if not live:
        raise Absent(f"{path} is not there")
    found = looked_at(live, fields, as_manager)
    for field in found.fields:
        if field.owner is not None and field.owner.manager not in lenders:
            raise OwnedElsewhere(
                f"{field.called} belongs to {field.owner.manager}, which would write it again;"
                f" set it there, or leave it out"
            )
    before = keep(found)
    _apply(connection, path, merged(_identity(live), fields), as_manager)
    return before


def give_back(
    connection: Connection, path: str, before: Before, *, as_manager: str = MANAGER
) -> Before | None:
    """Put back what `as_manager` still holds of the fields, and let go of the object; how they stand then.

    What somebody has taken over meanwhile is theirs and is left alone. None where the object is gone. May be
    repeated. Raises TryLater where the object is being changed at this very moment.
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
    return looked_at(after, restored(before.fields), as_manager) if after else None


def _return(connection: Connection, path: str, owner: Owner, fields: list[FieldBefore]) -> None:
    """As the manager that had them, so that it finds them its own."""
    if not fields:
        return
    part = restored(fields)
    if owner.operation != APPLY:
        query = {"fieldManager": owner.manager}
        answer = connection.ask("PATCH", path, body=part, query=query, content_type=MERGE_PATCH)
        connection.expect(answer, "PATCH", path)
        return
    live = connection.get(path)
    # All that it owns is said again: what an apply leaves out, its manager gives up.
    whole = merged(merged(owned(live, owner), _identity(live)), part)
    # Of this very version: what was upgraded in between is not set back.
    whole = merged(whole, {"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}})
    _apply(connection, path, whole, owner.manager)


def _apply(connection: Connection, path: str, body: dict[str, JsonValue], manager: str) -> None:
    query = {"fieldManager": manager, "force": "true"}
    answer = connection.ask("PATCH", path, body=body, query=query, content_type=APPLY_PATCH)
    if answer.status in {CONFLICT, NOT_FOUND}:
        raise TryLater(f"{path} is being changed by somebody else: {answer.message}")
    connection.expect(answer, "PATCH", path)


def _identity(live: Object) -> dict[str, JsonValue]:
    """Which object is meant; its uid keeps an apply from making a new one."""
    metadata = {key: live["metadata"][key] for key in ("name", "namespace", "uid") if key in live["metadata"]}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
