"""Runs every rule in order: what a thing depends on is judged before it.

Pure and total: it answers for any snapshot. A symptom without a known cause becomes the finding `unknown`.
"""

from lamplighter.domain.diagnosis.findings import Diagnosis, Gathered
from lamplighter.domain.diagnosis.rules import gpus, hardware, launch, network, nodes, pods, software, updates
from lamplighter.domain.diagnosis.snapshot import Snapshot


def diagnose(snapshot: Snapshot) -> Diagnosis:
    """The causes, root first, and the stages that are within their normal time."""
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
    updates.stopped(snapshot, gathered)
    pods.unexplained(snapshot, gathered)
    return gathered.diagnosis(snapshot.name)
