"""Runs every rule in order: what a thing depends on is judged before it.

Pure and total: it answers for any snapshot. A symptom without a known cause becomes the finding `unknown`.
"""

from lamplighter.domain.diagnosis.findings import Diagnosis, Gathered
from lamplighter.domain.diagnosis.rules import gpus, hardware, launch, network, nodes, pods, software, updates
from lamplighter.domain.diagnosis.rules.node_pool import (
    bar,
    controller,
    drain,
    initialized,
    instance_types,
    interruptions,
    node_class,
)
from lamplighter.domain.diagnosis.snapshot import Snapshot


def diagnose(snapshot: Snapshot) -> Diagnosis:
    """The causes, root first, and the stages that are within their normal time."""
    gathered = Gathered()
    controller.running(snapshot, gathered)
    interruptions.unheard(snapshot, gathered)
    node_class.ready(snapshot, gathered)
    bar.refused(snapshot, gathered)
    launch.launched(snapshot, gathered)
    instance_types.without_gpus(snapshot, gathered)
    nodes.ready(snapshot, gathered)
    hardware.fatal_errors(snapshot, gathered)
    hardware.lost_gpus(snapshot, gathered)
    hardware.sliced(snapshot, gathered)
    nodes.troubled(snapshot, gathered)
    gpus.announced(snapshot, gathered)
    initialized.initialized(snapshot, gathered)
    software.plugin_fails_quietly(snapshot, gathered)
    software.validated(snapshot, gathered)
    pods.judged(snapshot, gathered)
    network.blocked(snapshot, gathered)
    network.throttled(snapshot, gathered)
    software.operator_healthy(snapshot, gathered)
    updates.stopped(snapshot, gathered)
    drain.blocked(snapshot, gathered)
    pods.unexplained(snapshot, gathered)
    return gathered.diagnosis(snapshot.name)
