"""The progress of warm-ups, for people to see: one item for each lease.

Each pool has a partition for it, so the function that calls Kubernetes may write this and nothing else. No decision
uses it, so a failed write is only logged.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.leases.progress import (
    IN_ORDER,
    BootStage,
    ClaimStage,
    Noted,
    Progress,
    Stage,
    WarmUpStage,
)
from lamplighter.errors import LamplighterError

PROGRESS = "PROGRESS#"
NOTED_AGAIN = timedelta(minutes=1)
"""A worker does not write the same progress again within this time, because steps poll every two seconds."""

_logger = logging.getLogger(__name__)
_noted: "WeakKeyDictionary[object, dict[tuple[str, str, str], tuple[int, int, datetime]]]" = (
    WeakKeyDictionary()
)
"""What this worker wrote, by its connection to the table: a ledger object lives for one call only."""


class LedgerProgress(LedgerReads):
    """The warm-ups' part of the ledger."""

    def progress(self, pool: str, lease_id: str) -> Progress:
        """The noted progress of a lease's stages; empty if nothing was noted."""
        item = self._table.get(PROGRESS + pool, lease_id)
        attributes = items.values(item) if item else {}
        read = {stage: _stage(attributes, stage) for stage in IN_ORDER}
        return {stage: noted for stage, noted in read.items() if noted is not None}

    def begin_stage(self, pool: str, lease_id: str, stage: Stage, of: int, at: datetime) -> None:
        """Notes that a stage begins, with nothing done. An earlier note of the stage stays."""
        name = stage.value
        self._note(pool, lease_id, stage, (0, of), at, f"attribute_not_exists(#{name}_done)")

    def note_progress(self, pool: str, lease_id: str, stage: Stage, done: int, of: int, at: datetime) -> None:  # noqa: PLR0917
        """Notes how much of a stage is done. Writes only a change, and never raises an error of AWS."""
        name = stage.value
        changed = f"#{name}_done <> :done OR #{name}_of <> :of"
        condition = f"attribute_not_exists(#{name}_done) OR (#{name}_at <= :at AND ({changed}))"
        self._note(pool, lease_id, stage, (done, of), at, condition)

    def note_boot(
        self,
        pool: str,
        lease_id: str,
        stages: Mapping[BootStage, Noted] | Mapping[ClaimStage, Noted],
        now: datetime,
    ) -> None:
        """Notes the stages of the lease's nodes or claims. Kubernetes keeps the instants: the last read is right."""
        mine = _noted.setdefault(self._table.connection, {})
        key = (self._table.name, f"{pool}/{lease_id}", f"boot {stages}")
        if not stages or key in mine:
            return
        parts, given = ["#schema = :schema", "#ttl = :ttl"], dict[str, Any]()
        for stage, noted in stages.items():
            name = _name(stage)
            parts += [f"#{name}_{part} = :{name}_{part}" for part in ("done", "of", "since", "at")]
            given |= {f"{name}_done": noted.done, f"{name}_of": noted.of}
            given |= {
                f"{name}_since": items.milliseconds(noted.since),
                f"{name}_at": items.milliseconds(noted.at),
            }
        given |= {"schema": items.SCHEMA, "ttl": int((now + items.KEEP_CLOSED).timestamp())}
        try:
            self._table.update(PROGRESS + pool, lease_id, f"SET {', '.join(parts)}", None, **given)
        except LamplighterError as error:
            _logger.warning("how far the boot for %s has come is not noted: %s", lease_id, error)
            return
        mine[key] = (0, 0, now)

    def _note(  # noqa: PLR0917
        self, pool: str, lease_id: str, stage: Stage, count: tuple[int, int], at: datetime, condition: str
    ) -> None:
        mine = _noted.setdefault(self._table.connection, {})
        # The condition is in the key: the begin of a stage and its count are two different notes.
        key = (self._table.name, f"{pool}/{lease_id}", f"{stage.value} {condition}")
        before = mine.get(key)
        if before is not None and before[:2] == count and timedelta() <= at - before[2] < NOTED_AGAIN:
            return
        name, (done, of) = stage.value, count
        try:
            self._table.update(
                PROGRESS + pool,
                lease_id,
                f"SET #{name}_done = :done, #{name}_of = :of, #{name}_at = :at, "
                f"#{name}_since = if_not_exists(#{name}_since, :at), #schema = :schema, #ttl = :ttl",
                condition,
                done=done,
                of=of,
                at=items.milliseconds(at),
                schema=items.SCHEMA,
                ttl=int((at + items.KEEP_CLOSED).timestamp()),
            )
        except Conflict:
            pass  # the item has this or a newer value
        except LamplighterError as error:
            _logger.warning("how far %s has come is not noted: %s", lease_id, error)
            return
        if len(mine) > 1000:  # noqa: PLR2004 -- a worker lives for hours, not for a thousand leases
            mine.clear()
        mine[key] = (done, of, at)


def _name(stage: WarmUpStage) -> str:
    """The stage as part of an attribute's name."""
    return stage.value.replace("-", "_")


def _stage(attributes: dict[str, items.Value], stage: WarmUpStage) -> Noted | None:
    name = _name(stage)
    done, of = attributes.get(f"{name}_done"), attributes.get(f"{name}_of")
    since, at = (
        items.at_milliseconds(attributes.get(f"{name}_since")),
        items.at_milliseconds(attributes.get(f"{name}_at")),
    )
    if not isinstance(done, int) or not isinstance(of, int) or since is None or at is None:
        return None
    return Noted(done, of, since, at)
