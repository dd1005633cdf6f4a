"""An act in which people wait for what they see, not for an instant: trouble.py and karpenter.py share it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from lamplighter.domain.leases.lease import LeaseState
from local.demo.play import Play, Stage
from local.demo.script import Act, ask_too_much, extend, replay

WINDOW = "evening"


class Awaited(Play):
    """The lab of such an act has one window `evening` that is opened, proven and closed."""

    def act(self, stage: Stage, who: str, kind: str, what: str, do: Callable[[Stage], None]) -> None:
        self.do(Act(stage.cloud.clock.now(), who, what, kind, lambda: do(stage)))

    def wait_for(self, stage: Stage, what: str, seen: Callable[[], bool], end: datetime) -> None:
        if not self.until(stage, seen, end):
            self.answers.failures.append(f"not seen by {end:%H:%M} UTC: {what}")

    def wait_until_open(self, stage: Stage, end: datetime) -> None:
        self.wait_for(stage, "the window open and proven", self._is_open, end)

    def wait_for_zero(self, stage: Stage, end: datetime) -> None:
        self.wait_for(stage, "proof of zero", lambda: self._is_closed(stage), end)

    def extend(self, stage: Stage, more: timedelta) -> None:
        minutes = more // timedelta(minutes=1)
        self.act(
            stage,
            "instructor",
            "command",
            f"extends the evening by {minutes} minutes from the command line",
            lambda stage: extend(stage.doors, stage.pool, minutes, self.answers),
        )

    def ask_too_much(self, stage: Stage) -> None:
        self.act(
            stage,
            "instructor",
            "command",
            "asks for 2 nodes for 3 hours, more than the budget has left",
            lambda stage: ask_too_much(stage.doors, stage.pool, self.answers),
        )

    def replay(self, stage: Stage, opens: datetime) -> None:
        self.act(
            stage,
            "a retry",
            "command",
            "delivers a command to open that expired an hour ago",
            lambda stage: replay(stage.doors, stage.pool, opens, self.answers),
        )

    def _is_open(self) -> bool:
        last = self.watch.samples[-1:]
        return any(
            lease.state is LeaseState.OPEN
            for sample in last
            for lease in sample.leases
            if lease.window == WINDOW
        )

    def _is_closed(self, stage: Stage) -> bool:
        closed = any(entry.kind == "receipt" for entry in self.watch.entries)
        gone = not any(sample.instances or sample.desired for sample in self.watch.samples[-1:])
        return closed and gone and not stage.look.running()
