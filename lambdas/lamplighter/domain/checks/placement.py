"""Which checks a ladder means for the nodes at hand: each on its node, those between nodes on pairs of them.

What cannot be meant is said with its reason and judges nobody: a collective where there is one node, a test of
whole GPUs where they are handed out in slices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamplighter.domain.checks.ladder import Check
from lamplighter.domain.checks.manifests import FETCH, seat_name
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.domain.pool.nodes import NodeFacts


@dataclass(frozen=True)
class GpuNode:
    """A node whose instance type is known."""

    facts: NodeFacts
    kind: GpuType
    slices: int = 1
    """Into how many MIG shall cut each of its GPUs."""
    replicas: int = 1
    """To how many pods each shall be handed out, where no label of the node says so."""

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def in_parts(self) -> str | None:
        """How its GPUs are handed out other than whole or in time slices."""
        if self.facts.sliced:
            return "MIG slices"
        shared_by = self.facts.labels.get("nvidia.com/gpu.sharing-strategy")
        return "shares of MPS" if shared_by == "mps" else None


@dataclass(frozen=True)
class Placement:
    """One check on its node, or on a pair; `turn` is later for a node's second pair of the same check."""

    check: Check
    nodes: tuple[str, ...]
    judged: tuple[str, ...]
    """The nodes that its verdict is about."""
    name: str
    turn: int = 0

    def before(self, other: "Placement") -> bool:
        """Whether the other waits for this one."""
        earlier = (self.check.stage, self.turn) < (other.check.stage, other.turn)
        return earlier and bool({*self.nodes} & {*other.nodes})


@dataclass(frozen=True)
class NotJudged:
    """A check that says nothing about anybody here, and why."""

    check: str
    why: str

    def to_json(self) -> dict[str, object]:
        return {"check": self.check, "why": self.why}


def placements(
    ladder: Iterable[Check], nodes: Sequence[GpuNode], lease: str
) -> tuple[list[Placement], list[NotJudged]]:
    """Every check that is due, in the order of the ladder; and what is not judged."""
    due: list[Placement] = []
    left_out: list[NotJudged] = []
    for check in ladder:
        fit = [node for node in nodes if not (check.whole and node.in_parts)]
        parts = {node.in_parts for node in nodes if node not in fit}
        left_out += [
            NotJudged(check.name, f"the GPUs are handed out in {part}") for part in sorted(map(str, parts))
        ]
        if check.nodes == 1:
            due += [_seat(check, (node.name,), (node.name,), lease) for node in fit]
        elif len(fit) < check.nodes:
            if not parts:
                count = "no node is" if not fit else "only one node is"
                left_out.append(NotJudged(check.name, f"it takes two nodes, and {count} ready"))
        else:
            due += _pairs(check, [node.name for node in fit], lease)
    return due, left_out


def fetches(due: Iterable[Placement], lease: str) -> dict[tuple[str, str], str]:
    """Images to bring to nodes while the first checks run, by node and image: the name of the pod that does."""
    found: dict[tuple[str, str], str] = {}
    listed = list(due)
    at_once = {
        (node, placement.check.image)
        for placement in listed
        if not placement.check.stage
        for node in placement.nodes
    }
    for placement in listed:
        for node in placement.nodes:
            if (node, placement.check.image) not in at_once:
                found[node, placement.check.image] = seat_name(
                    f"{FETCH}-{placement.check.image}", lease, (node,)
                )
    return found


def _pairs(check: Check, names: Sequence[str], lease: str) -> list[Placement]:
    """Neighbours side by side; where one is left over, it meets the first again once that is free."""
    whole = len(names) - len(names) % 2
    found = [
        _seat(check, (names[at], names[at + 1]), (names[at], names[at + 1]), lease)
        for at in range(0, whole, 2)
    ]
    if whole < len(names):
        found.append(_seat(check, (names[-1], names[0]), (names[-1],), lease, turn=1))
    return found


def _seat(
    check: Check, nodes: tuple[str, ...], judged: tuple[str, ...], lease: str, turn: int = 0
) -> Placement:
    return Placement(check, nodes, judged, seat_name(check.name, lease, nodes), turn)
