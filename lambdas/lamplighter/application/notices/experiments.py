"""What is said of experiments: to everybody on the cluster before the change, and what it showed afterwards."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.application.experiments.bench import run_of
from lamplighter.domain.experiments import announcement
from lamplighter.domain.experiments.run import UNDONE, Phase

if TYPE_CHECKING:
    from lamplighter.application.notices.voice import Voice
    from lamplighter.domain.notices.announcement import Announcement


def of_change(run: Mapping[str, object], voice: "Voice") -> "Announcement | None":
    """Before the change; nothing where the run is over already, or nobody else feels it."""
    kept = run_of(run, voice.ledger)
    if kept is None or kept.phase in UNDONE or not kept.experiment.changes_cluster:
        return None
    others = [
        lease for pool in voice.lab.pools for lease in voice.ledger.leases(pool) if lease.id in kept.affected
    ]
    return announcement.of_change(kept, others, voice.zone, voice.texts)


def of_report(run: Mapping[str, object], voice: "Voice") -> "Announcement | None":
    """After the report."""
    kept = run_of(run, voice.ledger)
    return (
        announcement.of_report(kept, voice.texts) if kept is not None and kept.phase is Phase.PROVEN else None
    )
