"""How a pool offers its GPUs: whole, shared or in slices; and the operator's settings that a window changes.

The lab sets it once, and each window may replace it. labfile/rules/gpu.py checks whether the instance type supports it;
domain/gpu/ applies it.
"""

from typing import Literal, Self

from pydantic import Field, JsonValue

from lamplighter.data.gpu import mig
from lamplighter.lab.names import MIG_PROFILE
from lamplighter.lab.types import Part, unit

Strategy = Literal["time-slicing", "mps"]


class Sharing(Part):
    """Several pods on one GPU: by turns (time-slicing), or at once with a share of its memory each (MPS)."""

    strategy: Strategy = Field(
        "time-slicing",
        description="time-slicing: pods take turns, nothing keeps one from the memory of all. mps: they run at"
        " once, each with an equal part of the memory.",
    )
    replicas: int = Field(
        ge=2,
        le=48,
        description="The number of pods that share one GPU; MPS has at most 48 clients.",
        examples=[4],
        json_schema_extra=unit("pods for a GPU"),
    )
    rename: bool = Field(
        False,
        description="Name the shared resource nvidia.com/gpu.shared, so that nobody mistakes it for whole GPUs.",
    )
    refuse_more_than_one: bool = Field(
        True,
        description="A pod that asks for two shares is refused, since it would get no more of the GPU;"
        " MPS always refuses it.",
    )

    @property
    def key(self) -> str:
        """Its name in the ConfigMap and on the node's label: the same sharing has the same name."""
        name = f"{'shared' if self.strategy == 'time-slicing' else 'mps'}-{self.replicas}"
        return name + ("-renamed" if self.rename else "") + ("" if self.refuses else "-any")

    @property
    def refuses(self) -> bool:
        """Whether a request for more than one share is refused."""
        return self.refuse_more_than_one or self.strategy == "mps"


class GpuSettings(Part):
    """What pods find: GPUs whole, shared or sliced, and fields of the operator's ClusterPolicy."""

    share: int | None = Field(
        None,
        ge=1,
        le=48,
        description="So many pods share each GPU by turns: the short form of sharing. 1 is whole, for a window"
        " of a lab that shares.",
        examples=[4],
        json_schema_extra=unit("pods for a GPU"),
    )
    sharing: Sharing | None = Field(None, description="The long form of sharing; replaces share.")
    mig: str | None = Field(
        None,
        pattern=MIG_PROFILE,
        description="How each GPU is cut into slices, where its model can be: a profile such as 1g.10gb, balanced,"
        " or disabled for a window of a lab that slices.",
        examples=["1g.10gb"],
        json_schema_extra=unit("MIG profile"),
    )
    cluster_policy: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Fields of the GPU Operator's ClusterPolicy. The lab's go into the chart's values; a window's"
        " hold while it is open, and are given back to Helm when it closes.",
        examples=[{"dcgmExporter": {"enabled": False}}],
    )

    @property
    def shared(self) -> Sharing | None:
        """The sharing that either form asks for; None for whole GPUs."""
        if self.sharing is not None or self.share in (None, 1):
            return self.sharing
        return Sharing(replicas=self.share)

    @property
    def replicas(self) -> int:
        """How many pods a GPU, or a slice of one, is offered to."""
        return self.shared.replicas if self.shared else 1

    @property
    def mig_config(self) -> str | None:
        """The profile as the operator's MIG manager calls it; None where nothing is said of MIG."""
        return None if self.mig is None else f"all-{self.mig.removeprefix('all-')}"

    @property
    def sliced(self) -> bool:
        """Whether GPUs are cut into slices."""
        return self.mig_config not in (None, "all-disabled")

    def slices(self, instance_type: str) -> int:
        """Into how many slices a GPU of this type is cut; 1 where it is whole."""
        return sum(self.kinds_of_slices(instance_type).values()) or 1

    def kinds_of_slices(self, instance_type: str) -> dict[str, int]:
        """How many slices of which kind a GPU of this type gives; none where it is whole or cannot be cut so."""
        if not self.sliced:
            return {}
        return mig.profiles(instance_type).get(str(self.mig_config).removeprefix("all-"), {})

    def under(self, window: Self | None) -> Self:
        """These settings where a window says nothing, the window's where it does; both forms of sharing are one."""
        if window is None:
            return self
        said = {name: getattr(window, name) for name in window.model_fields_set}
        kept = {name: getattr(self, name) for name in self.model_fields_set}
        if said.get("share") is not None or said.get("sharing") is not None:
            kept = {name: value for name, value in kept.items() if name not in ("share", "sharing")}
        merged = {**kept, **{name: value for name, value in said.items() if value is not None}}
        merged["cluster_policy"] = over(self.cluster_policy, window.cluster_policy)
        return type(self)(**merged)


def over(under: dict[str, JsonValue], top: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """One fragment of settings over another, key by key; lists and plain values replace."""
    merged = {**under, **top}
    for key, value in top.items():
        below = under.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = over(below, value)
    return merged
