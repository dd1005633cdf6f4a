"""The first act, the day of day.yaml: a window from its opening to its receipt, and a node without a lease."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamplighter.domain.audit.entry import TIMELINE
from local.demo import laws
from local.demo.play import Play, Stage
from local.demo.script import acts

START = datetime(2026, 12, 1, 10, 52, tzinfo=UTC)  # Tuesday 19:52 in Seoul
OPENS = datetime(2026, 12, 1, 11, 0, tzinfo=UTC)
CLOSES = datetime(2026, 12, 1, 11, 45, tzinfo=UTC)
END_AFTER_BREACH = timedelta(minutes=40)


class Day(Play):
    """The first act; script.py says what people do."""

    lab = Path(__file__).with_name("day.yaml")
    start = START

    def perform(self, stage: Stage) -> None:
        for act in acts(OPENS, CLOSES, stage.pool, stage.doors, self.answers):
            stage.cloud.clock.sleep_until(act.at.timestamp())
            self.do(act)
        self._await_zero(stage)

    def report(self, stage: Stage) -> dict[str, Any]:
        day = self.day(stage)
        return self.document(day, laws.judge(day), TIMELINE)

    def _await_zero(self, stage: Stage) -> None:
        """Waits until the breach is answered: nodes were seen, are gone, and no workflow runs any more."""
        breach = stage.cloud.clock.now()

        def answered() -> bool:
            after = [sample for sample in self.watch.samples if sample.at > breach]
            seen = any(sample.instances for sample in after)
            return seen and not after[-1].instances and not after[-1].desired and not stage.look.running()

        self.until(stage, answered, breach + END_AFTER_BREACH)
