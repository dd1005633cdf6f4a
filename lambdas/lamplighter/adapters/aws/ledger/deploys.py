"""The mark of a deploy that is about to write a pool's node group: until when nobody may raise its size.

It has a partition of its own, so that whoever sets it need not be able to write anything else. Whoever
deploys sets it before reading leases; whoever raises a size reads it after its lease was granted.
"""

from contextlib import suppress

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.pool.pool import DeployMark

DEPLOY, MARK = "DEPLOY#", "MARK"


class LedgerDeploys(LedgerReads):
    """The part of the ledger by which deploys and openings see each other."""

    def deploy_mark(self, pool: str) -> DeployMark | None:
        """The mark of a deploy that writes the pool's node group, over or not; None where there is none."""
        found = self._table.get(DEPLOY + pool, MARK)
        said = items.values(found or {})
        until = items.at_milliseconds(said.get("until"))
        return None if until is None else DeployMark(until, empty=said.get("empty") is True)

    def mark_deploy(self, pool: str, mark: DeployMark) -> None:
        """From now on nobody raises the pool, until then at the latest."""
        said: dict[str, items.Value] = {"until": items.milliseconds(mark.until), "empty": mark.empty}
        self._table.put(items.item(DEPLOY + pool, MARK, said, until=mark.until))

    def end_deploy(self, pool: str) -> None:
        """The node group is written, or left as it was."""
        self._table.delete(DEPLOY + pool, MARK)

    def note_held_up(self, pool: str, lease_id: str, mark: DeployMark) -> bool:
        """An opening waits for this mark; True the first time, so that it is said once."""
        with suppress(Conflict):
            self._table.update(
                DEPLOY + pool,
                MARK,
                "SET #holds_up = :lease",
                "#until = :until AND (attribute_not_exists(#holds_up) OR #holds_up <> :lease)",
                lease=lease_id,
                until=items.milliseconds(mark.until),
            )
            return True
        return False
