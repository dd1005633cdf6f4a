"""How GPUs are shared or sliced: the device plugin's ConfigMap, two node labels, and the labels that prove it.

A node picks a sharing by label, so no window changes anything that belongs to Helm. Pure: the chart installs the
ConfigMap, and lamplighter.application.cluster.nodes sets the labels.
"""

from collections.abc import Mapping, Sequence

from lamplighter.data.gpu import mig
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.lab.gpu_settings import GpuSettings, Sharing, over
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason
from lamplighter.values.json_value import JsonValue

CONFIG_MAP = "lamplighter-gpu-sharing"
WHOLE = "whole"
CONFIG_LABEL = "nvidia.com/device-plugin.config"
MIG_LABEL = "nvidia.com/mig.config"
MIG_STATE = "nvidia.com/mig.config.state"
UNSLICED = "all-disabled"
GPU = "nvidia.com/gpu"
# Since 0.19 NVIDIA's plugin gives every EFA device to pods with a GPU, beside EFA's plugin
# (https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html).
NO_MOFED: JsonValue = {"name": "MOFED_ENABLED", "value": "false"}
STRATEGIES = {"time-slicing": "timeSlicing", "mps": "mps"}


def offer(lab: Lab, pool: str, window: str | None) -> Offer:
    """How a pool's GPUs shall be offered while this window's lease, or one without a window, is the first open one."""
    settings = lab.gpu_for(window)
    sharing = settings.shared
    labels: dict[str, str] = {}
    stack = lab.gpu_stack(pool)
    # The image's own device plugin reads no label; the chart's reads none about slices.
    if sharings(lab) and stack != "built-in":
        labels[CONFIG_LABEL] = sharing.key if sharing else WHOLE
    if slices(lab) and stack == "operator":
        labels[MIG_LABEL] = settings.mig_config or UNSLICED
    return Offer(
        replicas=sharing.replicas if sharing else 1,
        strategy=sharing.strategy if sharing else "none",
        renamed=bool(sharing and sharing.rename),
        mig=settings.mig_config,
        slices=settings.slices(lab.pools[pool].instance_type),
        labels=labels or None,
    )


def resources(lab: Lab, pool: str, window: str | None) -> tuple[str, ...]:
    """The names by which Kubernetes counts a pool's GPUs while this window's lease is the first open one."""
    settings = lab.gpu_for(window)
    kinds = settings.kinds_of_slices(lab.pools[pool].instance_type)
    if kinds and mig_strategy(lab, settings) == "mixed":
        return tuple(map(_slice, kinds))
    return (f"{GPU}.shared" if settings.shared and settings.shared.rename else GPU,)


def all_resources() -> frozenset[str]:
    """Every name by which Kubernetes may count GPUs."""
    return frozenset({GPU, f"{GPU}.shared", *(_slice(kind) for kind in mig.kinds())})


def _slice(kind: str) -> str:
    # NVIDIA's plugin names 1g.10gb+me mig-1g.10gb.me: a resource has no plus.
    return f"nvidia.com/mig-{kind.replace('+', '.')}"


def sharings(lab: Lab) -> list[Sharing]:
    """Every sharing that the lab or a window names, each once."""
    named = [settings.shared for settings in _all(lab)]
    return list({sharing.key: sharing for sharing in named if sharing is not None}.values())


def slices(lab: Lab) -> bool:
    """Whether the lab or a window cuts GPUs into slices."""
    return any(settings.mig is not None for settings in _all(lab))


def config_map(lab: Lab) -> dict[str, str]:
    """The device plugin's configurations by key; empty where nothing is shared."""
    named = sharings(lab)
    return {WHOLE: _config(None), **{one.key: _config(one) for one in named}} if named else {}


def default_key(lab: Lab) -> str:
    """The configuration of nodes without the label: the lab's own."""
    shared = lab.gpu.shared
    return shared.key if shared else WHOLE


def chart_values(lab: Lab) -> dict[str, JsonValue]:
    """The GPU Operator's Helm values: those of the lab, its ClusterPolicy fields and its sharing."""
    values = over(lab.gpu_operator.values, lab.gpu.cluster_policy)
    if lab.efa_pools:
        values = over({"devicePlugin": {"env": [NO_MOFED]}}, values)
    return over(values, {"devicePlugin": {"config": plugin_config(lab)}}) if sharings(lab) else values


def plugin_config(lab: Lab) -> dict[str, JsonValue]:
    """Of the chart's values: the ConfigMap with every sharing, and the default of nodes without the label."""
    return {
        "create": True,
        "name": CONFIG_MAP,
        "default": default_key(lab),
        "data": {**config_map(lab)},
    }


def mig_strategy(lab: Lab, settings: GpuSettings) -> str:
    """How slices are named as resources: none, single or mixed. The chart's default is single."""
    values = over(lab.gpu_operator.values, over(lab.gpu.cluster_policy, settings.cluster_policy))
    mig_values = values.get("mig")
    return str(mig_values.get("strategy") or "single") if isinstance(mig_values, dict) else "single"


def unmet_offer(node: NodeFacts, wanted: Offer, *, discovery: bool = True) -> list[Said]:
    """What a node does not show yet of the offer; empty once the offer is proven.

    Without GPU feature discovery no label says how GPUs are shared: only the number of allocatable GPUs shows it.
    """
    if wanted.labels is None:
        return []
    labels = node.labels
    unmet = [
        _other_label(label, labels.get(label), value)
        for label, value in wanted.labels.items()
        if labels.get(label) != value
    ]
    state = labels.get(MIG_STATE)
    if MIG_LABEL in wanted.labels and (wanted.slices > 1 or state) and state != "success":
        unmet.append(_not_sliced(state))
    if CONFIG_LABEL in wanted.labels:
        unmet += _shared(labels, wanted) if discovery else []
        resource = f"{GPU}.shared" if wanted.renamed else None
        if resource and not node.allocatable.get(resource):
            unmet.append(reason("gpu.no-resource", resource=resource))
    return unmet


def _other_label(label: str, value: str | None, wanted: str) -> Said:
    if value is None:
        return reason("gpu.label-missing", label=label, wanted=wanted)
    return reason("gpu.label-differs", label=label, value=value, wanted=wanted)


def _not_sliced(state: str | None) -> Said:
    if state is None:
        return reason("gpu.not-sliced-yet", label=MIG_STATE)
    return reason("gpu.not-sliced", label=MIG_STATE, state=state)


def _shared(labels: Mapping[str, str], wanted: Offer) -> list[Said]:
    replicas, strategy = labels.get("nvidia.com/gpu.replicas"), labels.get("nvidia.com/gpu.sharing-strategy")
    if replicas is None or strategy is None:
        return [reason("gpu.sharing-unknown")]
    product = labels.get("nvidia.com/gpu.product", "")
    if replicas != str(wanted.replicas) or strategy != wanted.strategy:
        other = reason(
            "gpu.shared-otherwise",
            replicas=replicas,
            strategy=strategy,
            wanted_replicas=wanted.replicas,
            wanted_strategy=wanted.strategy,
        )
        return [other]
    if wanted.replicas > 1 and not wanted.renamed and not product.endswith("-SHARED"):
        return [reason("gpu.product-not-shared", product=product)]
    return []


def _all(lab: Lab) -> Sequence[GpuSettings]:
    return [lab.gpu, *(window.gpu for window in lab.windows if window.gpu is not None)]


def _config(sharing: Sharing | None) -> str:
    """One configuration file of NVIDIA's device plugin."""
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
