"""The values of NVIDIA's device-plugin chart, where it replaces the GPU Operator: where to run, what to share.

Pure: the cluster stack installs the chart. The values are those of version 0.18.2.
"""

from collections.abc import Iterator, Sequence

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.gpu.sharing import config_map, default_key, sharings
from lamplighter.lab.gpu_settings import over
from lamplighter.lab.model import Lab
from lamplighter.lab.operator import matches
from lamplighter.lab.pools import Taint
from lamplighter.values.json_value import JsonValue

CHART = "nvidia-device-plugin"
# The name of the release, from the project's documentation.
RELEASE = "nvdp"


def chart_values(lab: Lab) -> dict[str, JsonValue]:
    """The chart's Helm values: the lab's, its pools as the nodes to run on, their taints, its sharing."""
    values = lab.device_plugin.values
    tolerations = tolerating(lab, values.get("tolerations"))
    worker = _worker(values)
    values = over(
        values,
        {
            "tolerations": tolerations,
            "nfd": {"worker": {"tolerations": tolerating(lab, worker.get("tolerations"))}},
        },
    )
    if lab.efa_pools:
        values = over({"mofedEnabled": False}, values)
    if "affinity" not in values:
        # The chart selects nodes by labels of NFD, which is off without GFD. A pool whose image has a plugin must
        # not get a second one.
        values["affinity"] = only_on(lab)
    return over(values, {"config": plugin_config(lab)}) if sharings(lab) else values


def plugin_config(lab: Lab) -> dict[str, JsonValue]:
    """Of the chart's values: every sharing by its key, and the default of nodes without the label."""
    return {"map": {**config_map(lab)}, "default": default_key(lab)}


def pools(lab: Lab) -> list[str]:
    """The pools whose GPUs the chart announces."""
    return [pool for pool in lab.pools if lab.gpu_stack(pool) == "device-plugin"]


def tolerating(lab: Lab, given: JsonValue, on: Sequence[str] | None = None) -> list[JsonValue]:
    """The given tolerations, and one for each taint of the pools (those of the chart) that they do not tolerate."""
    tolerations = list(given) if isinstance(given, list) else []
    for taint in _taints(lab, pools(lab) if on is None else on):
        if not any(matches(taint, one) for one in tolerations):
            tolerations.append({"key": taint.key, "operator": "Exists", "effect": taint.effect})
    return tolerations


def only_on(lab: Lab) -> JsonValue:
    """The affinity of a pod that runs only on the nodes of these pools: a term for each label that such nodes have."""
    identities = [identity(lab, pool) for pool in pools(lab)]
    terms: list[JsonValue] = []
    for label in dict.fromkeys(each.label for each in identities):
        names: list[JsonValue] = [each.name for each in identities if each.label == label]
        terms.append({"matchExpressions": [{"key": label, "operator": "In", "values": names}]})
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _taints(lab: Lab, on: Sequence[str]) -> Iterator[Taint]:
    for pool in on:
        yield from (taint for taint in lab.pools[pool].taints if taint.effect != "PreferNoSchedule")


def _worker(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    discovery = values.get("nfd")
    worker = discovery.get("worker") if isinstance(discovery, dict) else None
    return worker if isinstance(worker, dict) else {}
