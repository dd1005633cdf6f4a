"""What a ladder does next, from what its pods say: what to start, what still runs, what has come to its end.

Pure: the step reads, asks here, and acts. Every placement ends: its check ended, or it has a reason why not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.checks.manifests import PULL_SECONDS
from lamplighter.domain.checks.placement import GpuNode, Placement, fetches
from lamplighter.domain.checks.time_limit import asked, pull_of, spent
from lamplighter.domain.pool.nodes import PodFacts

PULLING = timedelta(seconds=PULL_SECONDS)
#: For the scheduler, the sandbox and a kubelet that looks every second.
PLACED_WITHIN = timedelta(seconds=20)


@dataclass(frozen=True)
class CheckEnding:
    """How a placement ended: `why` is None where its check ended by itself and its output can be read.

    `busy`: it was not tried, since people's work holds the GPUs.
    """

    placement: Placement
    pods: tuple[PodFacts, ...]
    why: str | None = None
    busy: bool = False

    @property
    def well(self) -> bool:
        """Whether later checks make sense: nothing is judged by this."""
        return self.why is None and all(pod.exit_code == 0 for pod in self.pods)


@dataclass
class LadderMoves:
    """What to do now."""

    start: list[Placement] = field(default_factory=list)
    fetch: list[tuple[str, str, str]] = field(default_factory=list)
    """Node, image, and the name of the pod that brings it."""
    waiting: list[str] = field(default_factory=list)
    endings: list[CheckEnding] = field(default_factory=list)


@dataclass(frozen=True)
class LadderProgress:
    """One look at a ladder under way, `now` by our clock.

    `pods` are the checks' pods by placement; `pulled` are seconds of pulling by pod, as far as known.
    """

    due: Sequence[Placement]
    nodes: Mapping[str, GpuNode]
    pods: Mapping[str, Sequence[PodFacts]]
    pulled: Mapping[str, float]
    budget: timedelta
    lease: str
    now: datetime

    def moves(self) -> LadderMoves:
        """What to start, to wait for, and what has ended."""
        found = LadderMoves()
        fetched = fetches(self.due, self.lease)
        late = {name: self._late(node) for name, node in self.nodes.items()}
        ended: dict[str, CheckEnding] = {}
        for placement in sorted(self.due, key=lambda placement: (placement.check.stage, placement.turn)):
            ending = self._ended(placement)
            if ending is None and any(late[node] for node in placement.nodes):
                ending = CheckEnding(placement, self._of(placement), self._over_budget(placement))
            if ending is None and self._of(placement):
                found.waiting.append(self._says(placement))
            elif ending is None:
                ending = self._begin(placement, fetched, ended, found)
            if ending is not None:
                ended[placement.name] = ending
                found.endings.append(ending)
        waited_for = {
            (node, placement.check.image)
            for placement in self.due
            if placement.name not in ended
            for node in placement.nodes
        }
        found.fetch = [
            (node, image, name)
            for (node, image), name in fetched.items()
            if (node, image) in waited_for and not self.pods.get(name)
        ]
        return found

    def _begin(
        self,
        placement: Placement,
        fetched: Mapping[tuple[str, str], str],
        ended: Mapping[str, CheckEnding],
        found: LadderMoves,
    ) -> CheckEnding | None:
        """A placement without a pod: start it, let it wait, or say why it never starts."""
        earlier = [each for each in self.due if each.before(placement)]
        bad = next(
            (
                ended[each.name]
                for each in earlier
                if each.name in ended and _bars(ended[each.name], placement)
            ),
            None,
        )
        if bad is not None:
            where = ", ".join(node for node in bad.placement.nodes if node in placement.nodes)
            return CheckEnding(
                placement,
                (),
                f"it was not tried, since {bad.placement.check.name} did not end well on {where}",
            )
        if any(each.name not in ended for each in earlier):
            found.waiting.append(
                f"{placement.check.name} on {' and '.join(placement.nodes)} has its turn later"
            )
            return None
        for node in placement.nodes:
            name = fetched.get((node, placement.check.image))
            if name is None:
                continue
            stuck = self._stuck(self.pods.get(name, ()))
            if stuck:
                return CheckEnding(placement, (), f"its image did not come to {node}: {stuck}")
            if not any(pod.finished for pod in self.pods.get(name, ())):
                found.waiting.append(f"{placement.check.name} on {node} waits for its image")
                return None
        found.start.append(placement)
        return None

    def _ended(self, placement: Placement) -> CheckEnding | None:
        pods = self._of(placement)
        if not pods or any(pod.leaving for pod in pods):
            return None
        broke = tuple(pod for pod in pods if pod.phase == "Failed")
        if broke or (len(pods) == len(placement.nodes) and all(pod.finished for pod in pods)):
            # Where one rank fails, the Job takes the other away: what failed is what can be read.
            shown = broke or pods
            never = next(
                (pod for pod in shown if pod.exit_code is None or pod.waiting.startswith("DeadlineExceeded")),
                None,
            )
            return CheckEnding(
                placement,
                shown,
                f"it never ran to its end: {never.waiting or never.phase}" if never else None,
            )
        # Checks of one stage queue for the GPU.
        queue = sum(
            each.check.stage == placement.check.stage and {*each.nodes} == {*placement.nodes}
            for each in self.due
        )
        most = timedelta(seconds=placement.check.seconds) * queue + PLACED_WITHIN
        for pod in pods:
            if pod.began and not pod.ended and self.now > asked(pod) + pull_of(pod, self.pulled) + most:
                return CheckEnding(
                    placement,
                    pods,
                    f"it ran for more than its {placement.check.seconds} seconds and was ended",
                )
        stuck = self._stuck(pods)
        return CheckEnding(placement, pods, f"its image did not come: {stuck}") if stuck else None

    def _stuck(self, pods: Sequence[PodFacts]) -> str | None:
        """Why an image will not come any more."""
        for pod in pods:
            if pod.phase == "Failed":
                return pod.waiting or "the pod that was to bring it failed"
            if pod.scheduled and not pod.began and not pod.finished and self.now > asked(pod) + PULLING:
                return f"not there after {PULL_SECONDS // 60} minutes ({pod.waiting or pod.phase})"
        return None

    def _late(self, node: GpuNode) -> bool:
        mine = [pod for pods in self.pods.values() for pod in pods if pod.node == node.name]
        # A pod that waits for its node is on none yet; it was asked for all the same.
        waiting = [
            pod
            for placement in self.due
            if node.name in placement.nodes
            for pod in self._of(placement)
            if not pod.node
        ]
        return spent(node.facts, [*mine, *waiting], self.pulled, self.now) > self.budget

    def _over_budget(self, placement: Placement) -> str:
        minutes = int(self.budget.total_seconds() // 60)
        pods = self._of(placement)
        doing = (
            "before its turn came"
            if not pods
            else "while it ran"
            if any(pod.began for pod in pods)
            else "while it waited"
        )
        waits = next((f" ({pod.waiting})" for pod in pods if pod.waiting and not pod.began), "")
        return f"the ladder's {minutes} minutes from the node's Ready were over {doing}{waits}"

    def _says(self, placement: Placement) -> str:
        pods = self._of(placement)
        state = next((pod.waiting for pod in pods if pod.waiting), pods[0].phase)
        return f"{placement.check.name} on {' and '.join(placement.nodes)}: {state}"

    def _of(self, placement: Placement) -> tuple[PodFacts, ...]:
        return tuple(self.pods.get(placement.name, ()))


def _bars(ending: CheckEnding, placement: Placement) -> bool:
    """A GPU that failed bars all that follows on its node; a path that failed, only what needs it too."""
    return not ending.well and (ending.placement.check.nodes == 1 or placement.check.nodes > 1)
