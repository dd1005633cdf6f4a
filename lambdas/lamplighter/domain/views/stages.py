"""The stages of a lease's warm-up at an instant: done, going, late, short, failed, or still to come.

A stage is late when it takes longer than the diagnosis's table (diagnosis/stages.py) calls normal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.progress import IN_ORDER, Noted, Progress, Stage, WarmUpStage
from lamplighter.domain.leases.usual_times import NORMAL, Usual, UsualTimes, usual
from lamplighter.reasons.reason import Said, reason
from lamplighter.values.instant import written

__all__ = ["NORMAL", "Stage", "StageState", "StageView", "bar", "boot_stages", "stages", "waits_for_pods"]


class StageState(StrEnum):
    """The state of a stage."""

    DONE = "done"
    GOING = "going"
    WAITING = "waiting"
    LATE = "late"
    SHORT = "short"
    FAILED = "failed"


MINUTE = timedelta(minutes=1)

WEIGHT: Mapping[WarmUpStage, int] = {
    Stage.ARMED: 5,
    Stage.NODES: 25,
    Stage.SETTINGS: 5,
    Stage.GPUS: 40,
    Stage.CHECKS: 25,
}
"""The part of the bar for each stage: about its share of a warm-up."""


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage of a warm-up."""

    stage: WarmUpStage
    state: StageState
    done: int | None = None
    of: int | None = None
    since: datetime | None = None
    at: datetime | None = None
    """When its count last changed; of a stage that is done, when it was."""
    said: Said = ""
    """Why it is late, short or failed; empty where it is not."""
    usual: Usual | None = None
    """How long it usually takes."""

    @property
    def begun(self) -> bool:
        """Whether it is under way, well or not."""
        return self.state in {StageState.GOING, StageState.LATE}

    @property
    def took(self) -> timedelta | None:
        """How long it took, where it is done."""
        if self.state is not StageState.DONE or self.since is None or self.at is None:
            return None
        return self.at - self.since

    @property
    def count(self) -> str:
        """`1/2`; empty where there is nothing to count."""
        return "" if self.of is None or self.of <= 1 else f"{self.done}/{self.of}"

    @property
    def fraction(self) -> float:
        """How much of it is done, 0 to 1."""
        if self.state is StageState.DONE:
            return 1.0
        return min(1.0, (self.done or 0) / self.of) if self.of else 0.0

    def to_json(self) -> dict[str, object]:
        """As `status --json` has it."""
        return {
            "stage": self.stage.value,
            "state": self.state.value,
            "done": self.done,
            "of": self.of,
            "since": written(self.since) if self.since else None,
            "at": written(self.at) if self.at else None,
            "said": str(self.said),
            "usual_seconds": round(self.usual.length.total_seconds()) if self.usual else None,
            "usual_is_measured": self.usual.measured if self.usual else None,
        }


def stages(
    lease: Lease,
    progress: Progress,
    now: datetime,
    *,
    verdict: Outcome | None = None,
    short_because: Said | None = None,
    failed_because: Said | None = None,
    checks_normal: timedelta | None = None,
    measured: UsualTimes | None = None,
) -> tuple[StageView, ...]:
    """The five steps of the workflow, in their order.

    `failed_because` is why the warm-up was given up, `short_because` why nodes are missing.
    """
    found: list[StageView] = []
    given_up = failed_because
    for stage in Stage:
        normal = checks_normal if stage is Stage.CHECKS and checks_normal else NORMAL[stage]
        view = _view(lease, stage, progress.get(stage), now, normal)
        if stage is Stage.CHECKS and verdict is Outcome.FAILED:
            view = _as(view, StageState.FAILED, reason("warmup.check-failed"))
        elif view.state is not StageState.DONE and lease.missing and stage in {Stage.NODES, Stage.GPUS}:
            view = _as(
                view, StageState.SHORT, short_because or reason("warmup.nodes-missing", nodes=lease.missing)
            )
        elif given_up and view.state in {StageState.GOING, StageState.LATE, StageState.WAITING}:
            view = _as(view, StageState.FAILED, given_up)
        if view.state is StageState.FAILED:
            given_up = None
        found.append(replace(view, usual=usual(stage, measured or {}, normal)))
    return tuple(found)


def boot_stages(
    lease: Lease, progress: Progress, now: datetime, measured: UsualTimes | None = None
) -> tuple[StageView, ...]:
    """The stages of fresh nodes and of their claims that have begun; none where the nodes ran before."""
    return tuple(
        replace(_view(lease, stage, progress[stage], now, NORMAL[stage]), usual=usual(stage, measured or {}))
        for stage in IN_ORDER
        if stage in progress and not isinstance(stage, Stage)
    )


def waits_for_pods(views: Sequence[StageView]) -> bool:
    """Whether no pod has asked for the nodes, which pods bring."""
    return any(view.stage is Stage.NODES and view.of == 0 for view in views)


def bar(views: Sequence[StageView]) -> float:
    """How far the warm-up is, 0 to 1."""
    return sum(WEIGHT.get(view.stage, 0) * view.fraction for view in views) / sum(WEIGHT.values())


def _view(
    lease: Lease, stage: WarmUpStage, noted: Noted | None, now: datetime, normal: timedelta
) -> StageView:
    if noted is None:
        # An open lease has these stages behind it, even if nobody noted them.
        behind = lease.ready is not None
        return StageView(stage, StageState.DONE if behind else StageState.WAITING)
    said: Said
    if noted.whole:
        state, said = StageState.DONE, ""
    elif not noted.of or not lease.in_force(now):
        state, said = StageState.WAITING, ""
    elif now - noted.at > normal:
        # By its last change: a later round, or a fresh node, has its own time.
        took, most = ((each // MINUTE) for each in (now - noted.at, normal))
        state, said = StageState.LATE, reason("warmup.late", took=took, most=most)
    else:
        state, said = StageState.GOING, ""
    return StageView(stage, state, noted.done, noted.of, noted.since, noted.at, said)


def _as(view: StageView, state: StageState, said: Said) -> StageView:
    return replace(view, state=state, said=said)
