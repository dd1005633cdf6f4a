"""Step ApplyGpuSettings: what the window asks for is put on; what belongs to the lab is Helm's, and verified.

Nothing that can be wrong with the operator fails the opening: it is said in a sentence, and the GPUs are
judged by what they are.
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
from lamplighter.domain.gpu import operator as gpu_operator
from lamplighter.domain.gpu.operator import Operator, OperatorState
from lamplighter.domain.gpu.overrides import leaves
from lamplighter.domain.gpu.settings import Difference, differences
from lamplighter.domain.gpu.sharing import chart_values
from lamplighter.domain.leases.progress import Stage
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from lamplighter.values.counted import first
from lamplighter.values.json_value import JsonValue

# An upgrade of the chart takes 1 to 3 minutes; what takes longer is stuck, and the lease does not wait for it.
UPGRADE_PATIENCE = timedelta(minutes=6)


def apply_gpu_settings(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """What the pool's GPUs shall be, what was changed for it, and what is not as asked.

    `offer` is how nodes offer their GPUs (domain.gpu_sharing), which AwaitGpus brings about on each as it
    comes; `told` is when nodes that were there were told so last; `before` and `during` are for the receipt.
    Raises TryLater while the operator is being upgraded.
    """
    now = clock.now()
    if over := run.over():
        return {"state": "over", "differs": [], "over": True, "reason": over}
    run.begin(Stage.SETTINGS, 1)
    shall, kept = cluster_nodes.wanted(run, lab, now)
    here = nodes.pool_nodes(connection, lab.nodegroup_name(run.pool))
    labels = cluster_nodes.labels_of(here, shall)
    kept_as_is = {node.name: cluster_nodes.label(node, shall, connection) for node in here}
    left = [why for why in kept_as_is.values() if why]
    told = any(labels[name] != (shall.labels or {}) and not why for name, why in kept_as_is.items())

    # Where the pool's GPUs come without it, how the operator is and what it is told matters to nobody here.
    live = cluster_policy.live(connection) if lab.gpu_stack(run.pool) == "operator" else {}
    standing = _standing(run, lab, live, connection)
    if standing.operator is Operator.UPGRADING and not _waited(run):
        raise TryLater(standing.reason)
    wish = lab.gpu_overlay(_window(run))
    borrowed, elsewhere = OverrideResult(None), ""
    if wish and live:
        try:
            borrowed = borrow(run, wish, connection)
        except OwnedElsewhere as refused:
            elsewhere = str(refused)
    found = _differences(lab, live, wish if borrowed.before else {})
    reasons = [standing.reason, elsewhere, borrowed.refused, kept, first(left)]
    before = run.result("ApplyGpuSettings").get("before")
    run.note(Stage.SETTINGS, 1, 1)
    return {
        "state": _state(standing, elsewhere, kept or borrowed.refused, found, changed=bool(borrowed.before)),
        "differs": [{"path": each.path, "lab": each.lab, "cluster": each.cluster} for each in found],
        "reason": "; ".join(filter(None, reasons)),
        "offer": shall.to_json(),
        "told": instant.written(now) if told else run.result("ApplyGpuSettings").get("told"),
        # Of the first round: a later one finds what the first has changed.
        "before": before
        or {"nodes": labels, "cluster_policy": borrowed.before.values() if borrowed.before else {}},
        "during": {
            "nodes": dict(shall.labels or {}),
            "cluster_policy": _flat(wish) if borrowed.before else {},
        },
    }


def _standing(run: Run, lab: Lab, live: Mapping[str, JsonValue], connection: Connection) -> OperatorState:
    """How the operator is; where a pool has none, that it has none is nothing to say."""
    if not live and lab.gpu_stack(run.pool) != "operator":
        return OperatorState(Operator.ABSENT)
    return gpu_operator.standing(live, pods.labelled(connection, gpu_operator.POD_LABEL))


def _state(
    standing: OperatorState, elsewhere: str, refused: str, found: list[Difference], *, changed: bool
) -> str:
    """The gravest first."""
    if standing.operator is not Operator.WORKS:
        return standing.operator.value
    if elsewhere:
        return "owned-elsewhere"
    if refused:
        return "kept-earlier"
    if found:
        return "differs"
    return "as-window" if changed else "as-lab"


def _differences(lab: Lab, live: Mapping[str, JsonValue], wish: Mapping[str, JsonValue]) -> list[Difference]:
    """Where the ClusterPolicy is not the lab's, what the window has changed left aside."""
    spec = live.get("spec")
    if not lab.gpu_operator.enabled or not isinstance(spec, Mapping):
        return []
    ours = {".".join(path) for path in leaves(dict(wish))} if wish else set()
    found = differences(chart_values(lab), spec)
    return [
        each for each in found if not any(each.path == one or each.path.startswith(f"{one}.") for one in ours)
    ]


def _window(run: Run) -> str | None:
    mine = next((lease for lease in run.leases() if lease.id == run.lease), None)
    return mine.window if mine else None


def _waited(run: Run) -> bool:
    """Whether the operator had its time, counted from the last launch or the lease's opening."""
    since = latest([each.get("launched") for each in run.found("AwaitNodes", "instances")])
    mine = next((lease for lease in run.leases() if lease.id == run.lease), None)
    since = since or (mine.opens if mine else None)
    return since is None or clock.now() >= since + UPGRADE_PATIENCE


def _flat(wish: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for path in leaves(dict(wish)):
        value: JsonValue = dict(wish)
        for step in path:
            value = value[step] if isinstance(value, Mapping) else None
        found[".".join(path)] = value
    return found
