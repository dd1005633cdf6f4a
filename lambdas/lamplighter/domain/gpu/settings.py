"""Compares the GPU Operator settings that the lab asks for with the cluster's ClusterPolicy.

Decides what differs, by path; changing anything is left to Helm, which owns these settings.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Chart values that install the operator and its companions: they never reach the ClusterPolicy.
CHART_ONLY = ("nfd", "node-feature-discovery", "operator", "platform", "psa", "devicePlugin.config")

Setting = bool | int | float | str | Sequence["Setting"] | Mapping[str, "Setting"] | None


@dataclass(frozen=True)
class Difference:
    """One setting that is not as the lab has it; None where a side does not say."""

    path: str
    lab: Setting
    cluster: Setting

    def __str__(self) -> str:
        return f"{self.path} is {_said(self.cluster)} in the cluster, {_said(self.lab)} in the lab"


def differences(lab: Mapping[str, Setting], policy: Mapping[str, Setting]) -> list[Difference]:
    """Every setting of the lab's chart values that the ClusterPolicy's spec does not have so."""
    return [
        difference
        for difference in _compared("", lab, policy)
        if not any(_below(difference.path, chart) for chart in CHART_ONLY)
    ]


def _compared(path: str, lab: Setting, cluster: Setting) -> Iterator[Difference]:
    if isinstance(lab, Mapping):
        found = cluster if isinstance(cluster, Mapping) else {}
        for key, value in lab.items():
            yield from _compared(f"{path}.{key}" if path else key, value, found.get(key))
    elif (wanted := _named(lab)) is not None:
        # Lists such as env: what the lab does not name is the operator's own.
        yield from _compared(path, wanted, _named(cluster) or {})
    elif lab != cluster:
        yield Difference(path, lab, cluster)


def _named(setting: Setting) -> dict[str, Setting] | None:
    """A list of {name, value} as a mapping; None for anything else."""
    if isinstance(setting, str) or not isinstance(setting, Sequence) or not setting:
        return None
    named: dict[str, Setting] = {}
    for each in setting:
        if not isinstance(each, Mapping) or "name" not in each:
            return None
        named[str(each["name"])] = each.get("value")
    return named


def _below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + ".")


def _said(setting: Setting) -> str:
    if setting is None:
        return "not set"
    return str(setting).lower() if isinstance(setting, bool) else str(setting)
