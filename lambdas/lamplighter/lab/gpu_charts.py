"""NVIDIA's device plugin and DCGM exporter by their own charts, for labs without the GPU Operator; Helm's own words.

What the lab adds to the values (its pools, their taints, its sharing) is domain.gpu's.
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
PLUGIN_VALUES: dict[str, JsonValue] = {
    "gfd": {"enabled": False},
    # The chart's worker tolerates the value `present` only, so that it never ran on the lab's nodes.
    "nfd": {"worker": {"tolerations": list(TOLERATIONS)}},
    "tolerations": list(TOLERATIONS),
}
EXPORTER_VALUES: dict[str, JsonValue] = {
    # The chart's ServiceMonitor is on by default. Without the Prometheus operator the cluster has no such kind, and
    # helm fails.
    "serviceMonitor": {"enabled": False},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
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
    values: Annotated[
        dict[str, JsonValue], BeforeValidator(lambda given: completed(given, PLUGIN_VALUES))
    ] = Field(
        default_factory=lambda: dict(PLUGIN_VALUES),
        description="Helm values, added to the default ones key by key; the plugin always tolerates the pools' taints.",
    )

    @property
    def discovers(self) -> bool:
        """Whether GPU feature discovery comes along, which labels nodes with what it finds."""
        discovery = self.values.get("gfd")
        return isinstance(discovery, dict) and discovery.get("enabled") is True


class DcgmExporter(Part):
    """The exporter's own Helm release, beside the device plugin's: it shows metrics of the GPUs on port 9400."""

    enabled: bool = Field(
        False,
        description="Install it with the cluster; it needs device_plugin, because the operator has its own.",
    )
    version: Annotated[Version, Field(pattern=PLAIN_VERSION)] = Field(
        "4.8.2", description="The version of the chart; always an exact one."
    )
    namespace: str = Field(
        "dcgm-exporter", pattern=NAMESPACE, description="The namespace it is installed in."
    )
    repository: str = Field(
        "https://nvidia.github.io/dcgm-exporter/helm-charts",
        pattern=CHART_REPOSITORY,
        description="The repository of the chart.",
    )
    values: Annotated[
        dict[str, JsonValue], BeforeValidator(lambda given: completed(given, EXPORTER_VALUES))
    ] = Field(
        default_factory=lambda: dict(EXPORTER_VALUES),
        description="Helm values, added to the default ones key by key; it always tolerates the pools' taints.",
    )
