"""What time AWS says it is, for verbs that are tried on a ledger in this process."""

from datetime import UTC, datetime

from cli.deployment import AwsClock


class Says(AwsClock):
    """An AWS that says this instant, and is asked for nothing else."""

    def __init__(self, at: datetime) -> None:
        self._at = at.astimezone(UTC)

    def last(self) -> datetime:
        return self._at

    def now(self) -> datetime:
        return self._at
