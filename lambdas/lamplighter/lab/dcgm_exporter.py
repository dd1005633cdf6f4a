"""NVIDIA's DCGM exporter by its own chart, for labs that do without the GPU Operator, which has one; Helm's own words.

What the lab adds to the values (its pools, their taints) is domain.gpu.dcgm_exporter's.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from lamplighter.lab.gpu import completed
from lamplighter.lab.names import CHART_REPOSITORY, NAMESPACE, PLAIN_VERSION
from lamplighter.lab.types import Part, Version

VALUES: dict[str, JsonValue] = {
    # The chart's ServiceMonitor is on by default. Without the Prometheus operator the cluster has no such kind, and
    # helm fails.
    "serviceMonitor": {"enabled": False},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


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
    values: Annotated[dict[str, JsonValue], BeforeValidator(lambda given: completed(given, VALUES))] = Field(
        default_factory=lambda: dict(VALUES),
        description="Helm values, added to the default ones key by key; it always tolerates the pools' taints.",
    )
