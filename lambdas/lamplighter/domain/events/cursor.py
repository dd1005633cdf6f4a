"""How far the lab has told what its audit trail says, for each pool.

An entry may reach the ledger later than a younger one, since a function notes the time and writes afterwards. So the
trail is read again from a while before, and the entries of that while that are told already are kept by name.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST = timedelta(minutes=5)
"""So much of the past is told when the lab gets its bus: until then nothing looks at the trail."""
OVERLAP = timedelta(minutes=15)
"""No function runs longer (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""
GIVEN_UP_AFTER = timedelta(days=1)
"""An entry that the bus does not take for so long is left out, so that the ones after it are not read for ever."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Everything before `until` is told, but for the entries of the last OVERLAP that are not in `keys`."""

    until: datetime
    keys: frozenset[str] = frozenset()
    version: int = 0

    @classmethod
    def first(cls, now: datetime) -> "Cursor":
        """Of a pool of which nothing was told yet: what happened long before is history."""
        return cls(now - FIRST)

    @property
    def since(self) -> datetime:
        """From when the trail has to be read."""
        return self.until - OVERLAP

    def moved(
        self,
        read: Iterable[tuple[str, datetime]],
        *,
        done: Collection[str],
        owed: Collection[str],
        now: datetime,
    ) -> "Cursor":
        """After a run that read these entries, (key, instant) each; some were told, and some are still to be told."""
        rows = list(read)
        waiting = [at for key, at in rows if key in owed and now - at < GIVEN_UP_AFTER]
        until = max(self.until, min([now, *waiting]))
        # The ledger keeps milliseconds, so the trail may be read from a little earlier.
        oldest = until - OVERLAP - timedelta(seconds=1)
        keys = {key for key, at in rows if (key in done or key in self.keys) and at >= oldest}
        return Cursor(until, frozenset(keys), self.version)
