"""What is proven of GPUs before a lease counts as open, and what follows where the proof fails.

What each ladder holds and how long it may take is for domain.checks; the shipped thresholds are in data/.
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
    "What follows where a check fails: keep opens and says so loudly, close ends the lease,"
    " replace changes the failed node once and judges again."
)


class Thresholds(Part):
    """What a check of one instance type must reach; what is left out is as shipped."""

    bus_bandwidth: Amount | None = Field(
        None,
        description="The least bus bandwidth of all_reduce over two nodes, at the largest size.",
        examples=["0.25"],
        json_schema_extra=unit("GB/s"),
    )


class Checks(Part):
    """The ladder of checks, and what follows where one fails."""

    ladder: Ladder = Field("smoke", description=f"How much is proven: {LADDER}")
    on_failure: OnFailure = Field("keep", description=ON_FAILURE)
    dcgm_level_4: bool = Field(
        False, description="deep also runs dcgmi diag at level 4, which takes up to two hours and a quarter."
    )
    thresholds: dict[InstanceTypeName, Thresholds] = Field(
        default_factory=dict,
        description="Thresholds of your own, by instance type.",
        examples=[{"g5.xlarge": {"bus_bandwidth": "0.25"}}],
    )

    def threshold(self, instance_type: str) -> Decimal | None:
        """The lab's own floor of bus bandwidth in GB/s; None where the shipped one holds."""
        own = self.thresholds.get(instance_type)
        return own.bus_bandwidth if own else None

    def under(self, window: "WindowChecks | None") -> "Checks":
        """The lab's checks with what a window says otherwise."""
        if window is None:
            return self
        said = {
            name: value for name in ("ladder", "on_failure") if (value := getattr(window, name)) is not None
        }
        return self.model_copy(update=said)


class WindowChecks(Part):
    """What a window proves otherwise than the lab."""

    ladder: Ladder | None = Field(
        None, description=f"In place of checks.ladder: {LADDER}", examples=["standard"]
    )
    on_failure: OnFailure | None = Field(
        None, description="In place of checks.on_failure: keep, close or replace.", examples=["replace"]
    )
