"""Nodes that have registered and do not initialize: a startup taint stays, or a resource does not come."""

from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.quotes import quote_of_condition
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage


def initialized(snapshot: Snapshot, gathered: Gathered) -> None:
    """Claims whose node is Ready, and that wait for something that no other finding or stage explains."""
    nodes = {node.instance: node for node in snapshot.nodes if node.instance}
    under_way = {stage.about for stage in gathered.in_progress}
    for claim in snapshot.node_pool.staying:
        node = nodes.get(claim.instance)
        if node is None or not node.ready or not claim.has("Registered") or claim.has("Initialized"):
            continue
        state = claim.state("Initialized")
        if not state or node.name in gathered.explained | under_way:
            continue
        began = claim.changed("Registered") or node.ready_changed or snapshot.since
        if snapshot.age(began) <= ProvisioningStage.INITIALIZATION.normal:
            gathered.progress(ProvisioningStage.INITIALIZATION, claim.name, began)
        else:
            gathered.unknown(quote_of_condition(claim.name, state))
