"""Notices about experiments: before the change to everybody on the cluster, and afterwards with the result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.application.experiments.services import run_of
from lamplighter.domain.experiments import announcement
from lamplighter.domain.experiments.run import UNDONE, ExperimentPhase

if TYPE_CHECKING:
    from lamplighter.application.notices.services import NoticeServices
    from lamplighter.domain.notices.announcement import Announcement


def of_change(run: Mapping[str, object], notice_services: "NoticeServices") -> "Announcement | None":
    """Before the change; None where the run is over, or the change affects nobody else."""
    kept = run_of(run, notice_services.ledger)
    if kept is None or kept.phase in UNDONE or not kept.experiment.changes_cluster:
        return None
    others = [
        lease
        for pool in notice_services.lab.pools
        for lease in notice_services.ledger.leases(pool)
        if lease.id in kept.affected
    ]
    return announcement.of_change(kept, others, notice_services.zone, notice_services.texts)


def of_report(run: Mapping[str, object], notice_services: "NoticeServices") -> "Announcement | None":
    """After the report."""
    kept = run_of(run, notice_services.ledger)
    return (
        announcement.of_report(kept, notice_services.zone, notice_services.texts)
        if kept is not None and kept.phase is ExperimentPhase.PROVEN
        else None
    )
