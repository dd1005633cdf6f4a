"""The GPU checks before a lease counts as open, and what happens if one fails.

domain/checks knows the checks of each ladder and their time limits; the shipped thresholds are in data/.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lamplighter.lab.names import INSTANCE_TYPE
from lamplighter.lab.types import Amount, Part, unit

Ladder = Literal["smoke", "standard", "deep"]
OnFailure = Literal["keep", "close", "replace"]
InstanceTypeName = Annotated[str, StringConstraints(pattern=INSTANCE_TYPE)]

LADDER = "smoke takes 2 minutes from ready nodes, standard 8, deep 30."
ON_FAILURE = (
    "What happens if a check fails: keep opens the pool and sends a page, close ends the lease,"
    " replace replaces the failed node once and checks again."
)


class Thresholds(Part):
    """The figures that a check of one instance type must reach; a figure left out is the shipped one."""

    bus_bandwidth: Amount | None = Field(
        None,
        description="The least bus bandwidth of all_reduce over two nodes, at the largest size.",
        examples=["0.25"],
        json_schema_extra=unit("GB/s"),
    )


class Checks(Part):
    """The ladder of checks, and what happens if one fails."""

    ladder: Ladder = Field("smoke", description=f"How much is checked: {LADDER}")
    on_failure: OnFailure = Field("keep", description=ON_FAILURE)
    dcgm_level_4: bool = Field(
        False, description="The deep ladder also runs dcgmi diag at level 4, which takes up to 2 h 15 min."
    )
    thresholds: dict[InstanceTypeName, Thresholds] = Field(
        default_factory=dict,
        description="Thresholds of your own, by instance type.",
        examples=[{"g5.xlarge": {"bus_bandwidth": "0.25"}}],
    )

    def threshold(self, instance_type: str) -> Decimal | None:
        """The lab's own least bus bandwidth in GB/s; None if the shipped one counts."""
        own = self.thresholds.get(instance_type)
        return own.bus_bandwidth if own else None

    def under(self, window: "WindowChecks | None") -> "Checks":
        """The lab's checks with the changes of a window."""
        if window is None:
            return self
        said = {
            name: value for name in ("ladder", "on_failure") if (value := getattr(window, name)) is not None
        }
        return self.model_copy(update=said)


class WindowChecks(Part):
    """The checks of a window, where they differ from the lab's."""

    ladder: Ladder | None = Field(
        None, description=f"Replaces checks.ladder: {LADDER}", examples=["standard"]
    )
    on_failure: OnFailure | None = Field(
        None, description="Replaces checks.on_failure: keep, close or replace.", examples=["replace"]
    )
