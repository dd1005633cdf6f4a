"""Experiments on the GPU Operator's settings: what stands there, changing it, and giving it back to its owner.

The fields are borrowed under a manager of the experiments' own, from Helm or from an open window's settings.
"""

from collections.abc import Mapping

from lamplighter.adapters.kubernetes import lending
from lamplighter.adapters.kubernetes.cluster_policy import PATH
from lamplighter.application.experiments.bench import Bench
from lamplighter.domain.experiments.policy import MANAGER, changes
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.gpu.overrides import HELM, Before, looked_at
from lamplighter.errors import Refused, TryLater
from lamplighter.values.json_value import JsonValue

LENDERS = (HELM, lending.MANAGER)


def seen(run: ExperimentRun, bench: Bench) -> dict[str, object]:
    """What stands in the fields that the run will change; Refused where there is no ClusterPolicy."""
    live = bench.connect().get(PATH)
    if not live:
        raise Refused(
            "the GPU Operator is not installed in this cluster: there is no ClusterPolicy to change"
        )
    found = looked_at(live, _fields(run, bench), MANAGER)
    for field in found.fields:
        if field.owner is not None and field.owner.manager not in LENDERS:
            raise Refused(
                f"{field.called} of the ClusterPolicy belongs to {field.owner.manager}, which would write it again: "
                "let it be Helm's first"
            )
    return {"fields": found.values(), "lent": found.to_json()}


def borrow(run: ExperimentRun, bench: Bench) -> None:
    """Set the run's fields; what is to be put back stands in the run since it was prepared."""
    before = _before(run)
    lending.borrow(
        bench.connect(),
        PATH,
        _fields(run, bench),
        keep=lambda _: before,
        as_manager=MANAGER,
        lenders=LENDERS,
    )


def give_back(run: ExperimentRun, bench: Bench) -> list[str]:
    """Everything of the run's is with its owner again, and was seen to be; says what was put back."""
    connection, before = bench.connect(), _before(run)
    live = connection.get(PATH)
    if not live or not _held(live):
        return []
    lending.give_back(connection, PATH, before, as_manager=MANAGER)
    after = connection.get(PATH)
    if after and _held(after):
        raise TryLater(f"the ClusterPolicy does not show that {run.name} is given back yet")
    return [f"{field.called} of the ClusterPolicy is {field.value} again" for field in before.fields]


def _held(live: Mapping[str, object]) -> bool:
    metadata = live.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    listed = entries if isinstance(entries, list) else []
    return any(isinstance(entry, Mapping) and entry.get("manager") == MANAGER for entry in listed)


def _fields(run: ExperimentRun, bench: Bench) -> dict[str, JsonValue]:
    return {"spec": dict(changes(run.name, bench.lab.pools[run.pool].taints))}


def _before(run: ExperimentRun) -> Before:
    policy = run.before.get("policy")
    lent = policy.get("lent") if isinstance(policy, Mapping) else None
    return Before.from_json(str(lent or "[]"))
