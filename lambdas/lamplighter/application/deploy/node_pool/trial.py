"""A trial of the launch bar at a deploy, as dry runs: nothing starts, and the deploy fails where something could."""

from lamplighter import clock
from lamplighter.adapters.capacity.node_pool.claims import Claims
from lamplighter.adapters.capacity.node_pool.launch_bar import LaunchBar
from lamplighter.adapters.capacity.node_pool.node_pools import NodePools
from lamplighter.adapters.kubernetes.connection import connect
from lamplighter.application.environment import lab
from lamplighter.domain.capacity.node_pool import probe
from lamplighter.domain.capacity.node_pool.evidence import NodeClass, NodePool
from lamplighter.domain.capacity.node_pool.launch_bar import parameter_name, policy_name
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

ACTS_WITHIN_SECONDS = 60.0
"""The API server follows a new policy, binding or right after some seconds."""
AGAIN_SECONDS = 2.0
ANY_CLASS = NodeClass("karpenter.k8s.aws", "EC2NodeClass", "none")


def refuses_claims(cluster: str, pool: str) -> None:
    """OutsideFailed where the bar of a pool refuses nothing. A pool that is only watched has no bar that acts."""
    if lab().mode(pool) != "enforce":
        return
    connection = connect(cluster)
    name, policy, ours = lab().node_pool_name(pool), policy_name(lab()), lab().pools[pool].existing is None
    until = LaunchBar(connection, parameter_name(lab(), pool)).read().until
    if not ours and until is not None and until > clock.now():
        # A lease runs. The claim of an adopted NodePool needs no grace, so none must be refused now.
        return
    node_pool = NodePools(connection).read(name) or NodePool(name, ANY_CLASS)
    # Without a grace it is refused even while a lease runs.
    claim = dict(probe.claim(node_pool, lab().pools[pool].types, ends=not ours))
    give_up = clock.monotonic() + ACTS_WITHIN_SECONDS
    while Claims(connection).admitted(claim, policy):
        if clock.monotonic() >= give_up:
            raise OutsideFailed(reason("guard.bar.missing", pool=pool, policy=policy), "launch bar", policy)
        clock.sleep(AGAIN_SECONDS)
