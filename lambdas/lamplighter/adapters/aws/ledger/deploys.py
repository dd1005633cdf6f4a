"""The mark of a deploy that is about to write a pool's node group: until then nobody may raise its size.

The mark has a partition of its own, so the deploy function may write it and nothing else. The deploy sets the mark
before it reads the leases. A function that raises a size reads the mark after its lease was granted.
"""

from contextlib import suppress

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.pool.pool import DeployMark

DEPLOY, MARK = "DEPLOY#", "MARK"


class LedgerDeploys(LedgerReads):
    """The part of the ledger with which deploys and openings know of each other."""

    def deploy_mark(self, pool: str) -> DeployMark | None:
        """The mark of a deploy that writes the pool's node group, even if it has expired; None without a mark."""
        item = self._table.get(DEPLOY + pool, MARK)
        attributes = items.values(item or {})
        until = items.at_milliseconds(attributes.get("until"))
        return None if until is None else DeployMark(until, empty=attributes.get("empty") is True)

    def mark_deploy(self, pool: str, mark: DeployMark) -> None:
        """Sets the mark: from now until `mark.until`, nobody raises the size of the pool."""
        attributes: dict[str, items.Value] = {"until": items.milliseconds(mark.until), "empty": mark.empty}
        self._table.put(items.item(DEPLOY + pool, MARK, attributes, until=mark.until))

    def end_deploy(self, pool: str) -> None:
        """Deletes the mark: the node group is written, or the deploy left it as it was."""
        self._table.delete(DEPLOY + pool, MARK)

    def note_held_up(self, pool: str, lease_id: str, mark: DeployMark) -> bool:
        """Notes that an opening waits for this mark. True the first time, so that it is reported once."""
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
