"""The definition of the state machine `<lab>-failsafe`: a table of the lab's pools, and the rails.

Its input is `{"pool": …, "rail": …}`. It orders size zero, deletes, denies and ends, so it can never add a node. Two
runs at once do no harm.
"""

from collections.abc import Sequence

from lamplighter.domain.capacity.node_pool.off_switch import Rail
from stacks.constructs.failsafe.ec2_rail import ec2_rail
from stacks.constructs.failsafe.ended_pool import EndedPool
from stacks.constructs.failsafe.kubernetes_rail import KUBERNETES, kubernetes_rail
from stacks.constructs.failsafe.looking import LOOK, looking
from stacks.constructs.failsafe.states import State, choice, is_text, values

ENDS_WITHIN = 570
"""Seconds. The next start comes after 600."""


def definition(lab: str, cluster: str, pools: Sequence[EndedPool]) -> State:
    """The whole definition, in the Amazon States Language."""
    chosen = [is_text("$.pool", pool.name) | {"Next": f"Pool-{pool.name}"} for pool in pools]
    past = [is_text("$.rail", rail.value) | {"Next": LOOK} for rail in Rail if rail is not Rail.KUBERNETES]
    states: dict[str, State] = {
        "Pool": choice(chosen, "UnknownPool"),
        **{f"Pool-{pool.name}": values(pool.row(), "$.of", "Rail") for pool in pools},
        "Rail": choice(
            [is_text("$.rail", Rail.KUBERNETES.value) | {"Next": KUBERNETES}, *past], "UnknownRail"
        ),
        **kubernetes_rail(cluster),
        **ec2_rail(cluster),
        **looking(hidden=not all(pool.ends_in_ec2 for pool in pools)),
        "UnknownPool": {"Type": "Fail", "Error": "UnknownPool", "Cause": "The lab has no such pool"},
        "UnknownRail": {"Type": "Fail", "Error": "UnknownRail", "Cause": "There is no such rail"},
    }
    return {
        "Comment": f"Brings a pool of {lab} to zero by AWS alone, with no function of ours",
        "StartAt": "Pool",
        "TimeoutSeconds": ENDS_WITHIN,
        "States": states,
    }
