"""The diagnosis: every rule in the order in which one thing needs the other.

Pure and total: whatever is in the snapshot, it answers; what it cannot tell, it says.
"""

from lamplighter.domain.diagnosis.findings import Diagnosis, Gathered
from lamplighter.domain.diagnosis.rules import gpus, hardware, launch, network, nodes, pods, software
from lamplighter.domain.diagnosis.snapshot import Snapshot


def diagnose(snapshot: Snapshot) -> Diagnosis:
    """Causes, root first, and what is still within its normal time."""
    gathered = Gathered()
    launch.launched(snapshot, gathered)
    nodes.ready(snapshot, gathered)
    hardware.fatal_errors(snapshot, gathered)
    hardware.lost_gpus(snapshot, gathered)
    nodes.troubled(snapshot, gathered)
    gpus.announced(snapshot, gathered)
    software.plugin_fails_quietly(snapshot, gathered)
    software.validated(snapshot, gathered)
    pods.judged(snapshot, gathered)
    network.blocked(snapshot, gathered)
    network.throttled(snapshot, gathered)
    software.operator_healthy(snapshot, gathered)
    pods.unexplained(snapshot, gathered)
    return gathered.diagnosis(snapshot.name)
