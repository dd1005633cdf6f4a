"""The IAM statements of a lab whose pools are of several kinds: those of each, without repetition."""

from collections.abc import Callable, Sequence

from stacks.constructs.capacity.kind import CapacityRights
from stacks.constructs.grants import Grants


class EachKind:
    """All that the kinds of a lab need."""

    def __init__(self, kinds: Sequence[CapacityRights]) -> None:
        self._kinds = kinds

    def off_switch(self) -> list[Grants]:
        """Of the role of failsafe and curfew."""
        return self._all(lambda kind: kind.off_switch())

    def describing(self) -> list[Grants]:
        """Reading the pools themselves."""
        return self._all(lambda kind: kind.describing())

    def seeing(self) -> list[Grants]:
        """Reading the pools, and what is behind them."""
        return self._all(lambda kind: kind.seeing())

    def sizing(self) -> list[Grants]:
        """Writing a size, and ending chosen instances."""
        return self._all(lambda kind: kind.sizing())

    def ending_strays(self) -> list[Grants]:
        """Ending instances that no size counts any more."""
        return self._all(lambda kind: kind.ending_strays())

    def bounding(self) -> list[Grants]:
        """Reading the pools, and writing their bounds at a deploy."""
        return self._all(lambda kind: kind.bounding())

    def _all(self, of: Callable[[CapacityRights], Sequence[Grants]]) -> list[Grants]:
        every: list[Grants] = []
        for kind in self._kinds:
            every += [leave for leave in of(kind) if leave not in every]
        return every
