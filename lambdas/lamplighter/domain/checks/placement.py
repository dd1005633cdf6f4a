"""Places the checks of a ladder on nodes: each check on a node, a check between nodes on a pair.

A check that cannot run here is named with its reason: a collective where there is one node, or a test of whole GPUs
where they are offered in slices.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lamplighter.domain.checks.ladder import Check
from lamplighter.domain.checks.manifests import FETCH, placement_name
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.reasons.reason import Reason, Said, reason


@dataclass(frozen=True)
class GpuNode:
    """A node whose instance type is known."""

    facts: NodeFacts
    kind: GpuType
    slices: int = 1
    """The number of MIG slices that were asked for, of each GPU."""
    replicas: int = 1
    """The number of pods that shall share a GPU, where no label of the node says so."""

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def in_parts(self) -> Reason | None:
        """That its GPUs are offered in MIG slices or by MPS; None where they are whole or time-sliced."""
        if self.facts.sliced:
            return reason("check.offered-in-slices")
        shared_by = self.facts.labels.get("nvidia.com/gpu.sharing-strategy")
        return reason("check.offered-by-mps") if shared_by == "mps" else None

    def bars(self, check: Check) -> Reason | None:
        """Why a check proves nothing on GPUs that are offered as they are here."""
        if check.whole and self.in_parts:
            return self.in_parts
        time_sliced = self.replicas > 1 or check.gpus(self.facts, self.kind) < self.kind.count
        return reason("check.offered-in-time-slices") if check.several and time_sliced else None


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
    """A check that proves nothing on these nodes, and why."""

    check: str
    why: Said


def placements(
    ladder: Iterable[Check], nodes: Sequence[GpuNode], lease: str
) -> tuple[list[Placement], list[NotJudged]]:
    """Every check that is due, in the order of the ladder; and the checks that cannot run here."""
    due: list[Placement] = []
    left_out: list[NotJudged] = []
    for check in ladder:
        meant = [node for node in nodes if check.concerns(node.kind)]
        fit = [node for node in meant if not node.bars(check)]
        parts = {part.code: part for node in meant if (part := node.bars(check))}
        left_out += [NotJudged(check.name, parts[code]) for code in sorted(parts)]
        if check.nodes == 1:
            due += [_placement(check, (node.name,), (node.name,), lease) for node in fit]
        elif len(fit) < check.nodes:
            if not parts:
                left_out.append(NotJudged(check.name, _too_few_nodes(len(fit))))
        else:
            # A comparison of nodes of different types has no floor.
            due += [pair for names in _by_type(fit).values() for pair in _pairs(check, names, lease)]
    return due, left_out


def without_equal(ladder: Iterable[Check], nodes: Sequence[GpuNode]) -> Iterator[tuple[str, str, Reason]]:
    """Each check between nodes, and each node that has no other of its type to be compared with, and why."""
    for check in ladder:
        by_type = _by_type([node for node in nodes if check.concerns(node.kind) and not node.bars(check)])
        for kind, names in by_type.items() if check.nodes > 1 and len(by_type) > 1 else ():
            if len(names) < check.nodes:
                others = tuple(sorted(by_type.keys() - {kind}))
                yield check.name, names[0], reason("check.no-equal-node", type=kind, others=others)


def _by_type(nodes: Iterable[GpuNode]) -> dict[str, list[str]]:
    """The names of nodes by instance type."""
    names: dict[str, list[str]] = {}
    for node in nodes:
        names.setdefault(node.kind.instance_type, []).append(node.name)
    return names


def _too_few_nodes(ready: int) -> Reason:
    return reason("check.one-node-ready") if ready else reason("check.no-node-ready")


def fetches(due: Iterable[Placement], lease: str) -> dict[tuple[str, str], str]:
    """Images to pull while the first checks run: the name of the pod that pulls, by node and image."""
    pulling: dict[tuple[str, str], str] = {}
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
                pulling[node, placement.check.image] = placement_name(
                    f"{FETCH}-{placement.check.image}", lease, (node,)
                )
    return pulling


def _pairs(check: Check, names: Sequence[str], lease: str) -> list[Placement]:
    """Pairs of neighbours; a node that is left over is paired with the first node, once that is free."""
    if len(names) < check.nodes:
        return []
    whole = len(names) - len(names) % 2
    pairs = [
        _placement(check, (names[at], names[at + 1]), (names[at], names[at + 1]), lease)
        for at in range(0, whole, 2)
    ]
    if whole < len(names):
        pairs.append(_placement(check, (names[-1], names[0]), (names[-1],), lease, turn=1))
    return pairs


def _placement(
    check: Check, nodes: tuple[str, ...], judged: tuple[str, ...], lease: str, turn: int = 0
) -> Placement:
    return Placement(check, nodes, judged, placement_name(check.name, lease, nodes), turn)
