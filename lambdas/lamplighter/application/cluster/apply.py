"""Step ApplyGpuSettings: applies the window's GPU settings, and compares the lab's settings with the ClusterPolicy.

The lab's settings belong to Helm. No trouble of the operator fails the opening: the result has the reason, and the
checks judge the GPUs as they are.
"""

from collections.abc import Mapping
from datetime import timedelta

from lamplighter import clock
from lamplighter.adapters.kubernetes import cluster_policy, nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.adapters.kubernetes.overrides import OwnedElsewhere
from lamplighter.application.cluster import nodes as cluster_nodes
from lamplighter.application.cluster.overrides import OverrideResult, borrow
from lamplighter.application.cluster.run import Run, latest
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.gpu import operator as gpu_operator
from lamplighter.domain.gpu.operator import OperatorState, OperatorStatus
from lamplighter.domain.gpu.overrides import leaves
from lamplighter.domain.gpu.settings import Difference, differences
from lamplighter.domain.gpu.sharing import chart_values
from lamplighter.domain.leases.progress import Stage
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import Said, several
from lamplighter.values import instant
from lamplighter.values.json_value import JsonValue

# An upgrade of the chart takes 1 to 3 minutes. A longer one is stuck, and the lease does not wait for it.
UPGRADE_PATIENCE = timedelta(minutes=6)


def apply_gpu_settings(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The offer of the pool's GPUs, what was changed for it, and what is not as asked.

    `offer` says how nodes offer their GPUs (domain.gpu.offer); AwaitGpus labels each node that comes. `told` is when
    nodes that were there were labelled last. `before` and `during` are for the receipt.
    Raises TryLater while the operator is being upgraded.
    """
    now = clock.now()
    if over := run.over():
        return {"state": "over", "differs": [], "over": True, "reason": document(over)}
    run.begin(Stage.SETTINGS, 1)
    shall, kept = cluster_nodes.wanted(run, lab, now)
    here = nodes.pool_nodes(connection, identity(lab, run.pool).selector)
    labels = cluster_nodes.labels_of(here, shall)
    kept_as_is = {node.name: cluster_nodes.label(node, shall, connection) for node in here}
    in_use = [why for why in kept_as_is.values() if why]
    told = any(labels[name] != (shall.labels or {}) and not why for name, why in kept_as_is.items())

    # The operator does not matter where the pool's GPUs do not come from it.
    live = cluster_policy.live(connection) if lab.gpu_stack(run.pool) == "operator" else {}
    operator = _operator(run, lab, live, connection)
    if operator.status is OperatorStatus.UPGRADING and not _waited(run):
        raise TryLater(operator.reason or "")
    wish = lab.gpu_overlay(_window(run))
    override = OverrideResult(None)
    owned_elsewhere: Said = ""
    if wish and live:
        try:
            override = borrow(run, wish, connection)
        except OwnedElsewhere as refused:
            owned_elsewhere = refused.said
    different = _differences(lab, live, wish if override.before else {})
    in_use_nodes = several(in_use) if in_use else ""
    reasons = [why for why in (operator.reason, owned_elsewhere, override.refused, kept, in_use_nodes) if why]
    before = run.result("ApplyGpuSettings").get("before")
    run.note(Stage.SETTINGS, 1, 1)
    return {
        "state": _state(
            operator,
            different,
            elsewhere=bool(owned_elsewhere),
            kept_earlier=bool(kept or override.refused),
            changed=bool(override.before),
        ),
        "differs": [{"path": one.path, "lab": one.lab, "cluster": one.cluster} for one in different],
        "reason": document(several(reasons)) if reasons else "",
        "offer": to_document(shall),
        "told": instant.written(now) if told else run.result("ApplyGpuSettings").get("told"),
        # Of the first round: a later round finds the changes of the first.
        "before": before
        or {"nodes": labels, "cluster_policy": override.before.values() if override.before else {}},
        "during": {
            "nodes": dict(shall.labels or {}),
            "cluster_policy": _flat(wish) if override.before else {},
        },
    }


def _operator(run: Run, lab: Lab, live: Mapping[str, JsonValue], connection: Connection) -> OperatorState:
    """The operator's state; without a reason where the pool has no operator."""
    if not live and lab.gpu_stack(run.pool) != "operator":
        return OperatorState(OperatorStatus.ABSENT)
    return gpu_operator.operator_state(live, pods.labelled(connection, gpu_operator.POD_LABEL))


def _state(
    operator: OperatorState,
    different: list[Difference],
    *,
    elsewhere: bool,
    kept_earlier: bool,
    changed: bool,
) -> str:
    """The most serious state."""
    if operator.status is not OperatorStatus.WORKS:
        return operator.status.value
    if elsewhere:
        return "owned-elsewhere"
    if kept_earlier:
        return "kept-earlier"
    if different:
        return "differs"
    return "as-window" if changed else "as-lab"


def _differences(lab: Lab, live: Mapping[str, JsonValue], wish: Mapping[str, JsonValue]) -> list[Difference]:
    """The differences between the ClusterPolicy and the lab, without the fields that the window has changed."""
    spec = live.get("spec")
    if not lab.gpu_operator.enabled or not isinstance(spec, Mapping):
        return []
    ours = {".".join(path) for path in leaves(dict(wish))} if wish else set()
    return [
        difference
        for difference in differences(chart_values(lab), spec)
        if not any(difference.path == path or difference.path.startswith(f"{path}.") for path in ours)
    ]


def _window(run: Run) -> str | None:
    mine = next((lease for lease in run.leases() if lease.id == run.lease), None)
    return mine.window if mine else None


def _waited(run: Run) -> bool:
    """Whether UPGRADE_PATIENCE is over, counted from the last launch or from the lease's opening."""
    since = latest([row.get("launched") for row in run.found("AwaitNodes", "instances")])
    mine = next((lease for lease in run.leases() if lease.id == run.lease), None)
    since = since or (mine.opens if mine else None)
    return since is None or clock.now() >= since + UPGRADE_PATIENCE


def _flat(wish: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    for path in leaves(dict(wish)):
        value: JsonValue = dict(wish)
        for step in path:
            value = value[step] if isinstance(value, Mapping) else None
        values[".".join(path)] = value
    return values
