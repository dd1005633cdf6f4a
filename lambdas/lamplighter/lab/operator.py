"""Which taints the GPU Operator's pods tolerate, by the chart's values.

The chart's own defaults are those of v26.3.1, read from its values.yaml.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from lamplighter.lab.pools import Taint

GPU_TOLERATION: dict[str, JsonValue] = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def tolerated(taint: Taint, values: Mapping[str, JsonValue]) -> bool:
    """Whether both the operator's DaemonSets and its feature discovery may run on a node with the taint."""
    if taint.effect == "PreferNoSchedule":
        return True
    places: list[tuple[str, ...]] = [("daemonsets",)]
    nfd = values.get("nfd")
    if not (isinstance(nfd, dict) and nfd.get("enabled") is False):
        places.append(("node-feature-discovery", "worker"))
    return all(any(matches(taint, one) for one in _tolerations(values, place)) for place in places)


def _tolerations(values: Mapping[str, JsonValue], place: Sequence[str]) -> list[JsonValue]:
    inner: JsonValue = dict(values)
    for step in (*place, "tolerations"):
        inner = inner.get(step) if isinstance(inner, dict) else None
    return inner if isinstance(inner, list) else [GPU_TOLERATION]


def matches(taint: Taint, toleration: JsonValue) -> bool:
    """Whether one toleration of a chart's values tolerates the taint."""
    if not isinstance(toleration, dict):
        return False
    exists = toleration.get("operator") == "Exists"
    key, effect = toleration.get("key") or "", toleration.get("effect") or ""
    if effect not in ("", taint.effect) or (key != taint.key and not (exists and not key)):
        return False
    return exists or (toleration.get("value") or "") == taint.value
