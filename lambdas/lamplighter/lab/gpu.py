"""The NVIDIA GPU Operator as the lab installs it; the values are Helm's own words.

driver and toolkit are off because the AL2023 NVIDIA image brings both.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from lamplighter.lab.names import CHART_REPOSITORY, CHART_VERSION, NAMESPACE
from lamplighter.lab.types import Part

VALUES: dict[str, JsonValue] = {
    "driver": {"enabled": False},
    "toolkit": {"enabled": False},
    "devicePlugin": {"enabled": True},
    "nfd": {"enabled": True},
    "dcgmExporter": {"enabled": True},
    "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}},
    "operator": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]},
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
    values: Annotated[dict[str, JsonValue], BeforeValidator(lambda given: completed(given, VALUES))] = Field(
        default_factory=lambda: dict(VALUES), description="Helm values, added to the default ones key by key."
    )
