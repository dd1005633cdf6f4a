"""The next moves of a ladder, from the state of its pods: what to start, what still runs, what has ended.

Pure: the step reads the pods, asks here, and acts. Every placement ends: its check ended, or a reason says why not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.checks.manifests import PULL_SECONDS
from lamplighter.domain.checks.placement import GpuNode, Placement, fetches
from lamplighter.domain.checks.time_limit import asked, pull_of, spent
from lamplighter.domain.checks.verdicts.verdict import QUOTED
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.reasons.reason import Reason, Said, reason

PULLING = timedelta(seconds=PULL_SECONDS)
#: For the scheduler, the sandbox, and a kubelet that reads the pods every second.
PLACED_WITHIN = timedelta(seconds=20)


@dataclass(frozen=True)
class CheckEnding:
    """How a placement ended: `why` is None where its check ended by itself and its output can be read.

    `busy`: the check was not tried, since people's work holds the GPUs.
    """

    placement: Placement
    pods: tuple[PodFacts, ...]
    why: Reason | None = None
    busy: bool = False

    @property
    def well(self) -> bool:
        """Whether later checks make sense. It is no verdict."""
        return self.why is None and all(pod.exit_code == 0 for pod in self.pods)


@dataclass
class LadderMoves:
    """What the step does now."""

    start: list[Placement] = field(default_factory=list)
    fetch: list[tuple[str, str, str]] = field(default_factory=list)
    """Node, image, and the name of the pod that pulls it."""
    waiting: list[Said] = field(default_factory=list)
    endings: list[CheckEnding] = field(default_factory=list)


@dataclass(frozen=True)
class LadderProgress:
    """The state of a ladder at `now`, by our clock.

    `pods` are the checks' pods by placement. `pulled` are the known seconds of pulling by pod.
    """

    due: Sequence[Placement]
    nodes: Mapping[str, GpuNode]
    pods: Mapping[str, Sequence[PodFacts]]
    pulled: Mapping[str, float]
    budget: timedelta
    lease: str
    now: datetime

    def moves(self) -> LadderMoves:
        """What to start, what to wait for, and what has ended."""
        moves = LadderMoves()
        pulling = fetches(self.due, self.lease)
        late = {name: self._late(node) for name, node in self.nodes.items()}
        ended: dict[str, CheckEnding] = {}
        for placement in sorted(self.due, key=lambda placement: (placement.check.stage, placement.turn)):
            ending = self._ended(placement)
            if ending is None and any(late[node] for node in placement.nodes):
                ending = CheckEnding(placement, self._of(placement), self._over_budget(placement))
            if ending is None and self._of(placement):
                moves.waiting.append(self._state(placement))
            elif ending is None:
                ending = self._begin(placement, pulling, ended, moves)
            if ending is not None:
                ended[placement.name] = ending
                moves.endings.append(ending)
        waited_for = {
            (node, placement.check.image)
            for placement in self.due
            if placement.name not in ended
            for node in placement.nodes
        }
        moves.fetch = [
            (node, image, name)
            for (node, image), name in pulling.items()
            if (node, image) in waited_for and not self.pods.get(name)
        ]
        return moves

    def _begin(
        self,
        placement: Placement,
        pulling: Mapping[tuple[str, str], str],
        ended: Mapping[str, CheckEnding],
        moves: LadderMoves,
    ) -> CheckEnding | None:
        """Start a placement without a pod, let it wait, or say why it never starts."""
        earlier = [other for other in self.due if other.before(placement)]
        bad = next(
            (
                ended[other.name]
                for other in earlier
                if other.name in ended and _bars(ended[other.name], placement)
            ),
            None,
        )
        check = placement.check.name
        if bad is not None:
            shared = tuple(node for node in bad.placement.nodes if node in placement.nodes)
            why = reason("check.not-tried", earlier=bad.placement.check.name, nodes=shared)
            return CheckEnding(placement, (), why)
        if any(other.name not in ended for other in earlier):
            moves.waiting.append(reason("check.later", check=check, nodes=placement.nodes))
            return None
        for node in placement.nodes:
            name = pulling.get((node, placement.check.image))
            if name is None:
                continue
            stuck = self._stuck(self.pods.get(name, ()))
            if stuck:
                return CheckEnding(placement, (), reason("check.no-image-on-node", node=node, why=stuck))
            if not any(pod.finished for pod in self.pods.get(name, ())):
                moves.waiting.append(reason("check.waits-for-image", check=check, node=node))
                return None
        moves.start.append(placement)
        return None

    def _ended(self, placement: Placement) -> CheckEnding | None:
        pods = self._of(placement)
        if not pods or any(pod.leaving for pod in pods):
            return None
        broken = tuple(pod for pod in pods if pod.phase == "Failed")
        if broken or (len(pods) == len(placement.nodes) and all(pod.finished for pod in pods)):
            # Where one rank fails, the Job deletes the other: only the failed pod can be read.
            shown = broken or pods
            cut_short = next(
                (pod for pod in shown if pod.exit_code is None or pod.waiting.startswith("DeadlineExceeded")),
                None,
            )
            why = reason("check.never-ended", state=_state_of(cut_short)) if cut_short else None
            return CheckEnding(placement, shown, why)
        # Checks of one stage queue for the GPU.
        queue = sum(
            other.check.stage == placement.check.stage and {*other.nodes} == {*placement.nodes}
            for other in self.due
        )
        longest = timedelta(seconds=placement.check.seconds) * queue + PLACED_WITHIN
        for pod in pods:
            if pod.began and not pod.ended and self.now > asked(pod) + pull_of(pod, self.pulled) + longest:
                return CheckEnding(
                    placement, pods, reason("check.ran-too-long", seconds=placement.check.seconds)
                )
        stuck = self._stuck(pods)
        return CheckEnding(placement, pods, reason("check.no-image", why=stuck)) if stuck else None

    def _stuck(self, pods: Sequence[PodFacts]) -> Said | None:
        """Why an image will not come any more; None where it still may."""
        for pod in pods:
            if pod.phase == "Failed":
                return pod.waiting[:QUOTED] or reason("check.pull-pod-failed")
            if pod.scheduled and not pod.began and not pod.finished and self.now > asked(pod) + PULLING:
                return reason("check.pull-too-long", minutes=PULL_SECONDS // 60, state=_state_of(pod))
        return None

    def _late(self, node: GpuNode) -> bool:
        mine = [pod for pods in self.pods.values() for pod in pods if pod.node == node.name]
        # A pod that the scheduler has not placed is on no node yet, but it was asked for.
        waiting = [
            pod
            for placement in self.due
            if node.name in placement.nodes
            for pod in self._of(placement)
            if not pod.node
        ]
        return spent(node.facts, [*mine, *waiting], self.pulled, self.now) > self.budget

    def _over_budget(self, placement: Placement) -> Reason:
        pods, minutes = self._of(placement), self.budget // timedelta(minutes=1)
        waits = next((pod.waiting for pod in pods if pod.waiting and not pod.began), "")
        if not pods:
            return reason("check.over-before-turn", minutes=minutes)
        if waits:
            return reason("check.over-while-waiting-for", minutes=minutes, state=waits[:QUOTED])
        if any(pod.began for pod in pods):
            return reason("check.over-while-running", minutes=minutes)
        return reason("check.over-while-waiting", minutes=minutes)

    def _state(self, placement: Placement) -> Reason:
        pods = self._of(placement)
        state = next((_state_of(pod) for pod in pods if pod.waiting), pods[0].phase)
        return reason("check.state", check=placement.check.name, nodes=placement.nodes, state=state)

    def _of(self, placement: Placement) -> tuple[PodFacts, ...]:
        return tuple(self.pods.get(placement.name, ()))


def _state_of(pod: PodFacts) -> str:
    """Kubernetes' words for why the pod waits, or its phase."""
    return pod.waiting[:QUOTED] or pod.phase


def _bars(ending: CheckEnding, placement: Placement) -> bool:
    """A failed check of one node bars all later checks there; a failed check of a pair, only other pair checks."""
    return not ending.well and (ending.placement.check.nodes == 1 or placement.check.nodes > 1)
