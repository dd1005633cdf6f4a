"""What a ladder does next, from what its pods say: what to start, what still runs, what has come to its end.

Pure: the step looks, asks here, and does it. Every seat comes to an end: its check ended, or it is told why not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.checks.manifests import PULL_SECONDS
from lamplighter.domain.checks.placement import GpuNode, Seat, fetches
from lamplighter.domain.checks.time_limit import asked, pull_of, spent
from lamplighter.domain.pool.nodes import PodFacts

PULLING = timedelta(seconds=PULL_SECONDS)
#: For the scheduler, the sandbox and a kubelet that looks every second.
PLACED_WITHIN = timedelta(seconds=20)


@dataclass(frozen=True)
class Ending:
    """How a seat ended: `why` is None where its check ended by itself and its output can be read.

    `busy`: it was not tried, since people's work holds the GPUs.
    """

    seat: Seat
    pods: tuple[PodFacts, ...]
    why: str | None = None
    busy: bool = False

    @property
    def well(self) -> bool:
        """Whether later checks make sense: nothing is judged by this."""
        return self.why is None and all(pod.exit_code == 0 for pod in self.pods)


@dataclass
class Moves:
    """What to do now."""

    start: list[Seat] = field(default_factory=list)
    fetch: list[tuple[str, str, str]] = field(default_factory=list)
    """Node, image, and the name of the pod that brings it."""
    waiting: list[str] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)


@dataclass(frozen=True)
class Course:
    """One look at a ladder under way, `now` by our clock.

    `pods` are the checks' by seat; `pulled` are seconds of pulling by pod, as far as kubelets have told.
    """

    due: Sequence[Seat]
    nodes: Mapping[str, GpuNode]
    pods: Mapping[str, Sequence[PodFacts]]
    pulled: Mapping[str, float]
    budget: timedelta
    lease: str
    now: datetime

    def moves(self) -> Moves:
        """What to start, to wait for, and what has ended."""
        found = Moves()
        fetched = fetches(self.due, self.lease)
        late = {name: self._late(node) for name, node in self.nodes.items()}
        ended: dict[str, Ending] = {}
        for seat in sorted(self.due, key=lambda seat: (seat.check.stage, seat.turn)):
            ending = self._ended(seat)
            if ending is None and any(late[node] for node in seat.nodes):
                ending = Ending(seat, self._of(seat), self._over_budget(seat))
            if ending is None and self._of(seat):
                found.waiting.append(self._says(seat))
            elif ending is None:
                ending = self._begin(seat, fetched, ended, found)
            if ending is not None:
                ended[seat.name] = ending
                found.endings.append(ending)
        waited_for = {
            (node, seat.check.image) for seat in self.due if seat.name not in ended for node in seat.nodes
        }
        found.fetch = [
            (node, image, name)
            for (node, image), name in fetched.items()
            if (node, image) in waited_for and not self.pods.get(name)
        ]
        return found

    def _begin(
        self, seat: Seat, fetched: Mapping[tuple[str, str], str], ended: Mapping[str, Ending], found: Moves
    ) -> Ending | None:
        """A seat that nothing was asked for yet: start it, let it wait, or say why it never starts."""
        earlier = [each for each in self.due if each.before(seat)]
        bad = next(
            (ended[each.name] for each in earlier if each.name in ended and _bars(ended[each.name], seat)),
            None,
        )
        if bad is not None:
            where = ", ".join(node for node in bad.seat.nodes if node in seat.nodes)
            return Ending(
                seat, (), f"it was not tried, since {bad.seat.check.name} did not end well on {where}"
            )
        if any(each.name not in ended for each in earlier):
            found.waiting.append(f"{seat.check.name} on {' and '.join(seat.nodes)} has its turn later")
            return None
        for node in seat.nodes:
            name = fetched.get((node, seat.check.image))
            if name is None:
                continue
            stuck = self._stuck(self.pods.get(name, ()))
            if stuck:
                return Ending(seat, (), f"its image did not come to {node}: {stuck}")
            if not any(pod.finished for pod in self.pods.get(name, ())):
                found.waiting.append(f"{seat.check.name} on {node} waits for its image")
                return None
        found.start.append(seat)
        return None

    def _ended(self, seat: Seat) -> Ending | None:
        pods = self._of(seat)
        if not pods or any(pod.leaving for pod in pods):
            return None
        broke = tuple(pod for pod in pods if pod.phase == "Failed")
        if broke or (len(pods) == len(seat.nodes) and all(pod.finished for pod in pods)):
            # Where one rank fails, the Job takes the other away: what failed is what can be read.
            shown = broke or pods
            never = next(
                (pod for pod in shown if pod.exit_code is None or pod.waiting.startswith("DeadlineExceeded")),
                None,
            )
            return Ending(
                seat, shown, f"it never ran to its end: {never.waiting or never.phase}" if never else None
            )
        # Checks of one stage queue for the GPU.
        queue = sum(
            each.check.stage == seat.check.stage and {*each.nodes} == {*seat.nodes} for each in self.due
        )
        most = timedelta(seconds=seat.check.seconds) * queue + PLACED_WITHIN
        for pod in pods:
            if pod.began and not pod.ended and self.now > asked(pod) + pull_of(pod, self.pulled) + most:
                return Ending(
                    seat, pods, f"it ran for more than its {seat.check.seconds} seconds and was ended"
                )
        stuck = self._stuck(pods)
        return Ending(seat, pods, f"its image did not come: {stuck}") if stuck else None

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
            pod for seat in self.due if node.name in seat.nodes for pod in self._of(seat) if not pod.node
        ]
        return spent(node.facts, [*mine, *waiting], self.pulled, self.now) > self.budget

    def _over_budget(self, seat: Seat) -> str:
        minutes = int(self.budget.total_seconds() // 60)
        pods = self._of(seat)
        doing = (
            "before its turn came"
            if not pods
            else "while it ran"
            if any(pod.began for pod in pods)
            else "while it waited"
        )
        waits = next((f" ({pod.waiting})" for pod in pods if pod.waiting and not pod.began), "")
        return f"the ladder's {minutes} minutes from the node's Ready were over {doing}{waits}"

    def _says(self, seat: Seat) -> str:
        pods = self._of(seat)
        state = next((pod.waiting for pod in pods if pod.waiting), pods[0].phase)
        return f"{seat.check.name} on {' and '.join(seat.nodes)}: {state}"

    def _of(self, seat: Seat) -> tuple[PodFacts, ...]:
        return tuple(self.pods.get(seat.name, ()))


def _bars(ending: Ending, seat: Seat) -> bool:
    """A GPU that failed bars all that follows on its node; a path that failed, only what needs it too."""
    return not ending.well and (ending.seat.check.nodes == 1 or seat.check.nodes > 1)
