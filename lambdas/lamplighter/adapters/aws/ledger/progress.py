"""How far warm-ups have come, for people to see: one item a lease, in a partition of its pool's own.

So that the function that speaks to Kubernetes may write this and nothing else. Nothing is decided by it, so a
note that cannot be taken is logged and forgotten.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.leases.progress import IN_ORDER, BootStage, Noted, Progress, Stage, WarmUpStage
from lamplighter.errors import LamplighterError

PROGRESS = "PROGRESS#"
NOTED_AGAIN = timedelta(minutes=1)
"""What this worker noted is not noted again within that: steps ask every two seconds."""

_logger = logging.getLogger(__name__)
_noted: "WeakKeyDictionary[object, dict[tuple[str, str, str], tuple[int, int, datetime]]]" = (
    WeakKeyDictionary()
)
"""By the worker's connection to the table, since a ledger lives for one call."""


class LedgerProgress(LedgerReads):
    """The warm-ups' part of the ledger."""

    def progress(self, pool: str, lease_id: str) -> Progress:
        """What was noted of a lease's stages; empty where nothing was."""
        found = self._table.get(PROGRESS + pool, lease_id)
        said = items.values(found) if found else {}
        read = {stage: _stage(said, stage) for stage in IN_ORDER}
        return {stage: noted for stage, noted in read.items() if noted is not None}

    def begin_stage(self, pool: str, lease_id: str, stage: Stage, of: int, at: datetime) -> None:
        """A stage begins, with nothing of it done; where it was noted before, that stands."""
        name = stage.value
        self._note(pool, lease_id, stage, (0, of), at, f"attribute_not_exists(#{name}_done)")

    def note_progress(self, pool: str, lease_id: str, stage: Stage, done: int, of: int, at: datetime) -> None:  # noqa: PLR0917
        """So much of a stage is done; writes only what changed, and never fails."""
        name = stage.value
        changed = f"#{name}_done <> :done OR #{name}_of <> :of"
        condition = f"attribute_not_exists(#{name}_done) OR (#{name}_at <= :at AND ({changed}))"
        self._note(pool, lease_id, stage, (done, of), at, condition)

    def note_boot(self, pool: str, lease_id: str, stages: Mapping[BootStage, Noted], now: datetime) -> None:
        """How far the boot of its nodes is. The instants are Kubernetes' own, so what was read last holds."""
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
        # That it begins is no count: it may have begun long ago.
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
            pass  # it stands there already
        except LamplighterError as error:
            _logger.warning("how far %s has come is not noted: %s", lease_id, error)
            return
        if len(mine) > 1000:  # noqa: PLR2004 -- a worker lives for hours, not for a thousand leases
            mine.clear()
        mine[key] = (done, of, at)


def _name(stage: WarmUpStage) -> str:
    """As an attribute's name may be."""
    return stage.value.replace("-", "_")


def _stage(said: dict[str, items.Value], stage: WarmUpStage) -> Noted | None:
    name = _name(stage)
    done, of = said.get(f"{name}_done"), said.get(f"{name}_of")
    since, at = (
        items.at_milliseconds(said.get(f"{name}_since")),
        items.at_milliseconds(said.get(f"{name}_at")),
    )
    if not isinstance(done, int) or not isinstance(of, int) or since is None or at is None:
        return None
    return Noted(done, of, since, at)
