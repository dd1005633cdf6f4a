"""The IAM statements that the stacks ask of a kind of capacity, whichever it is."""

from collections.abc import Sequence
from typing import Protocol

from stacks.constructs.grants import Grants


class CapacityRights(Protocol):
    """The IAM statements about the pools of one kind."""

    def off_switch(self) -> Sequence[Grants]:
        """Of the role of failsafe and curfew: to zero, never up."""
        ...

    def describing(self) -> Sequence[Grants]:
        """Reading the pools themselves."""
        ...

    def seeing(self) -> Sequence[Grants]:
        """Reading the pools, their changes, and what is behind them."""
        ...

    def sizing(self) -> Sequence[Grants]:
        """Writing a size, and ending chosen instances."""
        ...

    def ending_strays(self) -> Sequence[Grants]:
        """Ending instances of a pool that no size counts any more."""
        ...

    def bounding(self) -> Sequence[Grants]:
        """Reading the pools, and writing their bounds at a deploy."""
        ...
