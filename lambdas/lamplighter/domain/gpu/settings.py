"""Compares the lab's GPU Operator settings with the cluster's ClusterPolicy.

It names the differences by path. It changes nothing: these settings belong to Helm.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Chart values that install the operator and its companions: they are not in the ClusterPolicy.
CHART_ONLY = ("nfd", "node-feature-discovery", "operator", "platform", "psa", "devicePlugin.config")

Setting = bool | int | float | str | Sequence["Setting"] | Mapping[str, "Setting"] | None


@dataclass(frozen=True)
class Difference:
    """One setting that is not as the lab has it; None where a side does not set it."""

    path: str
    lab: Setting
    cluster: Setting


def differences(lab: Mapping[str, Setting], policy: Mapping[str, Setting]) -> list[Difference]:
    """Every setting of the lab's chart values that the ClusterPolicy's spec does not have so."""
    return [
        difference
        for difference in _compared("", lab, policy)
        if not any(_below(difference.path, chart) for chart in CHART_ONLY)
    ]


def _compared(path: str, lab: Setting, cluster: Setting) -> Iterator[Difference]:
    if isinstance(lab, Mapping):
        settings = cluster if isinstance(cluster, Mapping) else {}
        for key, value in lab.items():
            yield from _compared(f"{path}.{key}" if path else key, value, settings.get(key))
    elif (wanted := _named(lab)) is not None:
        # Of a list such as env, entries that the lab does not name are the operator's own.
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
