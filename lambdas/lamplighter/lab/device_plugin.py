"""NVIDIA's device plugin by its own chart, for labs that do without the GPU Operator; the values are Helm's own words.

What the lab adds to the values (its pools, their taints, its sharing) is domain.device_plugin's.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from lamplighter.lab.gpu import completed
from lamplighter.lab.names import CHART_REPOSITORY, NAMESPACE, PLAIN_VERSION
from lamplighter.lab.types import Part, Version

TOLERATIONS: list[JsonValue] = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
]
VALUES: dict[str, JsonValue] = {
    "gfd": {"enabled": False},
    # The chart's worker tolerates the value `present` only, so that it never ran on the lab's nodes.
    "nfd": {"worker": {"tolerations": list(TOLERATIONS)}},
    "tolerations": list(TOLERATIONS),
}


class DevicePlugin(Part):
    """The device plugin's own Helm release, in place of the GPU Operator: it announces GPUs and does no more."""

    enabled: bool = Field(
        False, description="Install it with the cluster; then gpu_operator.enabled must be false."
    )
    version: Annotated[Version, Field(pattern=PLAIN_VERSION)] = Field(
        "0.18.2", description="The version of the chart; always an exact one."
    )
    namespace: str = Field(
        "nvidia-device-plugin", pattern=NAMESPACE, description="The namespace it is installed in."
    )
    repository: str = Field(
        "https://nvidia.github.io/k8s-device-plugin",
        pattern=CHART_REPOSITORY,
        description="The repository of the chart.",
    )
    values: Annotated[dict[str, JsonValue], BeforeValidator(lambda given: completed(given, VALUES))] = Field(
        default_factory=lambda: dict(VALUES),
        description="Helm values, added to the default ones key by key; the plugin always tolerates the pools' taints.",
    )

    @property
    def discovers(self) -> bool:
        """Whether GPU feature discovery comes along, which labels nodes with what it finds."""
        discovery = self.values.get("gfd")
        return isinstance(discovery, dict) and discovery.get("enabled") is True
