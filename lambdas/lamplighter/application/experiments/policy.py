"""Experiments on the GPU Operator's settings: reads the fields, changes them, and restores them to their owner.

An experiment overrides fields of Helm or of an open window, under a field manager of its own.
"""

from collections.abc import Mapping

from lamplighter.adapters.kubernetes import overrides
from lamplighter.adapters.kubernetes.cluster_policy import PATH
from lamplighter.application.experiments.services import ExperimentServices
from lamplighter.domain.experiments.policy import MANAGER, changes
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.gpu.overrides import HELM, Before, present_fields
from lamplighter.errors import Refused, TryLater
from lamplighter.reasons.reason import Said, reason
from lamplighter.values.json_value import JsonValue

LENDERS = (HELM, overrides.MANAGER)


def seen(run: ExperimentRun, services: ExperimentServices) -> dict[str, object]:
    """The present fields that the run will change; Refused where there is no ClusterPolicy."""
    live = services.connect().get(PATH)
    if not live:
        raise Refused(reason("experiment.no-operator"))
    present = present_fields(live, _fields(run, services), MANAGER)
    for field in present.fields:
        if field.owner is not None and field.owner.manager not in LENDERS:
            raise Refused(
                reason("experiment.owned-elsewhere", field=field.called, manager=field.owner.manager)
            )
    return {"fields": present.values(), "lent": present.to_json()}


def borrow(run: ExperimentRun, services: ExperimentServices) -> None:
    """Set the run's fields. The run has had the fields to restore since Prepare."""
    before = _before(run)
    overrides.borrow(
        services.connect(),
        PATH,
        _fields(run, services),
        keep=lambda _: before,
        as_manager=MANAGER,
        lenders=LENDERS,
    )


def give_back(run: ExperimentRun, services: ExperimentServices) -> list[Said]:
    """Restore all fields of the run to their owner, and verify it; returns what was restored."""
    connection, before = services.connect(), _before(run)
    live = connection.get(PATH)
    if not live or not _held(live):
        return []
    overrides.give_back(connection, PATH, before, as_manager=MANAGER)
    after = connection.get(PATH)
    if after and _held(after):
        raise TryLater(reason("experiment.not-given-back", name=run.name))
    return [
        reason("experiment.field-again", field=field.called, value=str(field.value))
        for field in before.fields
    ]


def _held(live: Mapping[str, object]) -> bool:
    metadata = live.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    listed = entries if isinstance(entries, list) else []
    return any(isinstance(entry, Mapping) and entry.get("manager") == MANAGER for entry in listed)


def _fields(run: ExperimentRun, services: ExperimentServices) -> dict[str, JsonValue]:
    return {"spec": dict(changes(run.name, services.lab.pools[run.pool].taints))}


def _before(run: ExperimentRun) -> Before:
    policy = run.before.get("policy")
    lent = policy.get("lent") if isinstance(policy, Mapping) else None
    return Before.from_json(str(lent or "[]"))
