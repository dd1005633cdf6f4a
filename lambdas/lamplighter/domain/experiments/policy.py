"""The fields of the ClusterPolicy that experiments change, and their new values.

adapters/kubernetes/overrides.py writes the fields and reverts them.
"""

from collections.abc import Iterator, Mapping, Sequence

from lamplighter.lab.pools import Taint
from lamplighter.reasons.reason import Said, reason
from lamplighter.values.json_value import JsonValue

MANAGER = "lamplighter-experiment"
"""The field manager of experiments. A window's settings have another one, `lamplighter`, and stay applied."""


def changes(experiment: str, taints: Sequence[Taint]) -> Mapping[str, JsonValue]:
    """The part of the spec that an experiment applies."""
    if experiment == "device-plugin-off":
        return {"devicePlugin": {"enabled": False}}
    missing: list[JsonValue] = [
        {
            "key": taint.key,
            "operator": "Equal",
            "value": "present" if taint.value != "present" else "true",
            "effect": taint.effect,
        }
        for taint in taints
    ]
    return {"daemonsets": {"tolerations": missing}}


def becomes(fields: Mapping[str, object]) -> list[Said]:
    """The changes, a sentence each: `devicePlugin.enabled of the ClusterPolicy becomes false`."""
    return [reason("experiment.field-becomes", field=field, value=value) for field, value in _leaves(fields)]


def was(fields: Mapping[str, object]) -> list[Said]:
    """The values of the fields before, a sentence each."""
    return [reason("experiment.field-was", field=field, value=value) for field, value in _leaves(fields)]


def _leaves(fields: Mapping[str, object], path: str = "") -> Iterator[tuple[str, Said]]:
    for key, value in fields.items():
        here = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            yield from _leaves(value, here)
        elif value is None:
            yield here, reason("experiment.not-set")
        else:
            yield here, str(value).lower() if isinstance(value, bool) else _written(value)


def _written(value: object) -> str:
    """A value of the ClusterPolicy on one line."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "; ".join(_written(each) for each in value)
    if isinstance(value, Mapping):
        return " ".join(f"{key}={inner}" for key, inner in value.items())
    return str(value)
