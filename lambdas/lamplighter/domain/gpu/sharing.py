"""How the device plugin is told to share or slice GPUs: a ConfigMap, two node labels, and what then shows.

A pool's nodes pick a sharing by label, so that no window has to change anything that belongs to Helm. Pure;
setting the labels is lamplighter.application.cluster.nodes', installing the ConfigMap the chart's.
"""

from collections.abc import Mapping, Sequence

from lamplighter.data.gpu import mig
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.lab.gpu_settings import GpuSettings, Sharing, over
from lamplighter.lab.model import Lab
from lamplighter.values.json_value import JsonValue

CONFIG_MAP = "lamplighter-gpu-sharing"
WHOLE = "whole"
CONFIG_LABEL = "nvidia.com/device-plugin.config"
MIG_LABEL = "nvidia.com/mig.config"
MIG_STATE = "nvidia.com/mig.config.state"
UNSLICED = "all-disabled"
GPU = "nvidia.com/gpu"
STRATEGIES = {"time-slicing": "timeSlicing", "mps": "mps"}


def offer(lab: Lab, pool: str, window: str | None) -> Offer:
    """What a pool's GPUs shall be while a window, or a lease of none, is the first that is open."""
    settings = lab.gpu_for(window)
    sharing = settings.shared
    labels: dict[str, str] = {}
    stack = lab.gpu_stack(pool)
    # A plugin that the image brings along heeds no label, the chart's none about slices.
    if sharings(lab) and stack != "built-in":
        labels[CONFIG_LABEL] = sharing.key if sharing else WHOLE
    if slices(lab) and stack == "operator":
        labels[MIG_LABEL] = settings.mig_config or UNSLICED
    return Offer(
        replicas=sharing.replicas if sharing else 1,
        strategy=sharing.strategy if sharing else "none",
        renamed=bool(sharing and sharing.rename),
        mig=settings.mig_config,
        slices=_slices(lab.pools[pool].instance_type, settings),
        labels=labels or None,
    )


def sharings(lab: Lab) -> list[Sharing]:
    """Every sharing that the lab or a window names, each once."""
    found = [settings.shared for settings in _all(lab)]
    return list({one.key: one for one in found if one is not None}.values())


def slices(lab: Lab) -> bool:
    """Whether the lab or a window cuts GPUs into slices."""
    return any(settings.mig is not None for settings in _all(lab))


def config_map(lab: Lab) -> dict[str, str]:
    """The device plugin's configurations by key; empty where nothing is shared."""
    named = sharings(lab)
    return {WHOLE: _config(None), **{one.key: _config(one) for one in named}} if named else {}


def default_key(lab: Lab) -> str:
    """The configuration of nodes that nobody has labelled: the lab's own."""
    shared = lab.gpu.shared
    return shared.key if shared else WHOLE


def chart_values(lab: Lab) -> dict[str, JsonValue]:
    """The GPU Operator's Helm values: those of the lab, its ClusterPolicy fields and its sharing."""
    values = over(lab.gpu_operator.values, lab.gpu.cluster_policy)
    return over(values, {"devicePlugin": {"config": plugin_config(lab)}}) if sharings(lab) else values


def plugin_config(lab: Lab) -> dict[str, JsonValue]:
    """Of the chart's values: the ConfigMap with every sharing, and which one nodes have that nobody labelled."""
    return {
        "create": True,
        "name": CONFIG_MAP,
        "default": default_key(lab),
        "data": {**config_map(lab)},
    }


def mig_strategy(lab: Lab, settings: GpuSettings) -> str:
    """Under which resource names slices are offered: none, single or mixed; single is the chart's own."""
    whole = over(lab.gpu_operator.values, over(lab.gpu.cluster_policy, settings.cluster_policy))
    found = whole.get("mig")
    return str(found.get("strategy") or "single") if isinstance(found, dict) else "single"


def unmet(node: NodeFacts, wanted: Offer, *, discovery: bool = True) -> list[str]:
    """What a node does not show yet of what was asked for; empty once it is proven.

    Without GPU feature discovery nothing says how GPUs are shared: how many can be allocated tells it alone.
    """
    if wanted.labels is None:
        return []
    said = node.labels
    found = [
        f"its label {label} is {said.get(label, 'not set')}, not {value}"
        for label, value in wanted.labels.items()
        if said.get(label) != value
    ]
    state = said.get(MIG_STATE)
    if MIG_LABEL in wanted.labels and (wanted.slices > 1 or state) and state != "success":
        found.append(f"its GPUs are not cut as asked yet: {MIG_STATE} is {state or 'not set'}")
    if CONFIG_LABEL in wanted.labels:
        found += _shared(said, wanted) if discovery else []
        resource = f"{GPU}.shared" if wanted.renamed else None
        if resource and not node.allocatable.get(resource):
            found.append(f"no {resource} can be allocated on it yet")
    return found


def _shared(said: Mapping[str, str], wanted: Offer) -> list[str]:
    replicas, strategy = said.get("nvidia.com/gpu.replicas"), said.get("nvidia.com/gpu.sharing-strategy")
    if replicas is None or strategy is None:
        return ["GPU feature discovery has not said how its GPUs are shared"]
    product = said.get("nvidia.com/gpu.product", "")
    found = []
    if replicas != str(wanted.replicas) or strategy != wanted.strategy:
        found.append(
            f"its GPUs are offered to {replicas} pods each by {strategy}, not to {wanted.replicas} by {wanted.strategy}"
        )
    elif wanted.replicas > 1 and not wanted.renamed and not product.endswith("-SHARED"):
        found.append(f"its product {product} does not say that it is shared")
    return found


def _slices(instance_type: str, settings: GpuSettings) -> int:
    if not settings.sliced:
        return 1
    profile = str(settings.mig_config).removeprefix("all-")
    return sum(mig.profiles(instance_type).get(profile, {}).values()) or 1


def _all(lab: Lab) -> Sequence[GpuSettings]:
    return [lab.gpu, *(window.gpu for window in lab.windows if window.gpu is not None)]


def _config(sharing: Sharing | None) -> str:
    """One configuration of NVIDIA's device plugin, in its own words."""
    if sharing is None:
        return "version: v1\n"
    return (
        "version: v1\n"
        "sharing:\n"
        f"  {STRATEGIES[sharing.strategy]}:\n"
        f"    renameByDefault: {_yaml(sharing.rename)}\n"
        f"    failRequestsGreaterThanOne: {_yaml(sharing.refuses)}\n"
        "    resources:\n"
        f"      - name: {GPU}\n"
        f"        replicas: {sharing.replicas}\n"
    )


def _yaml(flag: bool) -> str:
    return "true" if flag else "false"
