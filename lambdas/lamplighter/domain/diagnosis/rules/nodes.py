"""Why a node that has joined is not Ready. Its GPUs are judged only when it is Ready."""

import re

from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.quotes import quote_of_condition
from lamplighter.domain.diagnosis.rules.symptoms import symptom
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage

_NETWORK = re.compile(r"network|\bcni\b", re.IGNORECASE)


def ready(snapshot: Snapshot, gathered: Gathered) -> None:
    """Each node that is not Ready: in progress within its normal time, after that a finding."""
    for node in snapshot.nodes:
        if node.ready:
            continue
        began = node.created or snapshot.since
        if not node.lost_contact and snapshot.age(began) <= ProvisioningStage.READY.normal:
            gathered.progress(ProvisioningStage.READY, node.name, began)
            continue
        if line := _missing_runtime(snapshot, node):
            gathered.found("runtime-missing", node.name, line, node.unready)
        else:
            gathered.found("node-not-ready", node.name, node.unready, *snapshot.network_plugin_events)
        gathered.explained.add(node.name)


def _missing_runtime(snapshot: Snapshot, node: Node) -> str:
    """The event by which the network plugin itself waits for NVIDIA's runtime (amazon-vpc-cni-k8s issue 3104)."""
    if not _NETWORK.search(node.ready_message):
        return ""
    shown = symptom(snapshot.network_plugin_events, snapshot.now, snapshot.since)
    return shown.line if shown and shown.cause == "runtime-missing" else ""


def troubled(snapshot: Snapshot, gathered: Gathered) -> None:
    """Ready nodes on which another condition shows a problem, where no finding explains it."""
    for node in snapshot.nodes:
        if node.ready and node.name not in gathered.explained:
            for state in node.bad_conditions:
                gathered.unknown(quote_of_condition(node.name, state))
