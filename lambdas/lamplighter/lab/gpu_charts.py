"""NVIDIA's charts as the lab installs them: the GPU Operator, or the device plugin and the DCGM exporter by themselves.

The values are Helm's own words. driver and toolkit are off because the AL2023 NVIDIA image brings both.
What the lab adds to the values (its pools, their taints, its sharing) is domain.gpu's.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from lamplighter.lab.names import CHART_REPOSITORY, CHART_VERSION, NAMESPACE, PLAIN_VERSION
from lamplighter.lab.types import Part, Version

OPERATOR_VALUES: dict[str, JsonValue] = {
    "driver": {"enabled": False},
    "toolkit": {"enabled": False},
    "devicePlugin": {"enabled": True},
    "nfd": {"enabled": True},
    "dcgmExporter": {"enabled": True},
    "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}},
    "operator": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]},
}
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


def completed(given: object, defaults: dict[str, JsonValue]) -> object:
    """Mappings are completed key by key, anything else replaces the default, as Helm does."""
    if not isinstance(given, dict):
        return given
    merged: dict[str, object] = {**defaults, **given}
    for key, value in defaults.items():
        if isinstance(value, dict) and isinstance(given.get(key), dict):
            merged[key] = completed(given[key], value)
    return merged


class GpuOperator(Part):
    """The Helm release that turns a node with a GPU into one that pods can use."""

    enabled: bool = Field(True, description="Install it with the cluster.")
    version: str = Field(
        "v26.3.1", pattern=CHART_VERSION, description="The version of the chart; always an exact one."
    )
    namespace: str = Field("gpu-operator", pattern=NAMESPACE, description="The namespace it is installed in.")
    repository: str = Field(
        "https://helm.ngc.nvidia.com/nvidia",
        pattern=CHART_REPOSITORY,
        description="The repository of the chart.",
    )
    values: Annotated[
        dict[str, JsonValue], BeforeValidator(lambda given: completed(given, OPERATOR_VALUES))
    ] = Field(
        default_factory=lambda: dict(OPERATOR_VALUES),
        description="Helm values, added to the default ones key by key.",
    )


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
